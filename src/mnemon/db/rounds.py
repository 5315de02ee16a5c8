"""Several readers of one transaction: what they ask at the same moment goes to the database in one round trip."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

import psycopg
from psycopg.rows import DictRow

Asked = tuple[psycopg.AsyncCursor[Any], str, Mapping[str, Any], "asyncio.Future[None]"]


class Rounds:
    """Readers run until every one of them waits for an answer or is done; then all questions are sent together."""

    def __init__(self, connection: psycopg.AsyncConnection[DictRow]) -> None:
        self._connection = connection
        self._asked: list[Asked] = []
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
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def ask(self, cursor: psycopg.AsyncCursor[Any], sql: str, params: Mapping[str, Any]) -> None:
        """The cursor holds the answer, together with everybody else's."""
        answered = asyncio.get_running_loop().create_future()
        self._asked.append((cursor, sql, params, answered))
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
        asked, self._asked = self._asked, []
        self._running = len(asked)
        try:
            async with self._connection.pipeline():
                for cursor, sql, params, _ in asked:
                    await cursor.execute(sql, params)
        except psycopg.Error as error:
            self._answer(asked, error)
        else:
            self._answer(asked, None)

    def _answer(self, asked: list[Asked], error: psycopg.Error | None) -> None:
        for *_, answered in asked:
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
