"""Several readers of one transaction: what they ask at the same moment goes to the database in one round trip."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import psycopg

from mnemon.db.wire import Asked

Waiting = tuple[Asked, "asyncio.Future[None]"]
"""A question, and who waits for its answer."""


class Rounds:
    """Readers run until every one of them waits for an answer or is done; then all questions are sent together."""

    def __init__(self, send: Callable[..., Awaitable[None]]) -> None:
        self._send = send
        self._asked: list[Waiting] = []
        self._running = 1
        """Readers that do not wait; at first the one who calls the others."""

    async def read(self, *readers: Coroutine[Any, Any, Any]) -> tuple[Any, ...]:
        """What each reader gives, while the caller waits. The first that fails ends the others."""
        if not readers:
            return ()
        self._running += len(readers) - 1
        left = _Left(len(readers))
        tasks = [asyncio.ensure_future(self._one(reader, left)) for reader in readers]
        try:
            return tuple(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                if not task.cancelling():  # a second time would interrupt the reader that is stopping its statement
                    task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def ask(self, asked: Asked) -> None:
        """It holds its answer, when everybody else's do."""
        answered = asyncio.get_running_loop().create_future()
        self._asked.append((asked, answered))
        await self._wait()
        await answered

    async def _one(self, reader: Coroutine[Any, Any, Any], left: "_Left") -> Any:
        given = await reader
        left.number -= 1
        if left.number:  # the last one runs on as the caller
            await self._wait()
        return given

    async def _wait(self) -> None:
        """One reader fewer runs; the last one sends what all of them ask."""
        self._running -= 1
        if self._running or not self._asked:
            return
        waiting, self._asked = self._asked, []
        self._running = len(waiting)
        try:
            await self._send(*(asked for asked, _ in waiting))
        except psycopg.Error as error:
            _tell(waiting, error)
        else:
            _tell(waiting, None)


def _tell(waiting: Sequence[Waiting], error: psycopg.Error | None) -> None:
    for _, answered in waiting:
        if answered.done():  # its reader was ended while it waited
            continue
        if error is None:
            answered.set_result(None)
        else:
            answered.set_exception(error)


class _Left:
    """How many readers of one call are not done."""

    def __init__(self, number: int) -> None:
        self.number = number
