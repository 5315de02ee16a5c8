"""The runner: claims what is due, runs it, settles it. Any number of runners may work on one database.

Every attempt ends in one of these ways, each logged once: done, repeated, failed and due again, parked, handed back by
a runner that stops, or taken over by another one because its lease ran out.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta

import structlog
from structlog.contextvars import bound_contextvars

from mnemon.clock import Clock
from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.errors import MnemonError, Unavailable
from mnemon.event_loop import is_background
from mnemon.jobs import store
from mnemon.jobs.isolation import ChildNotStarted, Isolation, ItemProcess
from mnemon.jobs.kind import Attempt, JobKind, SlotGroup
from mnemon.jobs.presence import WorkerPresence
from mnemon.jobs.work import LeaseLost, WorkerDied, WorkItem, WorkTimedOut, next_step_after
from mnemon.spans import span
from mnemon.supervisor import end_tasks, supervise

log = structlog.get_logger(__name__)

POLL_INTERVAL_S = 0.5
"""Seconds between queries when no notification came: work also becomes due by the clock, without one."""
MAX_TIMEOUTS = 2
"""Attempts in a row that may exceed their time limit; then the item is parked, however many it has left."""
MAX_DEATHS = 10
"""Workers in a row that may be lost with an item without anyone seeing how; then it is parked.

