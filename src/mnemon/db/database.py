"""The pool of connections, and the one way to begin a transaction."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from mnemon.clock import Clock
from mnemon.db.line import Line
from mnemon.db.tx import Row, Tx
from mnemon.db.wire import Asked, Wire, plain
from mnemon.errors import Contended, DatabaseDown
from mnemon.spans import span

ORG_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
"""An organization's name: safe in a key, a URL and a literal `SET LOCAL`."""

CONNECT_TIMEOUT_S = 5
DOWN_TIMEOUT_S = 2.0
"""Longest wait for a connection while the server refuses them; a busy one may take as long as the settings say."""
_STATEMENT_TIMEOUT = "30s"
_IDLE_TIMEOUT = "60s"


class Database:
    """Connections to one PostgreSQL database, always as the role `mnemon_app`."""

    def __init__(
        self,
        url: str,
        clock: Clock,
        *,
        pool_size: int = 10,
        timeout_s: float = 30.0,
        connection_class: type[Wire] = Wire,
    ) -> None:
        self.url = url
        self._clock = clock
        self._timeout_s = timeout_s
        self._down = False  # no connection can be made: then nobody waits long for one
        self._pool: AsyncConnectionPool[Wire] = AsyncConnectionPool(
            url,
            connection_class=connection_class,
            min_size=1,
            max_size=pool_size,
            timeout=timeout_s,
            reconnect_timeout=2.0,
            reconnect_failed=self._note_down,
            configure=self._note_up,
            open=False,
            kwargs={
                "autocommit": True,
                "row_factory": dict_row,
                "connect_timeout": CONNECT_TIMEOUT_S,
                "options": f"-c statement_timeout={_STATEMENT_TIMEOUT} "
                f"-c idle_in_transaction_session_timeout={_IDLE_TIMEOUT} -c timezone=UTC",
            },
            name="mnemon",
        )

    def now(self) -> datetime:
        """The moment a transaction beginning now would be stamped with."""
        return self._clock.now()

    async def open(self) -> None:
        """Connections are being made; requests wait for one."""
        await self._pool.open()

    async def close(self) -> None:
        """All connections are closed."""
        await self._pool.close()

    def _note_down(self, pool: object) -> None:
        self._down = True

    async def _note_up(self, connection: Wire) -> None:
        self._down = False

    @asynccontextmanager
    async def tx(self, org_id: str | None) -> AsyncIterator[Tx]:
        """A transaction for one organization; None sees no tenant row and is for the runner's look at `work`."""
        with span("transaction", org=org_id or ""):
            async with self._transaction(_begin(org_id)) as line:
                yield Tx(line, org_id=org_id, now=self._clock.now(), database=self.url)

    @asynccontextmanager
    async def owner_tx(self) -> AsyncIterator[Tx]:
        """A transaction as the login itself, which row-level security may not bind: for operators' commands only."""
        async with self._transaction([plain("BEGIN")]) as line:
            yield Tx(line, org_id=None, now=self._clock.now(), database=self.url)

    async def glance(self, org_id: str, sql: str, /, **params: Any) -> list[Row]:
        """What one reading statement gives, in a transaction that is a single round trip: for what is asked always."""
        asked = Asked(sql, params)
        with span("transaction", org=org_id):
            async with self._transaction(_begin(org_id)) as line:
                await line.glance(asked)
        return asked.rows

    @asynccontextmanager
    async def _transaction(self, begin: Sequence[Asked]) -> AsyncIterator[Line]:
        """A line whose transaction begins so. What it is about is committed at the end, or undone by an exception."""
        line = Line(begin, take=self._connection, give=self._pool.putconn, tries=self._pool.max_size)
        with _told_apart():
            try:
                yield line
                await line.commit()
            except BaseException:
                await line.roll_back()
                raise
            finally:
                await line.leave()

    async def _connection(self) -> Wire:
        return await self._pool.getconn(DOWN_TIMEOUT_S if self._down else self._timeout_s)

    @asynccontextmanager
    async def listen(self, channel: str) -> AsyncIterator[psycopg.AsyncConnection[Row]]:
        """A connection of its own that hears the channel's notifications."""
        connection = await psycopg.AsyncConnection.connect(
            self.url, autocommit=True, row_factory=dict_row, connect_timeout=CONNECT_TIMEOUT_S
        )
        try:
            await connection.execute(f'LISTEN "{channel}"')
            yield connection
        finally:
            await connection.close()


def _begin(org_id: str | None) -> list[Asked]:
    """Begin, role and organization, sent as one; literals, since Citus does not see `set_config`."""
    if org_id is not None and ORG_NAME.fullmatch(org_id) is None:
        raise ValueError("not an organization's name")
    return [
        plain("BEGIN"),
        plain("SET LOCAL ROLE mnemon_app"),
        plain(f"SET LOCAL mnemon.org = '{org_id or ''}'"),
    ]


@contextmanager
def _told_apart() -> Iterator[None]:
    """Whatever the driver raises inside is told as what it means."""
    try:
        yield
    except PoolTimeout as error:
        raise DatabaseDown(
            "The database did not give a connection in time. Try again shortly; `mnemon doctor` tells why."
        ) from error
    except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure) as error:
        raise Contended("Two writers blocked each other and this one gave way. Try again.") from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise DatabaseDown(
            "The database went away or took too long. Try again shortly; `mnemon doctor` tells why."
        ) from error
