"""What hears notifications."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Protocol

from psycopg import Notify


class Listener(Protocol):
    """Gives notifications as they come; the driver's connection is one."""

    def notifies(self, *, timeout: float | None = None, stop_after: int | None = None) -> AsyncGenerator[Notify]:
        """Give each notification, for at most `timeout` seconds."""
        ...


class Silence:
    """Hears nothing, where a pooler would not pass notifications on: who waits for one looks by itself now and then."""

    async def notifies(
        self,
        *,
        timeout: float | None = None,  # noqa: ASYNC109  the driver's own signature
        stop_after: int | None = None,
    ) -> AsyncGenerator[Notify]:
        """Wait as long as a listener would."""
        nothing: asyncio.Queue[Notify] = asyncio.Queue()
        with suppress(TimeoutError):
            while True:
                yield await asyncio.wait_for(nothing.get(), timeout)
