"""One writer per person at a time within a process: the others wait here, without holding a database connection."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

from mnemon.db.database import Database


class Turnstiles:
    """A lock for each person somebody writes to or waits for, in one open database."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock_of(self, user_id: str) -> asyncio.Lock:
        """Give the person's lock, which is gone when nobody holds it."""
        return self._locks.setdefault(user_id, asyncio.Lock())


@asynccontextmanager
async def one_at_a_time(db: Database, user_ids: Iterable[str]) -> AsyncIterator[None]:
    """The only writer of these people in this process. Other processes queue at the person's row."""
    turnstiles = db.attached.get(Turnstiles)
    async with AsyncExitStack() as stack:
        for user_id in sorted(set(user_ids)):
            await stack.enter_async_context(turnstiles.lock_of(user_id))
        yield
