"""Keeping the ledger in a file beside the database, so that it outlives a restore."""

import asyncio

from mnemon.basement import Basement
from mnemon.custody import ledger
from mnemon.db.tx import Tx
from mnemon.jobs.kind import Attempt, Kind
from mnemon.jobs.store import enqueue
from mnemon.scope import Scope

KEEP_LEDGER = "keep_ledger"


async def enqueue_keeping(tx: Tx, scope: Scope) -> None:
    """The organization's ledger will be in the file soon."""
    await enqueue(tx, scope, KEEP_LEDGER, scope.org_id)


def kinds(basement: Basement) -> tuple[Kind, ...]:
    """The work of this file."""

    async def run(attempt: Attempt) -> None:
        async with basement.db.tx(attempt.scope.org_id) as tx:
            entries = await ledger.entries(tx, attempt.scope.org_id)
        await asyncio.to_thread(ledger.keep_in_file, basement.settings.data_dir / ledger.FILE, entries)

    return (Kind(name=KEEP_LEDGER, run=run),)
