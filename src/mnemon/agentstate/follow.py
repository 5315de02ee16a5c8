"""Follow a session's journal: existing entries first, then new ones, in order and without a gap.

The journal is the source. A notification only shortens the wait between two reads of it, so a lost one costs a second
and nothing else.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress

from mnemon.agentstate import store
from mnemon.agentstate.store import NOTIFY_CHANNEL, StateEntry
from mnemon.db.database import Database
from mnemon.errors import Unavailable
from mnemon.scope import Scope
from mnemon.supervisor import Backoff, keep_running

POLL_INTERVAL_S = 1.0
"""The longest wait between two reads of the journal."""
_BATCH_SIZE = 100


class JournalNotifier:
    """Sets an event when an entry was appended to a session's journal, by any process.

    It holds one connection for LISTEN, and only while there are subscribers.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None

    @contextmanager
    def subscribe_session(self, session_id: str) -> Iterator[asyncio.Event]:
        """Yield an event that is set when the session's journal grows."""
        event = asyncio.Event()
        self._waiting[session_id].add(event)
        if self._listener is None:
            self._listener = asyncio.create_task(
                keep_running("agent_state_listener", self._listen_for_entries, backoff=Backoff(first_s=POLL_INTERVAL_S))
            )
        try:
            yield event
        finally:
            self._waiting[session_id].discard(event)
            if not self._waiting[session_id]:
                del self._waiting[session_id]
            if not self._waiting:
                # The connection goes back when the last subscriber leaves.
                self._listener.cancel()
                self._listener = None

    async def _listen_for_entries(self) -> None:
        async with self._db.listen(NOTIFY_CHANNEL) as connection:
            async for notice in connection.notifies():
                for event in self._waiting.get(notice.payload, ()):
                    event.set()


async def follow_journal(
    db: Database, notifier: JournalNotifier, scope: Scope, session_id: str, *, after: int, until: asyncio.Event
) -> AsyncGenerator[list[StateEntry]]:
    """Yield batches of entries after this seq until `until` is set; an empty one at least every second, as a heartbeat.

    While the database is unavailable it waits, and continues with what was written meanwhile.
    """
    with notifier.subscribe_session(session_id) as event:
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
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_INTERVAL_S):
                        await event.wait()
