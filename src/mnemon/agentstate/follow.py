"""Following a session's journal: what is there, then what comes, in order and without a gap.

The journal is the source. The bell only shortens the wait between two looks at it, so that a notification that is
lost costs a second and nothing else.
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
_BATCH_SIZE = 100


class JournalNotifier:
    """Rings for a session when something was appended to its journal, by whichever process.

    It keeps one connection, and that only while somebody listens.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None

    @contextmanager
    def subscribe_session(self, session_id: str) -> Iterator[asyncio.Event]:
        """An event that is set when the session's journal grows."""
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
                self._listener.cancel()
                self._listener = None

    async def _listen_for_entries(self) -> None:
        async with self._db.listen(NOTIFY_CHANNEL) as connection:
            async for notice in connection.notifies():
                for event in self._waiting.get(notice.payload, ()):
                    event.set()


async def follow_journal(
    db: Database, bell: JournalNotifier, scope: Scope, session_id: str, *, after: int, until: asyncio.Event
) -> AsyncGenerator[list[StateEntry]]:
    """Batches of entries after this seq until told to stop; an empty one at least every second, as a sign of life.

    While the database is away it waits; what was written meanwhile or elsewhere comes then.
    """
    with bell.subscribe_session(session_id) as event:
        while not until.is_set():
            event.clear()
            entries: list[StateEntry] = []
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
