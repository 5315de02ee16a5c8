"""Connections that are kept open and lent to one transaction at a time.

Nothing here is locked and giving back never waits: a connection is handed from one task to the next within a single
turn of the event loop, so a cancellation finds it either with the one or with the other. docs/decisions/0023 tells what
went wrong with a pool that waits inside.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

import psycopg
from psycopg.pq import TransactionStatus

from mnemon.db.pipeline import PipelinedConnection

MAX_IDLE_S = 600.0
"""A connection that nobody needed for so long is closed; the last one stays."""
MAX_LIFETIME_S = 3600.0
"""A connection older than this is not lent again, since a backend's caches only grow."""
DOWN_AFTER_S = 2.0
"""How long connecting may fail, as it does while the server restarts, before the server counts as down."""
DOWN_WAIT_S = 2.0
"""Longest wait for a connection while the server is down."""
_FIRST_RETRY_S = 0.05
_LONGEST_RETRY_S = 1.0


class NoConnection(psycopg.OperationalError):
    """No connection came back in time, and none could be made."""


class ConnectionPool:
    """At most `size` connections, made when somebody waits for one.

    Whoever asked first is served first. While connecting fails, one task goes on trying for as long as somebody waits.
    """

    def __init__(
        self,
        make: Callable[[], Awaitable[PipelinedConnection]],
        *,
        size: int,
        idle_s: float = MAX_IDLE_S,
        lifetime_s: float = MAX_LIFETIME_S,
    ) -> None:
        self.size = size
        self.down = False
        """Connecting has failed for a while, or a server does not answer: nobody waits long."""
        self.refusal: psycopg.Error | None = None
        """Why the last connection could not be made; None once one could."""
        self._make = make
        self._idle_s = idle_s
        self._lifetime_s = lifetime_s
        self._closed = True
        self._made: dict[PipelinedConnection, float] = {}  # every open connection, lent or not, and when it was made
        self._idle: deque[tuple[PipelinedConnection, float]] = (
            deque()
        )  # and since when; the one used last is at the right
        self._waiting: dict[
            asyncio.Future[PipelinedConnection], asyncio.Timeout
        ] = {}  # in the order in which they asked
        self._making: set[asyncio.Task[None]] = set()
        self._failing_since: float | None = None
        self._tidying: asyncio.TimerHandle | None = None

    @property
    def open_count(self) -> int:
        """How many connections there are."""
        return len(self._made)

    @property
    def idle_count(self) -> int:
        """How many of them are not lent."""
        return len(self._idle)

    @property
    def waiting_count(self) -> int:
        """How many tasks wait for one."""
        return len(self._waiting)

    def open(self) -> None:
        """Lend connections from now on, and begin to make the first."""
        self._closed = False
        self._open_one()

    async def close(self) -> None:
        """Close every connection: those that are lent when they come back. Whoever waits gets an error."""
        self._closed = True
        if self._tidying is not None:
            self._tidying.cancel()
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_exception(NoConnection("the pool is closed"))
        making = [*self._making]
        for task in making:
            task.cancel()
        await asyncio.gather(*making, return_exceptions=True)
        while self._idle:
            self._close_connection(self._idle.pop()[0])

    async def borrow_connection(self, wait_s: float) -> PipelinedConnection:
        """Lend a connection; `give` it back. Raise NoConnection when there is none within so many seconds."""
        if self._closed:
            raise NoConnection("the pool is closed")
        while self._idle:
            wire, _ = self._idle.pop()
            if self._is_usable(wire):
                return wire
            self._close_connection(wire)
        waiter: asyncio.Future[PipelinedConnection] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(wait_s) as limit:
                self._waiting[waiter] = limit
                self._open_wanted()
                try:
                    return await waiter
                except asyncio.CancelledError:
                    if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                        self.return_connection(
                            waiter.result()
                        )  # it came in the same turn of the loop as the cancellation
                    raise
                finally:
                    self._waiting.pop(waiter, None)
        except TimeoutError:
            raise NoConnection(f"no connection within {wait_s:g} s") from None

    def return_connection(self, wire: PipelinedConnection) -> None:
        """Take a connection back, and hand it to whoever has waited longest."""
        if self._closed or not self._is_usable(wire):
            self._close_connection(wire)
            self._open_wanted()
            return
        waiter = next((one for one in self._waiting if not one.done()), None)
        if waiter is not None:
            del self._waiting[waiter]
            waiter.set_result(wire)
            return
        self._idle.append((wire, _loop_time()))
        if len(self._idle) > 1 and self._tidying is None:
            self._tidying = asyncio.get_running_loop().call_later(self._idle_s, self._close_idle)

    def _is_usable(self, wire: PipelinedConnection) -> bool:
        at_rest = wire.pgconn.transaction_status == TransactionStatus.IDLE
        return at_rest and _loop_time() - self._made[wire] < self._lifetime_s

    def _close_connection(self, wire: PipelinedConnection) -> None:
        del self._made[wire]
        wire.pgconn.finish()  # what `wire.close()` does, without being awaited

    def _open_wanted(self) -> None:
        """Make as many connections as are waited for and allowed, while that works."""
        if self._closed or (self._failing_since is not None and self._making):
            return
        wanted = len(self._waiting) - len(self._making)
        allowed = self.size - len(self._made) - len(self._making)
        for _ in range(min(wanted, allowed)):
            self._open_one()

    def _open_one(self) -> None:
        self._making.add(asyncio.create_task(self._add_connection()))

    async def _add_connection(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            await self._connect_with_retry()
        finally:
            # At once and not by a callback: whoever asks next must not take it for one that is still trying.
            self._making.discard(task)
        self._open_wanted()

    async def _connect_with_retry(self) -> None:
        retry_s = _FIRST_RETRY_S
        while True:
            try:
                wire = await self._make()
            except psycopg.Error as error:
                self._note_refusal(error)
                if not self._waiting or len(self._making) > 1:
                    return  # nobody needs it, or another task goes on trying
                await asyncio.sleep(retry_s)
                retry_s = min(2 * retry_s, _LONGEST_RETRY_S)
                continue
            self.down, self.refusal, self._failing_since = False, None, None
            self._made[wire] = _loop_time()
            self.return_connection(wire)
            return

    def _note_refusal(self, error: psycopg.Error) -> None:
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
        """Close what was not used for long."""
        self._tidying = None
        while len(self._idle) > 1 and _loop_time() - self._idle[0][1] >= self._idle_s:
            self._close_connection(self._idle.popleft()[0])
        if len(self._idle) > 1:
            rest_s = self._idle_s - (_loop_time() - self._idle[0][1])
            self._tidying = asyncio.get_running_loop().call_later(rest_s, self._close_idle)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
