"""One transaction: as the application's role, for one organization, with one timestamp for all its rows.

`SharedObjects` holds what lives as long as an open database: caches of its rows and counters not yet written, one
object of each class. A process may hold several databases open, as tests and the demo do, so none of it is global.
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
    """One object of each class: those given at the start, and others created without arguments when first requested."""

    def __init__(self, *given: object) -> None:
        """Hold these objects, one of each class."""
        self._by_class: dict[type, object] = {type(one): one for one in given}

    def get_or_create(self, kind: type[SharedType]) -> SharedType:
        """Return the one object of this class, created now if there is none."""
        found = self._by_class.get(kind)
        if found is None:
            found = self._by_class[kind] = kind()
        return cast("SharedType", found)


_ROWS_PER_ROUND = 500
"""Rows of `execute_many` that are sent in one round."""

Row = DictRow
Params = Mapping[str, Any]
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
T = TypeVar("T")
Reader = Coroutine[Any, Any, T]
"""A coroutine that reads in a transaction and returns something."""


class Tx:
    """A transaction that runs named statements. Everything in it commits together or not at all.

    Statements run one after the other unless `gather` sends them together; `defer` and `defer_to_commit` cost no round
    trip of their own. ARCHITECTURE.md tells how this changes the order of execution.
    """

    def __init__(
        self,
        transaction: LazyTransaction,
        *,
        org_id: str | None,
        now: datetime,
        priority: RequestPriority,
        attached: SharedObjects,
    ) -> None:
        """Wrap a lazy transaction; nothing is sent yet."""
        self._transaction = transaction
        self._priority = priority
        self.attached = attached
        """Caches and counters that live as long as the database."""
        self.org_id = org_id
        """The organization whose rows row-level security shows; None only for the runner's queries of `work`."""
        self.now = now
        """The time that all rows of this transaction are stamped with."""
        self.revisions: dict[str, int] = {}
        """By person, the first revision this transaction made: rows with it or a later one are not committed yet."""
        # 79 bits of 80, so that counting up from it does not overflow.
        self._entropy = secrets.randbits(79)
        self._batcher: StatementBatcher | None = None
        self._savepoints = 0
        self._holds_locks = False
        """Whether anything was written or locked, so that others may wait for this transaction."""
        self._has_deferred = False
        """Whether anything is deferred to the next statement."""

    async def raw_connection(self) -> PipelinedConnection:
        """Return the driver's connection, for what no statement can do: COPY and server-side cursors."""
        return await self._transaction.begun_connection()

    def new_id(self, prefix: str) -> str:
        """Return a new id with this transaction's time, sorting after those it returned before."""
        self._entropy += 1
        return f"{prefix}_{make_ulid(self.now, self._entropy)}"

    async def fetch_all(self, sql: str, **params: Any) -> list[Row]:
        """Run the SQL and return all its rows as dicts."""
        return (await self._run_statement(Statement(sql, params))).rows

    async def fetch_unprepared(self, sql: str, **params: Any) -> list[Row]:
        """Run the SQL, planned for these very parameters, and return all rows: for filters that may be absent."""
        return (await self._run_statement(Statement(sql, params, prepare=False))).rows

    async def fetch_one_or_none(self, sql: str, **params: Any) -> Row | None:
        """Run the SQL and return its first row as a dict, None without one."""
        return next(iter((await self._run_statement(Statement(sql, params))).rows), None)

    async def fetch_one(self, sql: str, **params: Any) -> Row:
        """Run SQL that always returns a row and return it; raise LookupError where it does not."""
        row = await self.fetch_one_or_none(sql, **params)
        if row is None:
            raise LookupError("a statement that must return a row returned none")
        return row

    async def execute(self, sql: str, **params: Any) -> int:
        """Run the SQL; return how many rows it changed."""
        return (await self._run_statement(Statement(sql, params))).count

    def defer(self, sql: str, **params: Any) -> None:
        """Send the SQL with the next statement, or with the commit: a write whose result nobody needs.

        It takes its locks only then, so defer only what touches rows that this transaction has locked anyway.
        """
        self._transaction.defer(Statement(sql, params))
        self._has_deferred = True

    def defer_to_commit(self, sql: str, **params: Any) -> None:
        """Send the SQL after all other statements, with the commit: for a row that many transactions wait for.

        Rolling back to a savepoint does not undo it.
        """
        self._transaction.defer_to_commit(Statement(sql, params))

    async def execute_many(self, sql: str, rows: Sequence[Params]) -> int:
        """Run the SQL once per row, many rows per round trip; return how many rows were changed in all."""
        touched = 0
        for start in range(0, len(rows), _ROWS_PER_ROUND):
            statements = [Statement(sql, row) for row in rows[start : start + _ROWS_PER_ROUND]]
            await self._send_round(*statements)
            touched += sum(one.count for one in statements)
        return touched

    async def fetch_tuples(self, sql: str, **params: Any) -> list[tuple[Any, ...]]:
        """Run the SQL and return its rows as tuples, read in PostgreSQL's binary format: fast for vectors."""
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
        """Run the reading coroutines with their statements sent in shared round trips; return their results in order.

        Statements that they run at the same moment are sent in one round trip.
        """
        # Nested: these readers join the rounds of the outer ones.
        if self._batcher is not None:
            return await self._batcher.run_readers(*readers)
        self._batcher = StatementBatcher(self._send_round)
        try:
            return await self._batcher.run_readers(*readers)
        finally:
            self._batcher = None

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """Roll back to this point if the block fails, then raise its exception; this costs no round trip."""
        self._savepoints += 1
        name = f"savepoint_{self._savepoints}"
        mark = plain_statement(f"SAVEPOINT {name}")
        # Deferred, so that a block that sends nothing sets no savepoint either.
        self._transaction.defer(mark)
        try:
            yield
            if self._has_deferred:  # deferred writes of the block must fail inside it
                await self._send_round()
        except BaseException:
            if not self._transaction.cancel_deferred(mark):
                # Where even that fails the transaction is lost, and PostgreSQL refuses its next statement.
                with suppress(psycopg.Error):
                    await self._transaction.roll_back_to(name)
            raise
        if not self._transaction.cancel_deferred(mark):
            self._transaction.defer(plain_statement(f"RELEASE SAVEPOINT {name}"))

    async def _run_statement(self, statement: Statement) -> Statement:
        """Send the statement, inside `gather` with those of the other readers; return it with its rows."""
        if self._batcher is None:
            await self._send_round(statement)
        else:
            await self._batcher.run_statement(statement)
        return statement

    async def _send_round(self, *statements: Statement) -> None:
        """Send statements in one round; a background job lets requests go first until it holds locks."""
        # A background job lets requests go first between its reads too, but not once it holds locks they may wait for.
        if not self._holds_locks:
            self._holds_locks = self._has_deferred or not all(is_read_only(one.sql) for one in statements)
            await self._priority.yield_to_requests()
        self._has_deferred = False
        await self._transaction.send_statements(*statements)
