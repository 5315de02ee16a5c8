"""How long the walk waits for anything before it says that it hangs."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from support.walk.house import POOL, House

T = TypeVar("T")
HANGS_S = 60.0
"""Longer than anything here takes on any machine: what is not over by then never is."""
LEASE_S = 62.0
"""Longer than every lease and every first backoff, on the clock that the walk moves."""


_ACTIVE = """
select state, query from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend' and state <> 'idle'
"""


class Hung(Exception):
    """It was not over in time."""


async def within(work: Awaitable[T]) -> T:
    """What the work gives; Hung when it is not over in time."""
    doing = asyncio.ensure_future(work)
    done, _ = await asyncio.wait({doing}, timeout=HANGS_S)
    if not done:
        doing.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await asyncio.wait_for(asyncio.shield(doing), 5)
        raise Hung
    return doing.result()


async def until_idle(house: House) -> str:
    """Wait until no reply is in the making and every connection is back, outside a transaction; what is not, else."""
    for _ in range(int(HANGS_S / 0.01)):
        pool = house.services.db._pool
        busy = await (await house.admin.execute(_ACTIVE)).fetchall()
        size, free = pool.open_count, pool.idle_count
        if size == free <= POOL and not (busy or pool.waiting_count or house.streams):
            return ""
        await asyncio.sleep(0.01)
    return f"the pool has {free} of {size} connections, {house.streams} replies are being made; at work: {busy}"
