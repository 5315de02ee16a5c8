"""A pool of open connections, each lent to one transaction at a time.

There is no lock, and returning a connection never waits: it is handed from one task to the next within a single turn of
the event loop, so a cancellation finds it either with the one or with the other. docs/decisions/0023 tells what went
wrong with a pool that waits inside.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

import psycopg
from psycopg.pq import TransactionStatus

from mnemon.db.pipeline import PipelinedConnection

MAX_IDLE_S = 600.0
"""A connection idle for this long is closed; the last one stays open."""
MAX_LIFETIME_S = 3600.0
"""A connection older than this is not lent again, since a backend's caches only grow."""
DOWN_AFTER_S = 2.0
"""How long connecting may fail, as it does while the server restarts, before the server counts as down."""
DOWN_WAIT_S = 2.0
"""Longest wait for a connection while the server is down."""
_FIRST_RETRY_S = 0.05
_LONGEST_RETRY_S = 1.0


class NoConnection(psycopg.OperationalError):
    """No connection was returned in time, and none could be opened."""


# Not psycopg-pool: it awaits locks when lending and when taking back, where a cancellation can lose a connection.
class ConnectionPool:
    """At most `size` connections, opened when a task waits for one.

    Tasks are served in the order in which they asked. While connecting fails, one task retries as long as others wait.
    """

    def __init__(
        self,
        make: Callable[[], Awaitable[PipelinedConnection]],
        *,
        size: int,
        idle_s: float = MAX_IDLE_S,
        lifetime_s: float = MAX_LIFETIME_S,
    ) -> None:
        """Configure a pool whose connections `make` opens; nothing is lent before `open`."""
        self.size = size
        self.down = False
        """Whether connecting has failed for a while or the server hangs; waits are then short."""
        self.refusal: psycopg.Error | None = None
        """Why the last attempt to connect failed; None once one succeeded."""
        self._make = make
        self._idle_s = idle_s
        self._lifetime_s = lifetime_s
        self._closed = True
        self._opened_at: dict[PipelinedConnection, float] = {}
        """Every open connection, lent or not, and when it was opened."""
        self._idle: deque[tuple[PipelinedConnection, float]] = deque()
        """Connections that are not lent, and since when; the one used last is at the right."""
        self._waiting: dict[asyncio.Future[PipelinedConnection], asyncio.Timeout] = {}
        """Waiting tasks in the order in which they asked."""
        self._connecting: set[asyncio.Task[None]] = set()
        self._failing_since: float | None = None
        self._tidying: asyncio.TimerHandle | None = None

    @property
    def open_count(self) -> int:
        """Return how many database connections are open, lent or not."""
        return len(self._opened_at)

    @property
    def idle_count(self) -> int:
        """Return how many open database connections are not lent."""
        return len(self._idle)

    @property
    def waiting_count(self) -> int:
        """Return how many tasks wait for a database connection."""
        return len(self._waiting)

    def open(self) -> None:
        """Allow borrowing connections, and start opening the first one."""
        self._closed = False
        self._open_one()

    async def close(self) -> None:
        """Close every connection, those that are lent when they are returned; waiting tasks get NoConnection."""
        self._closed = True
        if self._tidying is not None:
            self._tidying.cancel()
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_exception(NoConnection("the pool is closed"))
        connecting = [*self._connecting]
        for task in connecting:
            task.cancel()
        await asyncio.gather(*connecting, return_exceptions=True)
        while self._idle:
            self._close_connection(self._idle.pop()[0])

    async def borrow_connection(self, wait_s: float) -> PipelinedConnection:
        """Lend a connection, to be returned by `return_connection`; raise NoConnection after `wait_s` without one."""
        if self._closed:
            raise NoConnection("the pool is closed")
        # The one used last first, so that those not needed stay idle and are closed.
        while self._idle:
            connection, _ = self._idle.pop()
            if self._is_usable(connection):
                return connection
            self._close_connection(connection)
        waiter: asyncio.Future[PipelinedConnection] = asyncio.get_running_loop().create_future()
        try:
            # Not `wait_for`: in Python 3.11 it loses a cancellation that comes together with the result.
            async with asyncio.timeout(wait_s) as limit:
                self._waiting[waiter] = limit
                self._open_wanted()
                try:
                    return await waiter
                except asyncio.CancelledError:
                    if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                        # The connection came in the same turn of the loop as the cancellation.
                        self.return_connection(waiter.result())
                    raise
                finally:
                    self._waiting.pop(waiter, None)
        except TimeoutError:
            raise NoConnection(f"no connection within {wait_s:g} s") from None

    def return_connection(self, connection: PipelinedConnection) -> None:
        """Take a connection back and hand it to the task that waited longest; close one that is not usable."""
        if self._closed or not self._is_usable(connection):
            self._close_connection(connection)
            self._open_wanted()
            return
        # One that is done was cancelled in this turn of the event loop and has not left the queue yet.
        waiter = next((one for one in self._waiting if not one.done()), None)
        if waiter is not None:
            del self._waiting[waiter]
            waiter.set_result(connection)
            return
        self._idle.append((connection, _loop_time()))
        if len(self._idle) > 1 and self._tidying is None:
            self._tidying = asyncio.get_running_loop().call_later(self._idle_s, self._close_idle)

    def _is_usable(self, connection: PipelinedConnection) -> bool:
        """Say whether a returned connection is outside a transaction, unbroken, and not too old."""
        at_rest = connection.pgconn.transaction_status == TransactionStatus.IDLE
        return at_rest and _loop_time() - self._opened_at[connection] < self._lifetime_s

    def _close_connection(self, connection: PipelinedConnection) -> None:
        """Close the connection at once and forget it."""
        del self._opened_at[connection]
        connection.pgconn.finish()  # what `close()` of the driver does, without an await

    def _open_wanted(self) -> None:
        """Start opening connections for waiting tasks, within the pool's size; only one while connecting fails."""
        if self._closed or (self._failing_since is not None and self._connecting):
            return
        wanted = len(self._waiting) - len(self._connecting)
        allowed = self.size - len(self._opened_at) - len(self._connecting)
        for _ in range(min(wanted, allowed)):
            self._open_one()

    def _open_one(self) -> None:
        """Start a task that opens one connection."""
        self._connecting.add(asyncio.create_task(self._add_connection()))

    async def _add_connection(self) -> None:
        """Open a connection, then more if tasks still wait."""
        task = asyncio.current_task()
        assert task is not None
        try:
            await self._connect_with_retry()
        finally:
            # Here and not in a done callback: `_open_wanted` below must not count this task as still connecting.
            self._connecting.discard(task)
        self._open_wanted()

    async def _connect_with_retry(self) -> None:
        """Open a connection and lend or keep it; while it fails, retry as long as a task waits."""
        retry_s = _FIRST_RETRY_S
        while True:
            try:
                connection = await self._make()
            except psycopg.Error as error:
                self._note_refusal(error)
                if not self._waiting or len(self._connecting) > 1:
                    return  # no task waits for it, or another one retries
                await asyncio.sleep(retry_s)
                retry_s = min(2 * retry_s, _LONGEST_RETRY_S)
                continue
            self.down, self.refusal, self._failing_since = False, None, None
            self._opened_at[connection] = _loop_time()
            self.return_connection(connection)
            return

    def _note_refusal(self, error: psycopg.Error) -> None:
        """Record why connecting failed; after DOWN_AFTER_S of failures, shorten every wait to DOWN_WAIT_S."""
        now = _loop_time()
        self.refusal = error
        self._failing_since = now if self._failing_since is None else self._failing_since
        if now - self._failing_since < DOWN_AFTER_S or self.down:
            return
        self.down = True
        for limit in self._waiting.values():
            if not limit.expired():
                limit.reschedule(min(limit.when() or now, now + DOWN_WAIT_S))

    def _close_idle(self) -> None:
        """Close connections that were idle for too long, except the last one; schedule the next such check."""
        self._tidying = None
        while len(self._idle) > 1 and _loop_time() - self._idle[0][1] >= self._idle_s:
            self._close_connection(self._idle.popleft()[0])
        if len(self._idle) > 1:
            rest_s = self._idle_s - (_loop_time() - self._idle[0][1])
            self._tidying = asyncio.get_running_loop().call_later(rest_s, self._close_idle)


def _loop_time() -> float:
    """Return the event loop's time in seconds."""
    return asyncio.get_running_loop().time()
