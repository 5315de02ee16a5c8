"""Forgetting again what was forgotten before: after a restore, and when an old export comes in."""

from collections.abc import Iterable

from mnemon.custody import ledger
from mnemon.custody.catalog import SQL
from mnemon.custody.forget_memory import clear, forget_memories
from mnemon.custody.forget_person import forget_person
from mnemon.custody.ledger import Entry
from mnemon.custody.receipt import Tally
from mnemon.custody.traces import Traces
from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.errors import NotFound


async def replay(db: Database, entries: Iterable[Entry]) -> int:
    """The database holds nothing that the entries forgot; gives how many were new to it."""
    done = 0
    for entry in sorted(entries, key=lambda one: (one.org_id, one.id)):
        async with db.tx(entry.org_id) as tx:
            known = {one.id for one in await ledger.entries(tx, entry.org_id, subject=entry.subject)}
            if entry.id in known:
                continue
            await forget_again(tx, entry)
            done += 1
    return done


async def forget_again(tx: Tx, entry: Entry) -> None:
    """What the entry forgot is forgotten here as well, and the entry is in the ledger."""
    if entry.kind == "person":
        try:
            await forget_person(tx, entry.scope, entry_id=entry.id)
        except NotFound:
            await ledger.add(tx, entry, Tally().receipt(entry.id, tx.now))
        return
    if await tx.maybe(SQL["lock_person"], org_id=entry.org_id, user_id=entry.subject) is not None:
        await forget_memories(tx, entry.scope, entry.memory_ids, entry_id=entry.id, at=entry.at)
        # The memory itself may be younger than the backup while the message it came from is not.
        await clear(tx, entry.scope, Traces(phrases=()), entry, Tally())
    await ledger.add(tx, entry, Tally().receipt(entry.id, tx.now))