After the first such loss a runner with an `Isolation` runs the item in a child process and sees how that ends. It does
not see it when the machine or the container dies with both: out of memory, the kernel may end a whole control group.
But the same happens when a worker is killed from outside, and that must park nothing. Hence many and not two."""
_RECORD_TRIES = 6
"""How often to try to write an outcome while the database is unavailable; then the lease is left to run out."""


async def _ignore_reservation(attempt: Attempt) -> None:
    """Do nothing about an expired reservation: the runner settles the item itself."""


_EXPIRED_RESERVATION = JobKind(name=store.RESERVATION, run=_ignore_reservation)
"""A reservation is only claimed after its lease ran out, when its holder is gone; settling it deletes the row."""


class Runner:
    """Runs items of the kinds it knows, a bounded number at a time."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        kinds: Mapping[str, JobKind],
        *,
        concurrency: int = 8,
        only: str | None = None,
        isolation: Isolation | None = None,
        on_progress: Callable[[], None] | None = None,
    ) -> None:
        """Keep the database and the kinds of work to run; nothing runs before `run_in_background` or `drain`."""
        self._db = db
        self._clock = clock
        self._kinds = {**kinds, store.RESERVATION: _EXPIRED_RESERVATION}
        self._concurrency = concurrency
        self._only = only  # one organization, reserved or not; None: all that are not reserved
        self._isolation = isolation  # None: items that were lost with their worker run here like all others
        self._on_progress = on_progress
        self._alone: set[bool] = set()  # True while a child runs long work, False while one runs other work
        self._wake = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()
        self._running_in = Counter[SlotGroup]()
        self._ended = 0  # attempts that are over, however they ended
        self._stopping = False
        self.presence = WorkerPresence(db, slots=concurrency)
        """Reports to the database, and to this process, that the runner is alive and claims work."""

    @asynccontextmanager
    async def run_in_background(self) -> AsyncIterator[None]:
        """Claim and run work items while the block lasts; at its end let running ones finish within 10 seconds."""
        async with AsyncExitStack() as tasks:
            # Entered first and so left last: a worker that stops is alive until its items have ended.
            await tasks.enter_async_context(self.presence.keep_reporting())
            await tasks.enter_async_context(supervise("work_listener", self._listen_for_work))
            await tasks.enter_async_context(supervise("work_runner", self.run_forever))
            try:
                yield
            finally:
                await self.stop()

    async def run_forever(self) -> None:
        """Claim and start due work until stopped; raise when the database fails, and the supervisor restarts it."""
        is_background.set(True)  # for every attempt too: tasks inherit it
        while not self._stopping:
            self._wake.clear()  # before the query: a notification that comes during it causes another one
            room = self._free_slots
            started = await self.claim_and_start()
            self.presence.note_claim(busy=min(len(self._running), self._concurrency))
            if started < room or not room:  # else more may be due
                # Not `wait_for`: in Python 3.11 it loses a cancellation that comes together with the event.
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_INTERVAL_S):
                        await self._wake.wait()
        await asyncio.Event().wait()  # stopped: wait to be cancelled, since the supervisor restarts what returns

    async def claim_and_start(self) -> int:
        """Claim and start as many due work items as there are free slots; return how many.

        Long work is claimed first and never has more than half of the slots: agents' runs must not keep turns waiting.
        When all slots are taken, a group of which nothing runs may still start one item: a slow model must not keep
        embedding waiting.
        """
        long = self._kinds_of(SlotGroup.RUNS)
        free = max(1, self._concurrency // 2) - self._running_in[SlotGroup.RUNS]
        started = await self._claim_kinds(long, min(free, self._free_slots), long=True) if long else 0
        rest = sorted(self._kinds.keys() - set(long))
        started += await self._claim_kinds(rest, self._free_slots, long=False)
        for group in SlotGroup:
            if self._free_slots <= 0 and not self._running_in[group] and (kinds := self._kinds_of(group)):
                started += await self._claim_kinds(kinds, 1, long=group is SlotGroup.RUNS)
        return started

    def _kinds_of(self, group: SlotGroup) -> list[str]:
        """Return the names of the kinds of work in this group."""
        return sorted(name for name, kind in self._kinds.items() if kind.group is group)

    async def _claim_kinds(self, kinds: Sequence[str], most: int, *, long: bool) -> int:
        """Claim up to `most` due items of these kinds and start them; return how many.

        Of items that need a process of their own one is run at a time, since each costs as much memory as a worker; but
        one of long work beside one of the rest. The others stay in the queue: they take no slot, and a kill from the
        outside does not count against them.
        """
        if most <= 0:
            return 0
        include_lost = self._isolation is None or long not in self._alone
        async with self._db.tx(None) as tx:
            # One lease for all that are claimed together; each attempt then renews its own kind's.
            until = tx.now + max(self._kinds[name].lease for name in kinds)
            items = await store.claim_work(
                tx, kinds=kinds, most=most, lease_until=until, only=self._only, lost_too=include_lost
            )
            too_many = [item for item in items if self._runs_alone(item)][1:]
            for item in too_many:
                await store.unclaim_work(tx, item)
        started = [item for item in items if item not in too_many]
        for item in started:
            self.start_attempt(item)
        return len(started) + (await self._claim_kinds(kinds, most - len(started), long=long) if too_many else 0)

    def _runs_alone(self, item: WorkItem) -> bool:
        """Say whether the work item was lost with its worker and is therefore to run in a process of its own."""
        return self._isolation is not None and item.deaths > 0 and item.kind != store.RESERVATION

    def start_attempt(self, item: WorkItem) -> asyncio.Task[None]:
        """Start a task that makes an attempt at a claimed item, and return it."""
        kind = self._kinds[item.kind]
        task = asyncio.create_task(self._run_attempt(item))
        self._running.add(task)
        self._running_in[kind.group] += 1
        if self._runs_alone(item):
            self._alone.add(kind.long)
            task.add_done_callback(lambda _: self._alone.discard(kind.long))
        task.add_done_callback(lambda _: self._running_in.subtract((kind.group,)))
        task.add_done_callback(self._on_attempt_end)
        return task

    @property
    def _free_slots(self) -> int:
        """Return how many more items of any group the runner may start now."""
        return max(0, self._concurrency - len(self._running))

    async def drain(self) -> int:
        """Run all work due now, and what becomes due by that, until nothing is; return how many items were run."""
        total = 0
        while True:
            before = self._ended
            started = await self.claim_and_start()
            total += started
            if self._running:
                await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            elif (
                started == 0 and self._ended == before
            ):  # else an item ended during the query and may have freed its lane
                return total

    async def stop(self, grace_s: float = 10.0) -> None:
        """Stop claiming work; let running items finish within the grace period, and hand the rest back."""
        self._stopping = True
        self._wake.set()
        if self._running:
            await asyncio.wait(self._running, timeout=grace_s)
        await end_tasks(*self._running, again_s=5.0)  # lets each write that it hands its item back

    def _on_attempt_end(self, task: asyncio.Task[None]) -> None:
        """Discard the task of an ended attempt, wake the runner, and log an error of the runner itself."""
        self._running.discard(task)
        self._ended += 1
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            # `_run_attempt` catches what handlers raise, so this is a bug in the runner: the lease runs out and the
            # item is claimed again.
            log.error("work_lost", error=type(error).__name__, exc_info=error)

    async def _run_attempt(self, item: WorkItem) -> None:
        """Run one attempt at the item, and record in the database and log how it ended."""
        kind = self._kinds[item.kind]
        started = asyncio.get_running_loop().time()
        outcome: str | None = "left_to_lease"
        detail = None
        try:
            outcome = await self._run_item(item, kind)
        except asyncio.CancelledError:
            outcome = "handed_back"
            await self._write_with_retry(item, lambda tx: _hand_back(tx, item))
            raise
        except LeaseLost:
            outcome = "taken_over"
        except Exception as error:  # the job boundary: whatever a handler raises becomes a retry or a parked row
            detail = error
            outcome = await self._record_failure(item, kind, error)
        finally:
            ms = round((asyncio.get_running_loop().time() - started) * 1000, 1)
            if outcome is not None:
                _log_outcome(item, outcome, detail, ms=ms)

    async def _run_item(self, item: WorkItem, kind: JobKind) -> str | None:
        """Run the work item here or in a child process; return its outcome, or None where the child recorded it."""
        if item.deaths >= MAX_DEATHS:
            raise WorkerDied(
                f"Its worker died or froze {item.deaths} times in a row while it had this item; it is not tried again."
            )
        if self._isolation is None or not self._runs_alone(item):
            return await self._run_handler(item, kind)
        item_log = _item_log(item)
        item_log.info("work_isolated", time_limit_s=kind.time_limit.total_seconds())
        child = ItemProcess(self._isolation, item, kind.time_limit)
        async with supervise("lease_keeper", lambda: self._keep_lease(item, kind.lease, child.deadline)):
            await child.run()
        return None

    async def _run_handler(self, item: WorkItem, kind: JobKind) -> str:
        """Run the item's handler within lease and time limit, settle it unless the handler did; return the outcome."""
        limit = kind.time_limit
        bound = asyncio.timeout(limit.total_seconds())
        attempt = Attempt(item, bound=bound, limit=limit, on_progress=self._on_progress)
        async with supervise("lease_keeper", lambda: self._keep_lease(item, kind.lease, bound.when)):
            try:
                async with bound:
                    with (
                        bound_contextvars(job=item.job_id),
                        span("work", kind=item.kind, org=item.org_id, job=item.job_id, attempt=item.attempts),
                    ):
                        await kind.run(attempt)
                    # Only where the handler had no effect of its own to settle with in one transaction (decision 4).
                    if not attempt.settled:
                        await self._settle_work(item)
                    return "repeated" if attempt.repeated else "done"
            except TimeoutError as error:
                if not bound.expired():
                    raise
                raise WorkTimedOut(
                    f"It took longer than {limit.total_seconds():g} s without progress and was stopped."
                ) from error

    # One by one: groups of settled items were not faster, and locked rows of many people in no common order.
    async def _settle_work(self, item: WorkItem) -> None:
        """Delete a finished item's `work` row in a transaction of its own."""
        async with self._db.tx(item.org_id) as tx:
            await store.settle_work(tx, item)

    async def _record_failure(self, item: WorkItem, kind: JobKind, error: Exception) -> str:
        """Make the failed work item due again after its backoff, or park it; return `failed`, `parked` or the like."""
        # The row must hold no content, so only the type of a foreign error is stored: its message may quote some.
        message = f"{error.code}: {error.detail}" if isinstance(error, MnemonError) else type(error).__name__
        deaths = _deaths_after(item, error)
        last = isinstance(error, WorkerDied) or (isinstance(error, WorkTimedOut) and deaths >= MAX_TIMEOUTS)
        delay = None if last else kind.retry.delay_after(item.attempts, random.random())  # noqa: S311  jitter, not a secret

        async def write_outcome(tx: Tx) -> None:
            """Release the item with its backoff, or park it, telling its room first."""
            if delay is not None:
                due_at = tx.now + delay
                await store.release_work(tx, item, due_at=due_at, attempts=item.attempts, error=message, deaths=deaths)
                return
            if kind.on_park is not None:  # lock order: the work's own row is locked last everywhere
                await kind.on_park(tx, item, message)
            await store.park_work(tx, item, message)

        if not await self._write_with_retry(item, write_outcome):
            return "left_to_lease"
        return "parked" if delay is None else "failed"

    async def _write_with_retry(self, item: WorkItem, write: Callable[[Tx], Awaitable[None]]) -> bool:
        """Write a work item's outcome, retrying while the database is unavailable; return whether it was written.

        If it was not, the item stays leased: when its lease runs out, any runner claims it.
        """
        for tries in range(_RECORD_TRIES):
            try:
                async with self._db.tx(item.org_id) as tx:
                    await write(tx)
            except LeaseLost:
                return True  # another runner has the item and will write its outcome
            except Unavailable:
                await asyncio.sleep(min(0.05 * 2**tries, 1.0))
            else:
                return True
        return False

    async def _keep_lease(self, item: WorkItem, lease: timedelta, until: Callable[[], float | None]) -> None:
        """Renew the item's lease at every third of it while the attempt is within its time limit.

        Past the limit the attempt was told to stop. One that does not must not keep the item from others forever.
        """
        kept = True
        while kept:
            await asyncio.sleep(lease.total_seconds() / 3)
            end = until()
            if end is None or end <= asyncio.get_running_loop().time():
                break
            async with self._db.tx(item.org_id) as tx:
                kept = await store.renew_lease(tx, item, tx.now + lease)
        await asyncio.Event().wait()  # wait to be cancelled, since the supervisor restarts what returns

    async def _listen_for_work(self) -> None:
        """Wake the runner when any process enqueues work, by PostgreSQL's LISTEN."""
        async with self._db.listen("mnemon_work") as connection:
            self._wake.set()  # work may have been enqueued before the connection listened
            async for _ in connection.notifies():
                self._wake.set()


async def _hand_back(tx: Tx, item: WorkItem) -> None:
    """Queue the work item again without counting the attempt: the runner stops, and the item did not fail."""
    await store.release_work(tx, item, due_at=tx.now, attempts=item.attempts - 1, error=None, deaths=item.deaths)


def _deaths_after(item: WorkItem, error: Exception) -> int:
    """Return the item's count of lost workers: one more after a timeout, the same if no child started, else 0."""
    if isinstance(error, WorkTimedOut):
        return item.deaths + 1
    return item.deaths if isinstance(error, ChildNotStarted) else 0


def _item_log(item: WorkItem) -> structlog.stdlib.BoundLogger:
    """Return a logger bound to the work item's kind, key, organization, job and attempt."""
    item_log: structlog.stdlib.BoundLogger = log.bind(
        kind=item.kind, key=item.key, org=item.org_id, job=item.job_id, attempt=item.attempts
    )
    return item_log


def _log_outcome(item: WorkItem, outcome: str, error: Exception | None, *, ms: float) -> None:
    """Log the end of an item's attempt in one line `work_finished`, with the next step where it failed."""
    item_log = _item_log(item).bind(ms=ms)
    if error is None:
        item_log.info("work_finished", outcome=outcome)
        return
    code = error.code if isinstance(error, MnemonError) else type(error).__name__
    item_log.warning(
        "work_finished",
        outcome=outcome,
        error=code,
        next_step=next_step_after(outcome, error, item),
        exc_info=None if isinstance(error, MnemonError) else error,
    )
