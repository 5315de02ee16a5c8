"""A connection that sends a round of statements as a whole and waits for the results once.

It uses libpq's pipeline mode with psycopg's type adaptation. psycopg's own pipeline goes to the event loop for every
statement, which costs more than all the rest of it.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import AsyncRowFactory, DictRow, dict_row

from mnemon.db import statements
from mnemon.db.statements import PreparedStatements, StatementChange, positional_query

# statement_timeout is the server's own, and a stopped server keeps no time.
ROUND_LIMIT_S = 40.0
"""Longest wait for a round's results, in case the server hangs: its statement timeout and a margin."""
_CANCEL_TIMEOUT_S = 2.0
_VALUES_PER_SLICE = 10_000
"""Values converted to Python objects before other tasks may run: about 2 ms."""
_STALE_STATEMENT_STATES = frozenset({"0A000", "26000"})
"""SQLSTATEs of a prepared statement whose tables were changed, or that the server no longer has."""
_OK_STATUSES = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


class RoundTimeout(psycopg.OperationalError):
    """The server did not answer a round in time; the connection is closed."""

    def __init__(self, seconds: float) -> None:
        """Make the error of a round that the server did not answer within these seconds."""
        super().__init__(f"the server did not answer within {seconds:g} s")
        self.seconds = seconds


# An OperationalError on a closed connection, so that LazyTransaction sends a first round to another connection.
class StatementLost(psycopg.OperationalError):
    """The server does not have a statement that this connection prepared; the connection is closed."""

    sqlstate = "26000"


class Statement:
    """A statement with its parameters, and its result once it was run."""

    __slots__ = ("count", "params", "prepare", "rows", "sql", "tuples")

    def __init__(self, sql: str, params: Mapping[str, Any], *, tuples: bool = False, prepare: bool = True) -> None:
        """Hold the SQL and its named parameters; `rows` and `count` are filled when it was run."""
        self.sql = sql
        self.params = params
        self.tuples = tuples
        """Whether rows are returned as tuples, read in PostgreSQL's binary format."""
        self.prepare = prepare
        """Whether to prepare it, with a plan for any parameters; else it is planned for these."""
        self.rows: list[Any] = []
        self.count = 0
        """How many rows it returned or changed."""


def plain_statement(sql: str) -> Statement:
    """Return an SQL statement without parameters that is not worth preparing."""
    return Statement(sql, {}, prepare=False)


class BoundStatement(NamedTuple):
    """A statement with its parameters in PostgreSQL's wire format."""

    statement: Statement
    query: bytes
    values: Sequence[Buffer | None]
    types: tuple[int, ...]
    formats: Sequence[Format] | None


class _PendingRound:
    """A round that was sent: the expected results in order, and the results received so far."""

    def __init__(self) -> None:
        """Start with nothing sent and nothing received."""
        self.expected: list[Statement | StatementChange] = []
        """What each result belongs to: a statement, or a PREPARE or DEALLOCATE sent ahead of one."""
        self.changes = False
        """Whether the round prepares or drops anything."""
        self.results: list[PGresult] = []
        self.at_boundary = True
        """Whether the last result was read to its end; kept here, since a cancelled read stops in the middle."""


