"""One transaction: as the application's role, for one organization, at one moment of our clock."""

import secrets
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any, TypeVar, overload

import psycopg
from psycopg.rows import DictRow

from mnemon.db.attached import Attached
from mnemon.db.line import Line
from mnemon.db.rounds import Rounds
from mnemon.db.statements import only_reads
from mnemon.db.wire import Asked, Wire, plain
from mnemon.ids import ulid
from mnemon.way import RightOfWay

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

    def __init__(self, line: Line, *, org_id: str | None, now: datetime, way: RightOfWay, attached: Attached) -> None:
        self._line = line
        self._way = way
        self.attached = attached
        """What lives with the database."""
        self.org_id = org_id
        """The organization row-level security lets through; None only for the runner's look at `work`."""
        self.now = now
        """The moment all of this transaction's rows are stamped with."""
        self.revisions: dict[str, int] = {}
        """By person, the first revision this transaction made: what carries it or a later one is not committed yet."""
        self._entropy = secrets.randbits(79)
        self._rounds: Rounds | None = None
        self._savepoints = 0
        self._holds = False
        """Something is written or locked: others may wait for it."""
        self._put_off = False
        """Something is to be written with the next statement."""

    async def connection(self) -> Wire:
        """The driver's connection, for what no statement does: COPY, and cursors of the server."""
        return await self._line.wire()

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

    def later(self, sql: str, **params: Any) -> None:
        """Execute with the next statement, or with the commit: a write that nobody looks at takes no round trip.

        What it locks, it locks then: for what the rest of the transaction has locked anyway.
        """
        self._line.later(Asked(sql, params))
        self._put_off = True

    def at_commit(self, sql: str, **params: Any) -> None:
        """Execute after every other statement, together with the commit: for the row that all of them would wait for.

        A savepoint that is undone does not take it back.
        """
        self._line.at_commit(Asked(sql, params))

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
        self._line.later(mark)
        try:
            yield
            if self._put_off:  # what is to be written inside fails inside
                await self._exchange()
        except BaseException:
            if not self._line.forget(mark):
                # Where even that fails the transaction is lost, and whoever goes on with it is told so by PostgreSQL.
                with suppress(psycopg.Error):
                    await self._line.undo(name)
            raise
        if not self._line.forget(mark):
            self._line.later(plain(f"RELEASE SAVEPOINT {name}"))

    async def _ask(self, asked: Asked) -> Asked:
        if self._rounds is None:
            await self._exchange(asked)
        else:
            await self._rounds.ask(asked)
        return asked

    async def _exchange(self, *asked: Asked) -> None:
        # A job stands back between its readings too; not once it holds what somebody ahead may wait for.
        if not self._holds:
            self._holds = self._put_off or not all(only_reads(one.sql) for one in asked)
            await self._way.clear()
        self._put_off = False
        await self._line.send(*asked)
