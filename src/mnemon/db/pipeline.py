"""A connection on which a round of statements is sent as a whole and waited for once.

It is libpq's pipeline with psycopg's types. psycopg's own pipeline goes to the event loop for every statement, which
costs more than all the rest of it.
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

ROUND_LIMIT_S = 40.0
"""Longest wait for a round's answers, where the server is stopped: its own statement timeout and a margin."""
_CANCEL_TIMEOUT_S = 2.0
_VALUES_PER_SLICE = 10_000
"""Values made Python objects before others may run: about 2 ms."""
_STALE_STATEMENT_STATES = frozenset({"0A000", "26000"})
"""SQLSTATEs of a prepared statement whose tables are not what they were, or that is gone."""
_OK_STATUSES = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


class RoundTimeout(psycopg.OperationalError):
    """The server did not answer a round in time; the connection is closed."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the server did not answer within {seconds:g} s")
        self.seconds = seconds


class StatementLost(psycopg.OperationalError):
    """The server does not have a statement that this connection prepared; the connection is closed."""

    sqlstate = "26000"


class Statement:
    """A statement, and what it gave."""

    __slots__ = ("count", "params", "prepare", "rows", "sql", "tuples")

    def __init__(self, sql: str, params: Mapping[str, Any], *, tuples: bool = False, prepare: bool = True) -> None:
        self.sql = sql
        self.params = params
        self.tuples = tuples
        """Rows as tuples, read in PostgreSQL's binary form."""
        self.prepare = prepare
        """Planned for any values and kept; else for these very ones."""
        self.rows: list[Any] = []
        self.count = 0
        """How many rows it gave or touched."""


def plain_statement(sql: str) -> Statement:
    """A statement without values that is not worth preparing."""
    return Statement(sql, {}, prepare=False)


class BoundStatement(NamedTuple):
    """A statement with its values as PostgreSQL takes them."""

    asked: Statement
    query: bytes
    values: Sequence[Buffer | None]
    types: tuple[int, ...]
    formats: Sequence[Format] | None


class _PendingRound:
    """A round that was sent: what each answer will be to, and the answers so far."""

    def __init__(self) -> None:
        self.due: list[Statement | StatementChange] = []
        """A statement, or something that has to be prepared or dropped for the next one."""
        self.changes = False
        """Whether anything is prepared or dropped."""
        self.results: list[PGresult] = []
        self.between = True
        """Whether the last answer is read to its end; kept here, for a cancelled reader leaves in the middle."""


