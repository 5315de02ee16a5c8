"""The runner: claims what is due, runs it, settles it. Any number of them may work on one database."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta

import psycopg
import structlog

from mnemon.clock import Clock
from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.errors import DatabaseDown, MnemonError, Unavailable
from mnemon.jobs import store
from mnemon.jobs.settler import Settler
from mnemon.jobs.work import Item, LeaseLost, Retry
from mnemon.scope import Scope
from mnemon.spans import span
from mnemon.way import stands_back

log = structlog.get_logger(__name__)

POLL = 0.5
"""Seconds between looks at the table when no notification came: the clock may be moved without one."""


class Attempt:
    """One try at one item, as its handler sees it."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.settled = False

    @property
    def key(self) -> str:
        return self.item.key

    @property
    def scope(self) -> Scope:
        """The organization the work belongs to."""
        return Scope(org_id=self.item.org_id)

    async def hold(self, tx: Tx) -> None:
        """Fences: the rest of this transaction commits only if the work is still ours."""
        await store.hold(tx, self.item)

    async def settle(self, tx: Tx) -> None:
        """The work is done if and only if this transaction commits."""
        await store.settle(tx, self.item)
        self.settled = True

    async def repeat(self, tx: Tx, *, after: timedelta) -> None:
        """The work is due again later, as a schedule's next slot or because it is not ready yet."""
        await store.release(tx, self.item, due_at=tx.now + after, attempts=0, error=None)
        self.settled = True


Handler = Callable[[Attempt], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of work: how it is done and how its failures are treated."""

    name: str
    run: Handler
    retry: Retry = field(default_factory=Retry)
    lease: timedelta = timedelta(seconds=60)
    """Renewed at a third of it for as long as the handler runs."""
    on_park: Callable[[Item, str], Awaitable[None]] | None = None
    """Told when the last try has failed."""


async def _nothing(attempt: Attempt) -> None:
    """There is nothing to do but to settle it."""


_LAPSED = Kind(name=store.RESERVATION, run=_nothing)
"""A reservation is only ever claimed when its lease ran out: whoever had it is gone, and so is the row then."""


class Runner:
    """Runs the kinds it knows, a bounded number at a time."""

    def __init__(
        self, db: Database, clock: Clock, kinds: Mapping[str, Kind], *, concurrency: int = 8, only: str | None = None
    ) -> None:
        self._db = db
        self._clock = clock
        self._kinds = {**kinds, store.RESERVATION: _LAPSED}
        self._concurrency = concurrency
        self._only = only  # one organization, reserved or not; None: all that nobody has reserved
        self._wake = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._settler = Settler(db)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """It works beside what is done inside; at the end, what runs may finish within the grace."""
        task = asyncio.create_task(self.run_forever())
        try:
            yield
        finally:
            await self.stop()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def run_forever(self) -> None:
        """Works until stopped; a database that is away, or in which others are in the way, is waited for."""
        stands_back.set(True)  # for every attempt too: tasks inherit it
        listener = asyncio.create_task(self._listen())
        try:
            while not self._stopping:
                self._wake.clear()  # whoever calls from here on is heard after this look
                room = self._room
                try:
                    started = await self.take()
                except Unavailable:
                    started = 0
                if started < room or not room:  # else more may be due
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._wake.wait(), POLL)
        finally:
            listener.cancel()

    async def take(self) -> int:
        """Claims as much as there is room for and starts it; gives how many."""
        room = self._room
        if room <= 0:
            return 0
        async with self._db.tx(None) as tx:
            longest = max((kind.lease for kind in self._kinds.values()), default=timedelta(0))
            items = await store.claim(
                tx, kinds=list(self._kinds), most=room, lease_until=tx.now + longest, only=self._only
            )
        for item in items:
            task = asyncio.create_task(self._attempt(item))
            self._running.add(task)
            task.add_done_callback(self._finished)
        return len(items)

    @property
    def _room(self) -> int:
        return self._concurrency - len(self._running)

    async def drain(self) -> int:
        """Runs everything due now, and what that makes due, until nothing is; gives how many were run."""
        total = 0
        while True:
            started = await self.take()
            total += started
            if self._running:
                await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            elif started == 0:
                return total

    async def stop(self, grace_s: float = 10.0) -> None:
        """Nothing new is taken; what runs may finish within the grace, the rest is handed back."""
        self._stopping = True
        self._wake.set()
        if self._running:
            await asyncio.wait(self._running, timeout=grace_s)
        leftover = set(self._running)
        for task in leftover:
            task.cancel()
        await asyncio.gather(*leftover, return_exceptions=True)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._wake.set()

    async def _attempt(self, item: Item) -> None:
        kind = self._kinds[item.kind]
        attempt = Attempt(item)
        keeper = asyncio.create_task(self._keep_lease(item, kind.lease))
        words = log.bind(kind=item.kind, key=item.key, org=item.org_id, job=item.job_id, attempt=item.attempts)
        try:
            with span("work", kind=item.kind, org=item.org_id, job=item.job_id, attempt=item.attempts):
                await kind.run(attempt)
            if not attempt.settled:
                await self._settler.settle(item)
        except asyncio.CancelledError:
            await self._hand_back(item)
            raise
        except LeaseLost:
            words.info("work_taken_over")
        except Exception as error:  # the job boundary: whatever a handler raises becomes a retry or a parked row
            words.warning("work_failed", error=type(error).__name__, exc_info=not isinstance(error, MnemonError))
            await self._failed(item, kind, error)
        finally:
            keeper.cancel()

    async def _failed(self, item: Item, kind: Kind, error: Exception) -> None:
        # The row holds no content, so an error that is not ours is named by its type alone.
        said = f"{error.code}: {error.detail}" if isinstance(error, MnemonError) else type(error).__name__
        delay = kind.retry.delay(item.attempts, random.random())  # noqa: S311  jitter, not a secret
        with suppress(DatabaseDown, LeaseLost):
            async with self._db.tx(item.org_id) as tx:
                if delay is None:
                    await store.park(tx, item, said)
                else:
                    await store.release(tx, item, due_at=tx.now + delay, attempts=item.attempts, error=said)
            if delay is None and kind.on_park is not None:
                await kind.on_park(item, said)

    async def _hand_back(self, item: Item) -> None:
        with suppress(DatabaseDown, LeaseLost):
            async with self._db.tx(item.org_id) as tx:
                await store.release(tx, item, due_at=tx.now, attempts=item.attempts - 1, error=None)

    async def _keep_lease(self, item: Item, lease: timedelta) -> None:
        while True:
            await asyncio.sleep(lease.total_seconds() / 3)
            with suppress(DatabaseDown):
                async with self._db.tx(item.org_id) as tx:
                    if not await store.renew(tx, item, tx.now + lease):
                        return

    async def _listen(self) -> None:
        while True:
            with suppress(psycopg.Error, OSError):
                async with self._db.listen("mnemon_work") as connection:
                    async for _ in connection.notifies():
                        self._wake.set()
            await asyncio.sleep(POLL)
