"""One writer per person at a time within a process: the others wait here, without holding a database connection."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

from mnemon.db.database import Database
from mnemon.errors import Contended

LOCK_WAIT_S = 30.0
"""Longest wait for one's turn, as long as a statement may take."""


class PersonLocks:
    """A lock for each person somebody writes to or waits for, in one open database."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock_of(self, user_id: str) -> asyncio.Lock:
        """Give the person's lock, which is gone when nobody holds it."""
        return self._locks.setdefault(user_id, asyncio.Lock())


@asynccontextmanager
async def lock_people(db: Database, user_ids: Iterable[str], *, wait_s: float = LOCK_WAIT_S) -> AsyncIterator[None]:
    """The only writer of these people in this process. Other processes queue at the person's row.

    Where those before it wait for a lock in the database, each for its whole time, it would wait for all of them.
    """
    turnstiles = db.attached.get_or_create(PersonLocks)
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(wait_s):
                for user_id in sorted(set(user_ids)):
                    await stack.enter_async_context(turnstiles.lock_of(user_id))
        except TimeoutError:
            raise Contended(
                f"Other writes about the same person were not done within {wait_s:g} s. Nothing was stored. Try again "
                "in a moment; if it lasts, a lock is held in the database."
            ) from None
        yield
