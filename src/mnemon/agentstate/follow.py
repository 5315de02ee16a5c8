"""Follow a session's journal: existing entries first, then new ones, in order and without a gap.

The journal is the source. A notification only shortens the wait between two reads of it, so a lost one costs a second
and nothing else.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from mnemon.agentstate import store
from mnemon.agentstate.store import NOTIFY_CHANNEL, StateEntry
from mnemon.db.database import Database
from mnemon.db.notifications import Notifier, wait_for_any
from mnemon.errors import Unavailable
from mnemon.scope import Scope

_BATCH_SIZE = 100


class JournalNotifier(Notifier):
    """Sets an event when an entry was appended to a session's journal."""

    channel = NOTIFY_CHANNEL


async def follow_journal(
    db: Database, scope: Scope, session_id: str, *, after: int, until: asyncio.Event
) -> AsyncGenerator[list[StateEntry]]:
    """Yield batches of a session's agent state entries after this seq as they are written; an empty one each second.

    While the database is unavailable it waits, and continues with what was written meanwhile.
    """
    with db.attached.get_or_create(JournalNotifier).subscribe(db, session_id) as event:
        while not until.is_set():
            # Before the read: a notification that comes during it sets the event again, so that no entry is missed.
            event.clear()
            entries: list[StateEntry] = []
            # The stream outlives a restart of the database: the loop reads again from `after`.
            with suppress(Unavailable):
                async with db.tx(scope.org_id) as tx:
                    entries = await store.list_entries(tx, scope, session_id, after=after, most=_BATCH_SIZE)
            yield entries
            if entries:
                after = entries[-1].seq
            else:
                await wait_for_any(event, until)
