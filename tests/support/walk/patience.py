"""How long the walk waits for anything before it says that it hangs."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")
HANGS_S = 60.0
"""Longer than anything here takes on any machine: what is not over by then never is."""
LEASE_S = 62.0
"""Longer than every lease and every first backoff, on the clock that the walk moves."""


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
