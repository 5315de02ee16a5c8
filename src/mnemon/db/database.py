"""The database as the rest of the code sees it: a connection pool, the one way to begin a transaction, and LISTEN.

    async with db.tx(org_id) as tx:      # role mnemon_app, row-level security for one organization
        rows = await tx.fetch_all(SQL["current"], ...)

The connection is borrowed with the first statement and returned after COMMIT or ROLLBACK. Driver errors that mean "not
now" leave as `Unavailable` errors (see outages.py).
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Any, Protocol

import psycopg
import structlog
from psycopg import Notify
from psycopg.rows import dict_row

from mnemon.clock import Clock
from mnemon.db.connect import SESSION_SETTINGS, connection_options, open_connection
from mnemon.db.lazy_transaction import LazyTransaction
from mnemon.db.outages import NO_CONNECTION_DETAIL, find_outage, translate_error
from mnemon.db.pipeline import ROUND_LIMIT_S, PipelinedConnection, RoundTimeout, Statement, plain_statement
from mnemon.db.pool import DOWN_WAIT_S, ConnectionPool, NoConnection
from mnemon.db.tx import Row, SharedObjects, Tx
from mnemon.errors import DatabaseDown
from mnemon.event_loop import RequestPriority
from mnemon.spans import span


class Listener(Protocol):
    """A source of PostgreSQL notifications; the driver's connection is one."""

    def notifies(self, *, timeout: float | None = None, stop_after: int | None = None) -> AsyncGenerator[Notify]:
        """Yield each PostgreSQL notification, for at most `timeout` seconds."""
        ...


class SilentListener:
    """A listener that never yields, for databases behind a pooler that drops notifications; its users also poll."""

    async def notifies(
        self,
        *,
        timeout: float | None = None,  # noqa: ASYNC109  the driver's own signature
        stop_after: int | None = None,
    ) -> AsyncGenerator[Notify]:
        """Wait until `timeout` as a real listener would, and yield nothing."""
        nothing: asyncio.Queue[Notify] = asyncio.Queue()
        with suppress(TimeoutError):
            while True:
                yield await asyncio.wait_for(nothing.get(), timeout)


log = structlog.get_logger(__name__)

ORG_NAME_PATTERN = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
"""An organization's name: safe in a key, a URL and a literal `SET LOCAL`."""

CONNECT_TIMEOUT_S = 5
_SPILL_TO_DISK_SQL = """
select count(*) from (select repeat('x', 100) || n as line from generate_series(1, 10000) n order by line desc) lines
"""
"""Sorts a megabyte in 64 KB of memory, so that PostgreSQL has to write a temporary file."""


