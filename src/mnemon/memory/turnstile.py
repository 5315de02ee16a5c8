"""One writer per person at a time within a process: the others wait here, without holding a database connection."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

_turnstiles: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()
"""By event loop and person; gone when nobody waits."""


@asynccontextmanager
async def one_at_a_time(user_ids: Iterable[str]) -> AsyncIterator[None]:
    """The only writer of these people in this process. Other processes queue at the person's row."""
    loop = id(asyncio.get_running_loop())
    async with AsyncExitStack() as stack:
        for user_id in sorted(set(user_ids)):
            lock = _turnstiles.setdefault((loop, user_id), asyncio.Lock())
            await stack.enter_async_context(lock)
        yield