class PipelinedConnection(psycopg.AsyncConnection[DictRow]):
    """A connection that sends statements in rounds."""

    def __init__(self, pgconn: PGconn, row_factory: AsyncRowFactory[DictRow] = dict_row) -> None:
        """Wrap libpq's connection, with a record of its own of what the server has prepared."""
        super().__init__(pgconn, row_factory)
        self.limit_s = ROUND_LIMIT_S
        """Longest wait for the results of a round; set by whoever borrows the connection."""
        self.prepares = True
        """Whether statements are prepared by name; a pooler in transaction mode cannot carry those."""
        # The driver's own handling of prepared statements does not see this pipeline.
        # `_own_`: the driver has attributes of similar names for what it prepares itself.
        self._own_types = Transformer(self)
        # Not bound to a connection, it reads times as UTC: behind a pooler the session may have any time zone.
        self._own_loaders = Transformer(self.adapters)
        self._own_prepared = PreparedStatements()

    async def run_round(self, *batch: Statement) -> None:
        """Run the SQL statements in one round trip and store their rows in them; after a failed one, run no more."""
        await self.send_round(self.bind_statements(*batch))

    def bind_statements(self, *batch: Statement) -> list[BoundStatement]:
        """Return the SQL statements with parameters in PostgreSQL's wire format; raise where one cannot be."""
        return [self._bind_statement(one) for one in batch]

    async def send_round(self, bound: Sequence[BoundStatement]) -> None:
        """Send bound statements and store their rows: the second half of `run_round`. Log a slow round."""
        async with self.lock:
            began = time.monotonic()
            try:
                await self._run_pipeline(bound)
            finally:
                seconds = time.monotonic() - began
                if seconds >= statements.SLOW_S:
                    statements.warn_slow([one.statement.sql for one in bound], seconds)

    async def _run_pipeline(self, bound: Sequence[BoundStatement]) -> None:
        """Send the statements in one round and read the results; update the record of prepared statements."""
        pending = _PendingRound()
        try:
            self._write_round(bound, pending)
            await self._read_results(pending, self.limit_s)
            self.pgconn.exit_pipeline_mode()
        except asyncio.CancelledError:
            await self._cancel_round(pending)
            raise
        except TimeoutError:
            # A server that hangs would not answer a cancel request either, so the connection is given up.
            await self.close()
            raise RoundTimeout(self.limit_s) from None
        except psycopg.OperationalError as error:
            await self.close()
            server_error = _server_error(pending)
            if server_error is None:
                raise
            raise server_error from error
        except BaseException:
            await self.close()
            raise
        # First what is prepared, then the rows: storing them raises the error of a failed statement.
        self._settle_prepared(pending)
        await self._store_results(pending)

    def _bind_statement(self, statement: Statement) -> BoundStatement:
        """Return one statement with `$n` placeholders and its parameters in wire format."""
        query, names = positional_query(statement.sql)
        values = self._own_types.dump_sequence([statement.params[name] for name in names], [PyFormat.AUTO] * len(names))
        return BoundStatement(statement, query, values, tuple(self._own_types.types or ()), self._own_types.formats)

    def _write_round(self, bound: Sequence[BoundStatement], pending: _PendingRound) -> None:
        """Queue the statements in libpq as one pipeline, each with a PREPARE where needed."""
        pgconn = self.pgconn
        pgconn.enter_pipeline_mode()
        for statement, query, values, types, formats in bound:
            form = Format.BINARY if statement.tuples else Format.TEXT
            if statement.prepare and self.prepares:
                name, changes = self._own_prepared.plan_use((query, types))
                for change in changes:
                    self._write_change(change, pending)
                pgconn.send_query_prepared(name, values, formats, form)
            else:
                pgconn.send_query_params(query, values, types, formats, form)
            pending.expected.append(statement)
        pgconn.pipeline_sync()

    def _write_change(self, change: StatementChange, pending: _PendingRound) -> None:
        """Queue a PREPARE or DEALLOCATE in libpq, and expect its result."""
        if change.dropped:
            self.pgconn.send_query_params(b"DEALLOCATE " + change.name, None)
        else:
            self.pgconn.send_prepare(change.name, *change.key)
        pending.expected.append(change)
        pending.changes = True

    async def _read_results(self, pending: _PendingRound, seconds: float) -> None:
        """Read all results of a sent round within so many seconds; callable again after a cancellation."""
        pgconn = self.pgconn
        until = asyncio.get_running_loop().time() + seconds
        # While writing, also read: a server whose output buffer is full stops reading, and both sides would wait.
        while pgconn.flush():
            await self._wait_ready(until, writing=True)
            pgconn.consume_input()
        while True:
            if pgconn.is_busy():
                await self._wait_ready(until)
                pgconn.consume_input()
                continue
            result = pgconn.get_result()
            if result is None:
                # None ends each result; two in a row mean that nothing more will come.
                if pending.at_boundary:
                    raise psycopg.OperationalError("the server closed the connection")
                pending.at_boundary = True
            elif result.status == ExecStatus.PIPELINE_SYNC:
                return
            else:
                pending.at_boundary = False
                pending.results.append(result)

    def _settle_prepared(self, pending: _PendingRound) -> None:
        """Undo the record of PREPAREs that the server skipped: after an error it runs nothing more of a round."""
        if not pending.changes:
            return
        done = next(
            (place for place, result in enumerate(pending.results) if result.status not in _OK_STATUSES),
            len(pending.results),
        )
        self._own_prepared.undo_changes(
            one for one in reversed(pending.expected[done:]) if isinstance(one, StatementChange)
        )

    async def _wait_ready(self, until: float, *, writing: bool = False) -> None:
        """Wait until the socket can be read, or written; raise TimeoutError where `until` passes first."""
        loop, socket = asyncio.get_running_loop(), self.pgconn.socket
        ready = loop.create_future()
        # A plain timer, since asyncio.timeout takes 10 µs of the 100 that a round takes.
        alarm = loop.call_at(until, _time_out_waiter, ready)
        loop.add_reader(socket, _wake_waiter, ready)
        if writing:
            loop.add_writer(socket, _wake_waiter, ready)
        try:
            await ready
        finally:
            alarm.cancel()
            loop.remove_reader(socket)
            if writing:
                loop.remove_writer(socket)

    async def _store_results(self, pending: _PendingRound) -> None:
        """Store each result's rows in its statement; raise the error of the first that failed."""
        for expected, result in zip(pending.expected, pending.results, strict=True):
            if result.status not in _OK_STATUSES:
                raise await self._error_of(result)
            if isinstance(expected, Statement):
                await self._store_rows(expected, result)

    async def _store_rows(self, statement: Statement, result: PGresult) -> None:
        """Convert a result's rows into Python values, in slices so that other tasks can run between."""
        statement.count = result.command_tuples or 0
        if not result.nfields:
            return
        self._own_loaders.set_pgresult(result)
        names = [] if statement.tuples else [(result.fname(place) or b"").decode() for place in range(result.nfields)]
        make_row = tuple if statement.tuples else lambda row: dict(zip(names, row, strict=True))
        statement.rows = []
        slice_rows = max(1, _VALUES_PER_SLICE // result.nfields)
        for start in range(0, result.ntuples, slice_rows):
            if start:
                # The result is complete, so a pause does not keep the database waiting.
                await asyncio.sleep(0)
            statement.rows += self._own_loaders.load_rows(start, min(start + slice_rows, result.ntuples), make_row)

    async def _error_of(self, result: PGresult) -> psycopg.Error:
        """Return the psycopg error of a failed result; close the connection where its prepared statements are stale."""
        error = error_from_result(result)
        # 0A000: another process migrated a table; 26000: a pooler mixed up connections (decision 21).
        if error.sqlstate not in _STALE_STATEMENT_STATES or not self.prepares:
            return error
        await self.close()
        if error.sqlstate == StatementLost.sqlstate:
            return StatementLost("a statement that this connection prepared is gone")
        return psycopg.OperationalError("the tables were changed while this connection was open")

    async def _cancel_round(self, pending: _PendingRound) -> None:
        """Cancel the running statements on the server, as their caller is gone; close the connection if that fails."""
        try:
            await self.cancel_safe(timeout=_CANCEL_TIMEOUT_S)
            await self._read_results(pending, _CANCEL_TIMEOUT_S)
            self.pgconn.exit_pipeline_mode()
            self._settle_prepared(pending)
        except (psycopg.Error, TimeoutError):
            await self.close()
        except asyncio.CancelledError:
            await self.close()
            raise


def _server_error(pending: _PendingRound) -> psycopg.Error | None:
    """Return the error that the server sent before it closed the connection, the cause; None if it sent none."""
    for result in pending.results:
        if result.status == ExecStatus.FATAL_ERROR:
            error = error_from_result(result)
            if error.sqlstate is not None:
                return error
    return None


def _wake_waiter(ready: "asyncio.Future[None]") -> None:
    """Resolve the future of a task that waits for the socket."""
    if not ready.done():
        ready.set_result(None)


def _time_out_waiter(ready: "asyncio.Future[None]") -> None:
    """Raise TimeoutError in the task that waits for the socket."""
    if not ready.done():
        ready.set_exception(TimeoutError())