class Database:
    """Connections to one PostgreSQL database, always as the role `mnemon_app`.

    With `prepared` off nothing is kept in a session, so that a pooler may run each transaction on any connection.
    Notifications then need `listen_url`, which bypasses the pooler; without it, listeners receive nothing and poll.
    """

    def __init__(
        self,
        url: str,
        clock: Clock,
        *,
        pool_size: int = 10,
        timeout_s: float = 30.0,
        prepared: bool = True,
        listen_url: str | None = None,
        attached: SharedObjects | None = None,
        connection_class: type[PipelinedConnection] = PipelinedConnection,
    ) -> None:
        """Configure the pool and the timeouts; `open` connects."""
        self.url = url
        self.attached = attached or SharedObjects()
        """Caches and counters that live as long as this database, one object of each class."""
        self.request_priority = RequestPriority()
        """Lets foreground requests go ahead of background jobs."""
        self.disk_full = False
        """Whether a statement has failed on a full disk since `check_disk` last succeeded."""
        self._clock = clock
        self._timeout_s = timeout_s
        self._prepared = prepared
        self._listen_url = listen_url or (url if prepared else None)
        self._told_silent = False
        self._pool = ConnectionPool(partial(self._open_connection, connection_class), size=pool_size)

    def now(self) -> datetime:
        """Return the time that a transaction beginning now would stamp its rows with."""
        return self._clock.now()

    async def open(self) -> None:
        """Start opening connections to the database; requests wait until there is one."""
        self._pool.open()

    async def close(self) -> None:
        """Close all connections to the database."""
        await self._pool.close()

    async def _open_connection(self, connection_class: type[PipelinedConnection]) -> PipelinedConnection:
        """Open one connection of the pool, with the session's settings and none of psycopg's own preparing."""
        options = connection_options(self.url, connect_timeout_s=CONNECT_TIMEOUT_S, session=self._prepared)
        # With a prepare_threshold the driver would prepare statements itself, and at a rollback run DEALLOCATE ALL,
        # which drops those of PipelinedConnection too.
        connection = await connection_class.connect(
            self.url, autocommit=True, row_factory=dict_row, prepare_threshold=None, **options
        )
        connection.prepares = self._prepared
        return connection

    @asynccontextmanager
    async def tx(self, org_id: str | None, *, within_s: float | None = None) -> AsyncIterator[Tx]:
        """Run a transaction for one organization; with None it sees no tenant's row, only the queue `work`.

        `within_s` bounds the wait for a connection and the wait for each round's results, for callers that cannot wait
        as long as the default.
        """
        with span("transaction", org=org_id or ""):
            async with self._lazy_transaction(self._begin_statements(org_id), within_s) as transaction:
                yield self._make_tx(transaction, org_id)

    @asynccontextmanager
    async def owner_tx(self) -> AsyncIterator[Tx]:
        """Run a transaction as the login role, which row-level security may not bind: for operators' commands only."""
        async with self._lazy_transaction([plain_statement("BEGIN"), *self._session_statements()], None) as transaction:
            yield self._make_tx(transaction, None)

    def _make_tx(self, transaction: LazyTransaction, org_id: str | None) -> Tx:
        """Return the transaction object that is passed to queries, stamped with the current time."""
        return Tx(
            transaction, org_id=org_id, now=self._clock.now(), priority=self.request_priority, attached=self.attached
        )

    async def read_once(self, org_id: str, sql: str, /, *, within_s: float | None = None, **params: Any) -> list[Row]:
        """Return the rows of one read-only statement, run as a transaction in a single round trip."""
        statement = Statement(sql, params)
        with span("transaction", org=org_id):
            async with self._lazy_transaction(
                self._begin_statements(org_id, "BEGIN READ ONLY"), within_s
            ) as transaction:
                await transaction.read_once(statement)
        return statement.rows

    async def check_disk(self, within_s: float) -> None:
        """Raise DatabaseDown while the database's disk is full; else record that it is not."""
        async with self.tx(None, within_s=within_s) as tx:
            tx.defer("set local work_mem = '64kB'")
            await tx.fetch_all(_SPILL_TO_DISK_SQL)
        self.disk_full = False

    def _begin_statements(self, org_id: str | None, begin: str = "BEGIN") -> list[Statement]:
        """Return BEGIN and the SET LOCALs of role and organization, which go out with the first statement.

        They hold literals, since Citus does not see `set_config`.
        """
        if org_id is not None and ORG_NAME_PATTERN.fullmatch(org_id) is None:
            # The name becomes part of the SQL text below.
            raise ValueError("not an organization's name")
        # SET LOCAL ends with the transaction, so a pooled connection cannot carry an organization over to the next one.
        return [
            plain_statement(begin),
            *self._session_statements(),
            plain_statement("SET LOCAL ROLE mnemon_app"),
            plain_statement(f"SET LOCAL mnemon.org = '{org_id or ''}'"),
        ]

    def _session_statements(self) -> list[Statement]:
        """Return the SET LOCALs for a connection through a pooler; on other connections they were set at opening."""
        if self._prepared:
            return []
        return [plain_statement(f"SET LOCAL {name} = '{value}'") for name, value in SESSION_SETTINGS.items()]

    @asynccontextmanager
    async def _lazy_transaction(
        self, begin: Sequence[Statement], within_s: float | None
    ) -> AsyncIterator[LazyTransaction]:
        """Run a transaction that begins with these statements; commit at the end, roll back on an exception."""
        borrow = partial(self._borrow_connection, within_s)
        # A restart of the server leaves every pooled connection dead, so each of them may have to be passed over.
        transaction = LazyTransaction(
            begin, borrow=borrow, give_back=self._pool.return_connection, tries=self._pool.size
        )
        with self._translate_errors():
            try:
                yield transaction
                await transaction.commit()
                self._pool.down = False
            except BaseException:
                await transaction.roll_back()
                raise
            finally:
                transaction.release_connection()

    async def _borrow_connection(self, within_s: float | None) -> PipelinedConnection:
        """Borrow a connection from the pool and set its time limit; raise NoConnection after the wait."""
        # While the server is down, requests fail within seconds instead of piling up for the whole timeout.
        longest = DOWN_WAIT_S if self._pool.down else self._timeout_s
        connection = await self._pool.borrow_connection(longest if within_s is None else min(within_s, longest))
        connection.limit_s = ROUND_LIMIT_S if within_s is None else min(within_s, ROUND_LIMIT_S)
        return connection

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate errors of psycopg and the pool inside the block; note a full disk or a server that hangs."""
        try:
            yield
        except NoConnection as error:
            refusal = self._pool.refusal
            known = find_outage(refusal) if refusal is not None else None
            raise (known.make_error() if known is not None else DatabaseDown(NO_CONNECTION_DETAIL)) from error
        except psycopg.Error as error:
            if isinstance(error, RoundTimeout):
                self._pool.down = True
            if isinstance(error, psycopg.errors.DiskFull):
                self.disk_full = True
            translated = translate_error(error)
            if translated is None:
                raise
            raise translated from error

    @asynccontextmanager
    async def listen(self, channel: str) -> AsyncIterator[Listener]:
        """Open a separate connection that receives the channel's notifications; closed with the block."""
        if self._listen_url is None:
            # Said to those who would listen, once: a command that needs no notification has nothing to mend.
            if not self._told_silent:
                self._told_silent = True
                log.warning("notifications_off", next_step="Set MNEMON_LISTEN_URL to a URL that goes past the pooler.")
            yield SilentListener()
            return
        with self._translate_errors():
            # Not from the pool: LISTEN belongs to the session, and a pooled connection changes hands.
            connection = await open_connection(self._listen_url)
            try:
                await connection.execute(f'LISTEN "{channel}"')
                yield connection
            finally:
                await connection.close()
