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

from mnemon.db import slow
from mnemon.db.prepared import Change, Prepared
from mnemon.db.statements import positional

ROUND_LIMIT_S = 40.0
"""Longest wait for a round's answers, where the server is stopped: its own statement timeout and a margin."""
_CANCEL_S = 2.0
_LOADED_AT_ONCE = 10_000
"""Values made Python objects before others may run: about 2 ms."""
_CHANGED_UNDERNEATH = frozenset({"0A000", "26000"})
"""SQLSTATEs of a prepared statement whose tables are not what they were, or that is gone."""
_SUCCEEDED = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


class Unanswered(psycopg.OperationalError):
    """The server did not answer a round in time; the connection is closed."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the server did not answer within {seconds:g} s")
        self.seconds = seconds


class StatementLost(psycopg.OperationalError):
    """The server does not have a statement that this connection prepared; the connection is closed."""

    sqlstate = "26000"


class Asked:
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


def plain(sql: str) -> Asked:
    """A statement without values that is not worth preparing."""
    return Asked(sql, {}, prepare=False)


class Bound(NamedTuple):
    """A statement with its values as PostgreSQL takes them."""

    asked: Asked
    query: bytes
    values: Sequence[Buffer | None]
    types: tuple[int, ...]
    formats: Sequence[Format] | None


class _Pending:
    """A round that was sent: what each answer will be to, and the answers so far."""

    def __init__(self) -> None:
        self.due: list[Asked | Change] = []
        """A statement, or something that has to be prepared or dropped for the next one."""
        self.changes = False
        """Whether anything is prepared or dropped."""
        self.results: list[PGresult] = []
        self.between = True
        """Whether the last answer is read to its end; kept here, for a cancelled reader leaves in the middle."""


class Wire(psycopg.AsyncConnection[DictRow]):
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
        self._own_prepared = Prepared()

    async def exchange(self, *asked: Asked) -> None:
        """All are run in their order and hold what they gave. Where one fails, none after it is run."""
        await self.send(self.bound(*asked))

    def bound(self, *asked: Asked) -> list[Bound]:
        """The statements as they will be sent; fails where a value has no form."""
        return [self._bound(one) for one in asked]

    async def send(self, bound: Sequence[Bound]) -> None:
        """The second half of `exchange`."""
        async with self.lock:
            began = time.monotonic()
            try:
                await self._converse(bound)
            finally:
                seconds = time.monotonic() - began
                if seconds >= slow.SLOW_S:
                    slow.report_slow([one.asked.sql for one in bound], seconds)

    async def _converse(self, bound: Sequence[Bound]) -> None:
        """Send the round and take its answers; afterwards what counts as prepared is what the server has."""
        pending = _Pending()
        try:
            self._write(bound, pending)
            await self._read(pending, self.limit_s)
            self.pgconn.exit_pipeline_mode()
        except asyncio.CancelledError:
            await self._stop(pending)
            raise
        except TimeoutError:
            await self.close()
            raise Unanswered(self.limit_s) from None
        except psycopg.OperationalError as error:
            await self.close()
            said = _last_words(pending)
            if said is None:
                raise
            raise said from error
        except BaseException:
            await self.close()
            raise
        self._settle_prepared(pending)
        await self._take(pending)

    def _bound(self, asked: Asked) -> Bound:
        query, names = positional(asked.sql)
        values = self._own_types.dump_sequence([asked.params[name] for name in names], [PyFormat.AUTO] * len(names))
        return Bound(asked, query, values, tuple(self._own_types.types or ()), self._own_types.formats)

    def _write(self, bound: Sequence[Bound], pending: _Pending) -> None:
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

    def _write_change(self, change: Change, pending: _Pending) -> None:
        if change.dropped:
            self.pgconn.send_query_params(b"DEALLOCATE " + change.name, None)
        else:
            self.pgconn.send_prepare(change.name, *change.key)
        pending.due.append(change)
        pending.changes = True

    async def _read(self, pending: _Pending, seconds: float) -> None:
        """Gather everything that comes back, within so many seconds; may be called again after it was cancelled."""
        pgconn = self.pgconn
        until = asyncio.get_running_loop().time() + seconds
        while pgconn.flush():
            await self._ready(until, writing=True)
            pgconn.consume_input()
        while True:
            if pgconn.is_busy():
                await self._ready(until)
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

    def _settle_prepared(self, pending: _Pending) -> None:
        """Take back the changes that the server skipped: after a failure it does nothing more of a round."""
        if not pending.changes:
            return
        done = next(
            (place for place, result in enumerate(pending.results) if result.status not in _SUCCEEDED),
            len(pending.results),
        )
        self._own_prepared.undo(one for one in reversed(pending.due[done:]) if isinstance(one, Change))

    async def _ready(self, until: float, *, writing: bool = False) -> None:
        """There is something to read, or room to write; a TimeoutError where there is not by that time."""
        loop, socket = asyncio.get_running_loop(), self.pgconn.socket
        woken = loop.create_future()
        # A timer of our own: asyncio.timeout takes 10 µs, of the 100 of a round.
        alarm = loop.call_at(until, _wake_too_late, woken)
        loop.add_reader(socket, _wake, woken)
        if writing:
            loop.add_writer(socket, _wake, woken)
        try:
            await woken
        finally:
            alarm.cancel()
            loop.remove_reader(socket)
            if writing:
                loop.remove_writer(socket)

    async def _take(self, pending: _Pending) -> None:
        for due, result in zip(pending.due, pending.results, strict=True):
            if result.status not in _SUCCEEDED:
                raise await self._failure(result)
            if isinstance(due, Asked):
                await self._fill(due, result)

    async def _fill(self, asked: Asked, result: PGresult) -> None:
        asked.count = result.command_tuples or 0
        if not result.nfields:
            return
        self._own_loaders.set_pgresult(result)
        names = [] if asked.tuples else [(result.fname(place) or b"").decode() for place in range(result.nfields)]
        make = tuple if asked.tuples else lambda row: dict(zip(names, row, strict=True))
        asked.rows = []
        some = max(1, _LOADED_AT_ONCE // result.nfields)
        for start in range(0, result.ntuples, some):
            if start:
                await asyncio.sleep(0)  # the answer is here, so a pause costs the database nothing
            asked.rows += self._own_loaders.load_rows(start, min(start + some, result.ntuples), make)

    async def _failure(self, result: PGresult) -> psycopg.Error:
        error = error_from_result(result)
        if error.sqlstate not in _CHANGED_UNDERNEATH or not self.prepares:
            return error
        await self.close()
        if error.sqlstate == StatementLost.sqlstate:
            return StatementLost("a statement that this connection prepared is gone")
        return psycopg.OperationalError("the tables were changed while this connection was open")

    async def _stop(self, pending: _Pending) -> None:
        """Nobody waits for the answers any more: what runs is stopped, or else the connection is."""
        try:
            await self.cancel_safe(timeout=_CANCEL_S)
            await self._read(pending, _CANCEL_S)
            self.pgconn.exit_pipeline_mode()
            self._settle_prepared(pending)
        except (psycopg.Error, TimeoutError):
            await self.close()
        except asyncio.CancelledError:
            await self.close()
            raise


def _last_words(pending: _Pending) -> psycopg.Error | None:
    """Give the error that the server sent before it hung up: it says why, where the lost connection does not."""
    for result in pending.results:
        if result.status == ExecStatus.FATAL_ERROR:
            error = error_from_result(result)
            if error.sqlstate is not None:
                return error
    return None


def _wake(woken: "asyncio.Future[None]") -> None:
    if not woken.done():
        woken.set_result(None)


def _wake_too_late(woken: "asyncio.Future[None]") -> None:
    if not woken.done():
        woken.set_exception(TimeoutError())
