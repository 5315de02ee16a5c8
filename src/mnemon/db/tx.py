"""One transaction: as the application's role, for one organization, at one moment of our clock.

What lives as long as one open database: caches of its rows and counts not yet written, one object of each class.

A process may hold several databases open, as tests and the demo do, so none of this may be a module's global.
"""

import secrets
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any, TypeVar, cast, overload

import psycopg
from psycopg.rows import DictRow

from mnemon.db.lazy_transaction import LazyTransaction, StatementBatcher
from mnemon.db.pipeline import PipelinedConnection, Statement, plain_statement
from mnemon.db.statements import is_read_only
from mnemon.event_loop import RequestPriority
from mnemon.scope import make_ulid

SharedType = TypeVar("SharedType")


class SharedObjects:
    """Objects by class: those given at the start, and others made without arguments when first asked for."""

    def __init__(self, *given: object) -> None:
        self._by_class: dict[type, object] = {type(one): one for one in given}

    def get_or_create(self, kind: type[SharedType]) -> SharedType:
        """Give the one object of this class."""
        found = self._by_class.get(kind)
        if found is None:
            found = self._by_class[kind] = kind()
        return cast("SharedType", found)


_ROWS_PER_ROUND = 500
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

    def __init__(
        self, line: LazyTransaction, *, org_id: str | None, now: datetime, way: RequestPriority, attached: SharedObjects
    ) -> None:
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
        self._rounds: StatementBatcher | None = None
        self._savepoints = 0
        self._holds = False
        """Something is written or locked: others may wait for it."""
        self._put_off = False
        """Something is to be written with the next statement."""

    async def raw_connection(self) -> PipelinedConnection:
        """The driver's connection, for what no statement does: COPY, and cursors of the server."""
        return await self._line.begun_connection()

    def new_id(self, prefix: str) -> str:
        """A fresh id of this transaction's time, sorting after those it gave before."""
        self._entropy += 1
        return f"{prefix}_{make_ulid(self.now, self._entropy)}"

    async def fetch_all(self, sql: str, **params: Any) -> list[Row]:
        """Every row."""
        return (await self._run_statement(Statement(sql, params))).rows

    async def fetch_unprepared(self, sql: str, **params: Any) -> list[Row]:
        """Every row, by a plan made for these very values: where filters may be absent, no one plan suits all."""
        return (await self._run_statement(Statement(sql, params, prepare=False))).rows

    async def fetch_one_or_none(self, sql: str, **params: Any) -> Row | None:
        """The first row, or None."""
        return next(iter((await self._run_statement(Statement(sql, params))).rows), None)

    async def fetch_one(self, sql: str, **params: Any) -> Row:
        """The row of a statement that always gives one."""
        row = await self.fetch_one_or_none(sql, **params)
        if row is None:
            raise LookupError("a statement that must give a row gave none")
        return row

    async def execute(self, sql: str, **params: Any) -> int:
        """Execute; how many rows it touched."""
        return (await self._run_statement(Statement(sql, params))).count

    def defer(self, sql: str, **params: Any) -> None:
        """Execute with the next statement, or with the commit: a write that nobody looks at takes no round trip.

        What it locks, it locks then: for what the rest of the transaction has locked anyway.
        """
        self._line.defer(Statement(sql, params))
        self._put_off = True

    def defer_to_commit(self, sql: str, **params: Any) -> None:
        """Execute after every other statement, together with the commit: for the row that all of them would wait for.

        A savepoint that is undone does not take it back.
        """
        self._line.defer_to_commit(Statement(sql, params))

    async def execute_many(self, sql: str, rows: Sequence[Params]) -> int:
        """Execute once per row, many at a time; how many rows were touched in all."""
        touched = 0
        for start in range(0, len(rows), _ROWS_PER_ROUND):
            asked = [Statement(sql, row) for row in rows[start : start + _ROWS_PER_ROUND]]
            await self._send_round(*asked)
            touched += sum(one.count for one in asked)
        return touched

    async def fetch_tuples(self, sql: str, **params: Any) -> list[tuple[Any, ...]]:
        """Every row, in PostgreSQL's binary form: vectors as text would take longer to read than everything else."""
        return (await self._run_statement(Statement(sql, params, tuples=True))).rows

    @overload
    async def gather(self, a: Reader[A], b: Reader[B], /) -> tuple[A, B]: ...
    @overload
    async def gather(self, a: Reader[A], b: Reader[B], c: Reader[C], /) -> tuple[A, B, C]: ...
    @overload
    async def gather(self, a: Reader[A], b: Reader[B], c: Reader[C], d: Reader[D], /) -> tuple[A, B, C, D]: ...
    @overload
    async def gather(
        self, a: Reader[A], b: Reader[B], c: Reader[C], d: Reader[D], e: Reader[E], /
    ) -> tuple[A, B, C, D, E]: ...
    @overload
    async def gather(self, *readers: Reader[T]) -> tuple[T, ...]: ...
    async def gather(self, *readers: Reader[Any]) -> Any:
        """What the readers give, in their order; what they ask at the same moment is one round trip."""
        if self._rounds is not None:
            return await self._rounds.run_readers(*readers)
        self._rounds = StatementBatcher(self._send_round)
        try:
            return await self._rounds.run_readers(*readers)
        finally:
            self._rounds = None

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """What fails inside is undone alone; the exception goes on. Setting and releasing it costs no round trip."""
        self._savepoints += 1
        name = f"savepoint_{self._savepoints}"
        mark = plain_statement(f"SAVEPOINT {name}")
        self._line.defer(mark)
        try:
            yield
            if self._put_off:  # what is to be written inside fails inside
                await self._send_round()
        except BaseException:
            if not self._line.cancel_deferred(mark):
                # Where even that fails the transaction is lost, and whoever goes on with it is told so by PostgreSQL.
                with suppress(psycopg.Error):
                    await self._line.roll_back_to(name)
            raise
        if not self._line.cancel_deferred(mark):
            self._line.defer(plain_statement(f"RELEASE SAVEPOINT {name}"))

    async def _run_statement(self, asked: Statement) -> Statement:
        if self._rounds is None:
            await self._send_round(asked)
        else:
            await self._rounds.run_statement(asked)
        return asked

    async def _send_round(self, *asked: Statement) -> None:
        # A job stands back between its readings too; not once it holds what somebody ahead may wait for.
        if not self._holds:
            self._holds = self._put_off or not all(is_read_only(one.sql) for one in asked)
            await self._way.yield_to_requests()
        self._put_off = False
        await self._line.send_statements(*asked)
