"""Right of way: what can wait stands back while somebody waits for an answer, or for the first word of a reply.

Requests and jobs may run in one process, on one processor. A reflection takes as long as a reply does to begin, so a
job lets those who came just now pass before each of its steps, though never for long: under a crowd it takes turns.
"""

import asyncio
from contextvars import ContextVar

PATIENCE_S = 0.05
"""Longest wait before one step, and for any one who waits."""

stands_back: ContextVar[bool] = ContextVar("stands_back", default=False)
"""Whether what runs here is a job."""


class Ahead:
    """Somebody who goes first, until the answer begins or has taken long."""

    def __init__(self, way: "RightOfWay") -> None:
        self._way = way
        self._until = asyncio.get_running_loop().call_later(PATIENCE_S, self.passed)
        self._passing = True

    def passed(self) -> None:
        """The first word is there, or never will be; said twice it counts once."""
        if self._passing:
            self._passing = False
            self._until.cancel()
            self._way.leave()


class RightOfWay:
    """Who goes first in one application, and who waits for them. The database has it: every step passes there."""

    def __init__(self) -> None:
        self._ahead = 0
        self._waiting: set[asyncio.Future[None]] = set()

    def take(self) -> Ahead:
        """Somebody waits."""
        self._ahead += 1
        return Ahead(self)

    def leave(self) -> None:
        self._ahead -= 1
        if not self._ahead:
            for one in self._waiting:
                if not one.done():
                    one.set_result(None)

    async def clear(self) -> None:
        """A job may take its next step: nobody waits, or the job has waited long enough."""
        if not self._ahead or not stands_back.get():
            return
        free = asyncio.get_running_loop().create_future()
        self._waiting.add(free)
        try:
            await asyncio.wait((free,), timeout=PATIENCE_S)
        finally:
            self._waiting.discard(free)
