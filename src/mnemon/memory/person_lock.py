"""A lock per person within a process, so that waiting writers do not hold a database connection."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

from mnemon.db.database import Database
from mnemon.errors import Contended

LOCK_WAIT_S = 30.0
"""The longest wait for the lock, as long as a statement may take."""


class PersonLocks:
    """A lock for each person who is being written to, in one open database."""

    def __init__(self) -> None:
        """Begin with no person locked."""
        # Weak values: a lock exists as long as someone holds or awaits it, so the map does not grow.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock_of(self, user_id: str) -> asyncio.Lock:
        """Return the asyncio lock of a person, which is deleted when nobody holds or awaits it."""
        return self._locks.setdefault(user_id, asyncio.Lock())


@asynccontextmanager
async def lock_people(db: Database, user_ids: Iterable[str], *, wait_s: float = LOCK_WAIT_S) -> AsyncIterator[None]:
    """Hold the locks of these people in this process while the block lasts; raise Contended after `wait_s`.

    Writers of other processes queue at the person's row in the database. The limit is for the whole wait: if each of
    the writers before this one waited for a database lock for its full time, this one would wait for all of them.
    """
    locks = db.attached.get_or_create(PersonLocks)
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(wait_s):
                # Sorted: two callers with the same people cannot deadlock.
                for user_id in sorted(set(user_ids)):
                    await stack.enter_async_context(locks.lock_of(user_id))
        except TimeoutError:
            raise Contended(
                f"Other writes about the same person were not done within {wait_s:g} s. Nothing was stored. Try again "
                "in a moment; if it lasts, a lock is held in the database."
            ) from None
        yield
