"""One transaction: as the application's role, for one organization, at one moment of our clock."""

import secrets
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, TypeVar, overload

import psycopg
from psycopg.rows import DictRow, tuple_row

from mnemon.db.rounds import Rounds
from mnemon.ids import ulid

Row = DictRow
Params = Mapping[str, Any]
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
T = TypeVar("T")
Reader = Coroutine[Any, Any, T]
"""What reads in a transaction and gives something."""


class Tx:
    """Runs named statements. Everything in it commits together or not at all."""

    def __init__(
        self, connection: psycopg.AsyncConnection[Row], *, org_id: str | None, now: datetime, database: str = ""
    ) -> None:
        self._connection = connection
        self.database = database
        """Which database it is in, as this process calls it."""
        self.org_id = org_id
        """The organization row-level security lets through; None only for the runner's look at `work`."""
        self.now = now
        """The moment all of this transaction's rows are stamped with."""
        self.revisions: dict[str, int] = {}
        """By person, the first revision this transaction made: what carries it or a later one is not committed yet."""
        self._entropy = secrets.randbits(79)
        self._rounds: Rounds | None = None

    @property
    def connection(self) -> psycopg.AsyncConnection[Row]:
        """The driver's connection, for COPY and NOTIFY."""
        return self._connection

    def new_id(self, prefix: str) -> str:
        """A fresh id of this transaction's time, sorting after those it gave before."""
        self._entropy += 1
        return f"{prefix}_{ulid(self.now, self._entropy)}"

    async def all(self, sql: str, **params: Any) -> list[Row]:
        """Every row."""
        return await (await self._execute(sql, params)).fetchall()

    async def afresh(self, sql: str, **params: Any) -> list[Row]:
        """Every row, by a plan made for these very values: where filters may be absent, no one plan suits all."""
        return await (await self._connection.execute(sql, params, prepare=False)).fetchall()

    async def maybe(self, sql: str, **params: Any) -> Row | None:
        """The first row, or None."""
        return await (await self._execute(sql, params)).fetchone()

    async def one(self, sql: str, **params: Any) -> Row:
        """The row of a statement that always gives one."""
        row = await (await self._execute(sql, params)).fetchone()
        if row is None:
            raise LookupError("a statement that must give a row gave none")
        return row

    async def run(self, sql: str, **params: Any) -> int:
        """Execute; how many rows it touched."""
        return (await self._execute(sql, params)).rowcount

    async def many(self, sql: str, rows: Sequence[Params]) -> int:
        """Execute once per row, pipelined; how many rows were touched in all."""
        async with self._connection.cursor() as cursor:
            await cursor.executemany(sql, rows)
            return cursor.rowcount

    async def tuples(self, sql: str, **params: Any) -> list[tuple[Any, ...]]:
        """Every row, in PostgreSQL's binary form: vectors as text would take longer to read than everything else."""
        cursor = self._connection.cursor(binary=True, row_factory=tuple_row)
        await self._ask(cursor, sql, params)
        return await cursor.fetchall()

    @overload
    async def together(self, a: Reader[A], b: Reader[B], /) -> tuple[A, B]: ...
    @overload
    async def together(self, a: Reader[A], b: Reader[B], c: Reader[C], /) -> tuple[A, B, C]: ...
    @overload
    async def together(self, a: Reader[A], b: Reader[B], c: Reader[C], d: Reader[D], /) -> tuple[A, B, C, D]: ...
    @overload
    async def together(
        self, a: Reader[A], b: Reader[B], c: Reader[C], d: Reader[D], e: Reader[E], /
    ) -> tuple[A, B, C, D, E]: ...
    async def together(self, *readers: Reader[Any]) -> Any:
        """What the readers give, in their order; what they ask at the same moment is one round trip."""
        if self._rounds is not None:
            return await self._rounds.read(*readers)
        self._rounds = Rounds(self._connection)
        try:
            return await self._rounds.read(*readers)
        finally:
            self._rounds = None

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """What fails inside is undone alone; the exception goes on."""
        async with self._connection.transaction():
            yield

    async def _execute(self, sql: str, params: Params) -> psycopg.AsyncCursor[Row]:
        cursor = self._connection.cursor()
        await self._ask(cursor, sql, params)
        return cursor

    async def _ask(self, cursor: psycopg.AsyncCursor[Any], sql: str, params: Params) -> None:
        # psycopg takes only literal SQL; ours comes from queries.sql, never from input.
        if self._rounds is None:
            await cursor.execute(sql, params)
        else:
            await self._rounds.ask(cursor, sql, params)
