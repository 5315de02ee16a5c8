"""One transaction: as the application's role, for one organization, at one moment of our clock."""

import secrets
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, TypeVar, overload

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow

from mnemon.db.rounds import Rounds
from mnemon.db.statements import only_reads
from mnemon.db.wire import Asked, Wire, plain
from mnemon.ids import ulid
from mnemon.way import WAY

_AT_ONCE = 500
"""Rows of `many` that are sent in one round."""

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

    def __init__(self, connection: Wire, *, org_id: str | None, now: datetime, database: str = "") -> None:
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
        self._before: list[Asked] = []
        """Savepoints set and released, which leave with the next statement."""
        self._savepoints = 0
        self._holds = False
        """Something is written or locked: others may wait for it."""

    @property
    def connection(self) -> Wire:
        """The driver's connection, for what no statement does: COPY, and cursors of the server."""
        return self._connection

    def new_id(self, prefix: str) -> str:
        """A fresh id of this transaction's time, sorting after those it gave before."""
        self._entropy += 1
        return f"{prefix}_{ulid(self.now, self._entropy)}"

    async def all(self, sql: str, **params: Any) -> list[Row]:
        """Every row."""
        return (await self._ask(Asked(sql, params))).rows

    async def afresh(self, sql: str, **params: Any) -> list[Row]:
        """Every row, by a plan made for these very values: where filters may be absent, no one plan suits all."""
        return (await self._ask(Asked(sql, params, prepare=False))).rows

    async def maybe(self, sql: str, **params: Any) -> Row | None:
        """The first row, or None."""
        return next(iter((await self._ask(Asked(sql, params))).rows), None)

    async def one(self, sql: str, **params: Any) -> Row:
        """The row of a statement that always gives one."""
        row = await self.maybe(sql, **params)
        if row is None:
            raise LookupError("a statement that must give a row gave none")
        return row

    async def run(self, sql: str, **params: Any) -> int:
        """Execute; how many rows it touched."""
        return (await self._ask(Asked(sql, params))).count

    async def many(self, sql: str, rows: Sequence[Params]) -> int:
        """Execute once per row, many at a time; how many rows were touched in all."""
        touched = 0
        for start in range(0, len(rows), _AT_ONCE):
            asked = [Asked(sql, row) for row in rows[start : start + _AT_ONCE]]
            await self._exchange(*asked)
            touched += sum(one.count for one in asked)
        return touched

    async def tuples(self, sql: str, **params: Any) -> list[tuple[Any, ...]]:
        """Every row, in PostgreSQL's binary form: vectors as text would take longer to read than everything else."""
        return (await self._ask(Asked(sql, params, tuples=True))).rows

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
    @overload
    async def together(self, *readers: Reader[T]) -> tuple[T, ...]: ...
    async def together(self, *readers: Reader[Any]) -> Any:
        """What the readers give, in their order; what they ask at the same moment is one round trip."""
        if self._rounds is not None:
            return await self._rounds.read(*readers)
        self._rounds = Rounds(self._exchange)
        try:
            return await self._rounds.read(*readers)
        finally:
            self._rounds = None

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """What fails inside is undone alone; the exception goes on. Setting and releasing it costs no round trip."""
        self._savepoints += 1
        name = f"savepoint_{self._savepoints}"
        mark = plain(f"SAVEPOINT {name}")
        self._before.append(mark)
        try:
            yield
        except BaseException:
            if mark in self._before:  # nothing was run inside
                self._before.remove(mark)
            elif not self._connection.closed:
                self._before.clear()
                await self._connection.exchange(plain(f"ROLLBACK TO SAVEPOINT {name}"))
            raise
        if mark in self._before:
            self._before.remove(mark)
        else:
            self._before.append(plain(f"RELEASE SAVEPOINT {name}"))

    async def _ask(self, asked: Asked) -> Asked:
        if self._rounds is None:
            await self._exchange(asked)
        else:
            await self._rounds.ask(asked)
        return asked

    async def _exchange(self, *asked: Asked) -> None:
        # A job stands back between its readings too; not once it holds what somebody ahead may wait for.
        if not self._holds:
            self._holds = not all(only_reads(one.sql) for one in asked)
            await WAY.clear()
        before, self._before = self._before, []
        try:
            await self._connection.exchange(*before, *asked)
        except psycopg.Error:
            if self._connection.info.transaction_status is TransactionStatus.INTRANS:
                self._before = before  # a value had no form: nothing was sent
            raise