class PipelinedConnection(psycopg.AsyncConnection[DictRow]):
    """A connection that sends rounds."""

    def __init__(self, pgconn: PGconn, row_factory: AsyncRowFactory[DictRow] = dict_row) -> None:
        super().__init__(pgconn, row_factory)
        self.limit_s = ROUND_LIMIT_S
        """Longest wait for the answers to a round; whoever borrows the connection sets it."""
        self.prepares = True
        """Whether statements are prepared by name; a pooler in transaction mode cannot carry those."""
        # The driver has names like these for what it prepares itself.
        self._own_types = Transformer(self)
        # Bound to no connection, it reads times as UTC: behind a pooler the session's time zone is anybody's.
        self._own_loaders = Transformer(self.adapters)
        self._own_prepared = PreparedStatements()

    async def run_round(self, *asked: Statement) -> None:
        """All are run in their order and hold what they gave. Where one fails, none after it is run."""
        await self.send_round(self.bind_statements(*asked))

    def bind_statements(self, *asked: Statement) -> list[BoundStatement]:
        """The statements as they will be sent; fails where a value has no form."""
        return [self._bind_statement(one) for one in asked]

    async def send_round(self, bound: Sequence[BoundStatement]) -> None:
        """The second half of `exchange`."""
        async with self.lock:
            began = time.monotonic()
            try:
                await self._run_pipeline(bound)
            finally:
                seconds = time.monotonic() - began
                if seconds >= statements.SLOW_S:
                    statements.warn_slow([one.asked.sql for one in bound], seconds)

    async def _run_pipeline(self, bound: Sequence[BoundStatement]) -> None:
        """Send the round and take its answers; afterwards what counts as prepared is what the server has."""
        pending = _PendingRound()
        try:
            self._write_round(bound, pending)
            await self._read_results(pending, self.limit_s)
            self.pgconn.exit_pipeline_mode()
        except asyncio.CancelledError:
            await self._cancel_round(pending)
            raise
        except TimeoutError:
            await self.close()
            raise RoundTimeout(self.limit_s) from None
        except psycopg.OperationalError as error:
            await self.close()
            said = _server_error(pending)
            if said is None:
                raise
            raise said from error
        except BaseException:
            await self.close()
            raise
        self._settle_prepared(pending)
        await self._store_results(pending)

    def _bind_statement(self, asked: Statement) -> BoundStatement:
        query, names = positional_query(asked.sql)
        values = self._own_types.dump_sequence([asked.params[name] for name in names], [PyFormat.AUTO] * len(names))
        return BoundStatement(asked, query, values, tuple(self._own_types.types or ()), self._own_types.formats)

    def _write_round(self, bound: Sequence[BoundStatement], pending: _PendingRound) -> None:
        """Send the round as one pipeline."""
        pgconn = self.pgconn
        pgconn.enter_pipeline_mode()
        for asked, query, values, types, formats in bound:
            form = Format.BINARY if asked.tuples else Format.TEXT
            if asked.prepare and self.prepares:
                name, changes = self._own_prepared.plan_use((query, types))
                for change in changes:
                    self._write_change(change, pending)
                pgconn.send_query_prepared(name, values, formats, form)
            else:
                pgconn.send_query_params(query, values, types, formats, form)
            pending.due.append(asked)
        pgconn.pipeline_sync()

    def _write_change(self, change: StatementChange, pending: _PendingRound) -> None:
        if change.dropped:
            self.pgconn.send_query_params(b"DEALLOCATE " + change.name, None)
        else:
            self.pgconn.send_prepare(change.name, *change.key)
        pending.due.append(change)
        pending.changes = True

    async def _read_results(self, pending: _PendingRound, seconds: float) -> None:
        """Gather everything that comes back, within so many seconds; may be called again after it was cancelled."""
        pgconn = self.pgconn
        until = asyncio.get_running_loop().time() + seconds
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
                if pending.between:  # an answer's end follows an answer; twice, it means that nothing more will come
                    raise psycopg.OperationalError("the server closed the connection")
                pending.between = True
            elif result.status == ExecStatus.PIPELINE_SYNC:
                return
            else:
                pending.between = False
                pending.results.append(result)

    def _settle_prepared(self, pending: _PendingRound) -> None:
        """Take back the changes that the server skipped: after a failure it does nothing more of a round."""
        if not pending.changes:
            return
        done = next(
            (place for place, result in enumerate(pending.results) if result.status not in _OK_STATUSES),
            len(pending.results),
        )
        self._own_prepared.undo_changes(one for one in reversed(pending.due[done:]) if isinstance(one, StatementChange))

    async def _wait_ready(self, until: float, *, writing: bool = False) -> None:
        """There is something to read, or room to write; a TimeoutError where there is not by that time."""
        loop, socket = asyncio.get_running_loop(), self.pgconn.socket
        woken = loop.create_future()
        # A timer of our own: asyncio.timeout takes 10 µs, of the 100 of a round.
        alarm = loop.call_at(until, _time_out_waiter, woken)
        loop.add_reader(socket, _wake_waiter, woken)
        if writing:
            loop.add_writer(socket, _wake_waiter, woken)
        try:
            await woken
        finally:
            alarm.cancel()
            loop.remove_reader(socket)
            if writing:
                loop.remove_writer(socket)

    async def _store_results(self, pending: _PendingRound) -> None:
        for due, result in zip(pending.due, pending.results, strict=True):
            if result.status not in _OK_STATUSES:
                raise await self._error_of(result)
            if isinstance(due, Statement):
                await self._store_rows(due, result)

    async def _store_rows(self, asked: Statement, result: PGresult) -> None:
        asked.count = result.command_tuples or 0
        if not result.nfields:
            return
        self._own_loaders.set_pgresult(result)
        names = [] if asked.tuples else [(result.fname(place) or b"").decode() for place in range(result.nfields)]
        make = tuple if asked.tuples else lambda row: dict(zip(names, row, strict=True))
        asked.rows = []
        some = max(1, _VALUES_PER_SLICE // result.nfields)
        for start in range(0, result.ntuples, some):
            if start:
                await asyncio.sleep(0)  # the answer is here, so a pause costs the database nothing
            asked.rows += self._own_loaders.load_rows(start, min(start + some, result.ntuples), make)

    async def _error_of(self, result: PGresult) -> psycopg.Error:
        error = error_from_result(result)
        if error.sqlstate not in _STALE_STATEMENT_STATES or not self.prepares:
            return error
        await self.close()
        if error.sqlstate == StatementLost.sqlstate:
            return StatementLost("a statement that this connection prepared is gone")
        return psycopg.OperationalError("the tables were changed while this connection was open")

    async def _cancel_round(self, pending: _PendingRound) -> None:
        """Nobody waits for the answers any more: what runs is stopped, or else the connection is."""
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
    """Give the error that the server sent before it hung up: it says why, where the lost connection does not."""
    for result in pending.results:
        if result.status == ExecStatus.FATAL_ERROR:
            error = error_from_result(result)
            if error.sqlstate is not None:
                return error
    return None


def _wake_waiter(woken: "asyncio.Future[None]") -> None:
    if not woken.done():
        woken.set_result(None)


def _time_out_waiter(woken: "asyncio.Future[None]") -> None:
    if not woken.done():
        woken.set_exception(TimeoutError())
