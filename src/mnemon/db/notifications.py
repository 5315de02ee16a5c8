"""Wake whoever follows a row when any process has changed it: LISTEN and NOTIFY, one connection for each channel.

A notification only shortens the wait between two reads. One that is lost, or a pooler that cannot carry LISTEN, costs a
follower the time until its next read and nothing else.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import ClassVar

from mnemon.db.database import Database
from mnemon.supervisor import Backoff, keep_running

POLL_INTERVAL_S = 1.0
"""The longest wait between two reads of what is followed."""


class Notifier:
    """Sets an event when a key is notified on the channel; holds a connection only while there are subscribers.

    A subclass names the channel. One object is shared by all followers of a database: `db.attached` creates it.
    """

    channel: ClassVar[str]

    def __init__(self) -> None:
        """Start without subscribers and without a connection."""
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None

    @contextmanager
    def subscribe(self, db: Database, key: str) -> Iterator[asyncio.Event]:
        """Provide an event that is set whenever the key is notified on the channel by any process."""
        event = asyncio.Event()
        self._waiting[key].add(event)
        if self._listener is None:
            self._listener = asyncio.create_task(
                keep_running(f"{self.channel}_listener", lambda: self._listen(db), backoff=Backoff(first_s=1.0))
            )
        try:
            yield event
        finally:
            self._waiting[key].discard(event)
            if not self._waiting[key]:
                del self._waiting[key]
            if not self._waiting:
                # The connection goes back when the last subscriber leaves.
                self._listener.cancel()
                self._listener = None

    async def _listen(self, db: Database) -> None:
        """Listen on the channel and set the events of each notified key; once at the start, those of all keys."""
        async with db.listen(self.channel) as connection:
            # What was notified before LISTEN stood, or while the connection was lost, reached nobody: all read once.
            for event in [one for events in self._waiting.values() for one in events]:
                event.set()
            async for notice in connection.notifies():
                for event in self._waiting.get(notice.payload, ()):
                    event.set()


async def wait_for_any(*events: asyncio.Event) -> None:
    """Wait until one of the events is set, or until it is time to read the database again."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, timeout=POLL_INTERVAL_S, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        for task in waiting:
            with suppress(asyncio.CancelledError):
                await task
