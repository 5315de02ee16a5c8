"""A connection on which a round of statements is sent as a whole and waited for once.

It is libpq's pipeline with psycopg's types. psycopg's own pipeline goes to the event loop for every statement, which
costs more than all the rest of it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import AsyncRowFactory, DictRow, dict_row

from mnemon.db.prepared import Key, Prepared
from mnemon.db.statements import positional

_CANCEL_S = 2.0
_LOADED_AT_ONCE = 10_000
"""Values made Python objects before others may run: about 2 ms."""
_CHANGED_UNDERNEATH = frozenset({"0A000", "26000"})
"""SQLSTATEs of a prepared statement whose tables are not what they were, or that is gone."""


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


class _Due(NamedTuple):
    """What the next answer is to: a statement, or the preparing of one."""

    asked: Asked | None = None
    preparing: tuple[Key, bytes] | None = None


class Wire(psycopg.AsyncConnection[DictRow]):
    """A connection that sends rounds."""

    def __init__(self, pgconn: PGconn, row_factory: AsyncRowFactory[DictRow] = dict_row) -> None:
        super().__init__(pgconn, row_factory)
        # The driver has names like these for what it prepares itself.
        self._own_types = Transformer(self)
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
            try:
                due = self._sent(bound)
                results = await self._answers()
                self.pgconn.exit_pipeline_mode()
            except asyncio.CancelledError:
                await self._stop()
                raise
            except BaseException:
                await self.close()
                raise
            await self._take(due, results)

    def _bound(self, asked: Asked) -> Bound:
        query, names = positional(asked.sql)
        values = self._own_types.dump_sequence([asked.params[name] for name in names], [PyFormat.AUTO] * len(names))
        return Bound(asked, query, values, tuple(self._own_types.types or ()), self._own_types.formats)

    def _sent(self, bound: Sequence[Bound]) -> list[_Due]:
        """The round is on its way; gives what is to come back."""
        pgconn = self.pgconn
        pgconn.enter_pipeline_mode()
        due: list[_Due] = []
        for asked, query, values, types, formats in bound:
            form = Format.BINARY if asked.tuples else Format.TEXT
            if not asked.prepare:
                pgconn.send_query_params(query, values, types, formats, form)
            else:
                key = (query, types)
                name, fresh = self._own_prepared.name(key)
                if fresh:
                    for old in self._own_prepared.surplus():
                        pgconn.send_query_params(b"DEALLOCATE " + old, None)
                        due.append(_Due())
                    pgconn.send_prepare(name, query, types)
                    due.append(_Due(preparing=(key, name)))
                pgconn.send_query_prepared(name, values, formats, form)
            due.append(_Due(asked=asked))
        pgconn.pipeline_sync()
        return due

    async def _answers(self) -> list[PGresult]:
        """Everything that came back."""
        pgconn = self.pgconn
        while pgconn.flush():
            await self._ready(writing=True)
            pgconn.consume_input()
        results: list[PGresult] = []
        ended = True
        while True:
            if pgconn.is_busy():
                await self._ready()
                pgconn.consume_input()
                continue
            result = pgconn.get_result()
            if result is None:
                if ended:  # an answer's end follows an answer; twice, it means that nothing more will come
                    raise psycopg.OperationalError("the server closed the connection")
                ended = True
            elif result.status == ExecStatus.PIPELINE_SYNC:
                return results
            else:
                ended = False
                results.append(result)

    async def _ready(self, *, writing: bool = False) -> None:
        """There is something to read, or room to write."""
        loop, socket = asyncio.get_running_loop(), self.pgconn.socket
        woken = loop.create_future()
        loop.add_reader(socket, _wake, woken)
        if writing:
            loop.add_writer(socket, _wake, woken)
        try:
            await woken
        finally:
            loop.remove_reader(socket)
            if writing:
                loop.remove_writer(socket)

    async def _take(self, due: Sequence[_Due], results: Sequence[PGresult]) -> None:
        for (asked, preparing), result in zip(due, results, strict=True):
            if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
                raise await self._failure(result)
            if preparing is not None:
                self._own_prepared.keep(*preparing)
            if asked is not None:
                await self._fill(asked, result)

    async def _fill(self, asked: Asked, result: PGresult) -> None:
        asked.count = result.command_tuples or 0
        if not result.nfields:
            return
        self._own_types.set_pgresult(result)
        names = [] if asked.tuples else [(result.fname(place) or b"").decode() for place in range(result.nfields)]
        make = tuple if asked.tuples else lambda row: dict(zip(names, row, strict=True))
        asked.rows = []
        some = max(1, _LOADED_AT_ONCE // result.nfields)
        for start in range(0, result.ntuples, some):
            if start:
                await asyncio.sleep(0)  # the answer is here, so a pause costs the database nothing
            asked.rows += self._own_types.load_rows(start, min(start + some, result.ntuples), make)

    async def _failure(self, result: PGresult) -> psycopg.Error:
        error = error_from_result(result)
        if error.sqlstate not in _CHANGED_UNDERNEATH:
            return error
        await self.close()
        return psycopg.OperationalError("the tables were changed while this connection was open")

    async def _stop(self) -> None:
        """Nobody waits for the answers any more: what runs is stopped, or else the connection is."""
        try:
            await self.cancel_safe(timeout=_CANCEL_S)
            async with asyncio.timeout(_CANCEL_S):
                await self._answers()
            self.pgconn.exit_pipeline_mode()
        except (psycopg.Error, TimeoutError):
            await self.close()
        except asyncio.CancelledError:
            await self.close()
            raise


def _wake(woken: "asyncio.Future[None]") -> None:
    if not woken.done():
        woken.set_result(None)
