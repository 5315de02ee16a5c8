"""The pool of connections, and the one way to begin a transaction."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from functools import partial
from typing import Any

import psycopg
import structlog
from psycopg.rows import dict_row

from mnemon.clock import Clock
from mnemon.db.attached import Attached
from mnemon.db.connecting import SESSION, connect, connection_options
from mnemon.db.line import Line
from mnemon.db.listening import Listener, Silence
from mnemon.db.outages import BUSY, known_outage, outage
from mnemon.db.pool import DOWN_WAIT_S, NoConnection, Pool
from mnemon.db.tx import Row, Tx
from mnemon.db.wire import ROUND_LIMIT_S, Asked, Unanswered, Wire, plain
from mnemon.errors import DatabaseDown
from mnemon.spans import span
from mnemon.way import RightOfWay

log = structlog.get_logger(__name__)

ORG_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
"""An organization's name: safe in a key, a URL and a literal `SET LOCAL`."""

CONNECT_TIMEOUT_S = 5
_FILL_A_FILE = """
select count(*) from (select repeat('x', 100) || n as line from generate_series(1, 10000) n order by line desc) lines
"""
"""A megabyte that is sorted in 64 KB of memory: PostgreSQL writes it to a temporary file."""


class Database:
    """Connections to one PostgreSQL database, always as the role `mnemon_app`.

    With `prepared` off nothing is kept in a session, so that a pooler may hand each transaction to any connection.
    Notifications then need `listen_url`, which goes past the pooler; without it, listeners hear nothing and poll.
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
        attached: Attached | None = None,
        connection_class: type[Wire] = Wire,
    ) -> None:
        self.url = url
        self.attached = attached or Attached()
        """What rooms keep in process beside it."""
        self.way = RightOfWay()
        """Who goes first among those who use it."""
        self.disk_full = False
        """Whether a statement has failed for want of disk space since `check_disk` last found some."""
        self._clock = clock
        self._timeout_s = timeout_s
        self._prepared = prepared
        self._listen_url = listen_url or (url if prepared else None)
        self._pool = Pool(partial(self._connect, connection_class), size=pool_size)

    def now(self) -> datetime:
        """The moment a transaction beginning now would be stamped with."""
        return self._clock.now()

    async def open(self) -> None:
        """Connections are being made; requests wait for one."""
        if self._listen_url is None:
            log.warning("notifications_off", next_step="Set MNEMON_LISTEN_URL to a URL that goes past the pooler.")
        self._pool.open()

    async def close(self) -> None:
        """All connections are closed."""
        await self._pool.close()

    async def _connect(self, connection_class: type[Wire]) -> Wire:
        options = connection_options(self.url, connect_timeout_s=CONNECT_TIMEOUT_S, session=self._prepared)
        # The driver would prepare statements itself, and at a rollback it drops all of them, ours too.
        wire = await connection_class.connect(
            self.url, autocommit=True, row_factory=dict_row, prepare_threshold=None, **options
        )
        wire.prepares = self._prepared
        return wire

    @asynccontextmanager
    async def tx(self, org_id: str | None, *, within_s: float | None = None) -> AsyncIterator[Tx]:
        """A transaction for one organization; None sees no tenant row and is for the runner's look at `work`.

        `within_s` bounds the wait for a connection and the wait for each round's answers, for callers that cannot wait
        as long as everybody else.
        """
        with span("transaction", org=org_id or ""):
            async with self._transaction(self._begin(org_id), within_s) as line:
                yield self._tx(line, org_id)

    @asynccontextmanager
    async def owner_tx(self) -> AsyncIterator[Tx]:
        """A transaction as the login itself, which row-level security may not bind: for operators' commands only."""
        async with self._transaction([plain("BEGIN"), *self._settings()], None) as line:
            yield self._tx(line, None)

    def _tx(self, line: Line, org_id: str | None) -> Tx:
        return Tx(line, org_id=org_id, now=self._clock.now(), way=self.way, attached=self.attached)

    async def glance(self, org_id: str, sql: str, /, *, within_s: float | None = None, **params: Any) -> list[Row]:
        """What one reading statement gives, in a transaction that is a single round trip: for what is asked always."""
        asked = Asked(sql, params)
        with span("transaction", org=org_id):
            async with self._transaction(self._begin(org_id, "BEGIN READ ONLY"), within_s) as line:
                await line.glance(asked)
        return asked.rows

    async def check_disk(self, within_s: float) -> None:
        """Raise DatabaseDown while the database's disk is full; else note that it has room."""
        async with self.tx(None, within_s=within_s) as tx:
            tx.later("set local work_mem = '64kB'")
            await tx.all(_FILL_A_FILE)
        self.disk_full = False

    def _begin(self, org_id: str | None, begin: str = "BEGIN") -> list[Asked]:
        """Begin, role and organization, sent as one; literals, since Citus does not see `set_config`."""
        if org_id is not None and ORG_NAME.fullmatch(org_id) is None:
            raise ValueError("not an organization's name")
        return [
            plain(begin),
            *self._settings(),
            plain("SET LOCAL ROLE mnemon_app"),
            plain(f"SET LOCAL mnemon.org = '{org_id or ''}'"),
        ]

    def _settings(self) -> list[Asked]:
        """What a connection of our own was given for good when it was made, and a pooler's may not have."""
        if self._prepared:
            return []
        return [plain(f"SET LOCAL {name} = '{value}'") for name, value in SESSION.items()]

    @asynccontextmanager
    async def _transaction(self, begin: Sequence[Asked], within_s: float | None) -> AsyncIterator[Line]:
        """A line whose transaction begins so. What it is about is committed at the end, or undone by an exception."""
        take = partial(self._connection, within_s)
        line = Line(begin, take=take, give=self._pool.give, tries=self._pool.size)
        with self._told_apart():
            try:
                yield line
                await line.commit()
                self._pool.down = False
            except BaseException:
                await line.roll_back()
                raise
            finally:
                line.leave()

    async def _connection(self, within_s: float | None) -> Wire:
        longest = DOWN_WAIT_S if self._pool.down else self._timeout_s
        wire = await self._pool.take(longest if within_s is None else min(within_s, longest))
        wire.limit_s = ROUND_LIMIT_S if within_s is None else min(within_s, ROUND_LIMIT_S)
        return wire

    @contextmanager
    def _told_apart(self) -> Iterator[None]:
        """Whatever the driver raises inside is told as what it means."""
        try:
            yield
        except NoConnection as error:
            refusal = self._pool.refusal
            known = known_outage(refusal) if refusal is not None else None
            raise (known.error() if known is not None else DatabaseDown(BUSY)) from error
        except psycopg.Error as error:
            if isinstance(error, Unanswered):
                self._pool.down = True
            if isinstance(error, psycopg.errors.DiskFull):
                self.disk_full = True
            told = outage(error)
            if told is None:
                raise
            raise told from error

    @asynccontextmanager
    async def listen(self, channel: str) -> AsyncIterator[Listener]:
        """A connection of its own that hears the channel's notifications."""
        if self._listen_url is None:
            yield Silence()
            return
        with self._told_apart():
            connection = await connect(self._listen_url)
            try:
                await connection.execute(f'LISTEN "{channel}"')
                yield connection
            finally:
                await connection.close()
