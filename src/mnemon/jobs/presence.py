"""Worker liveness: each worker reports every few seconds, and `judge_workers` decides whether due work is claimed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from mnemon.clock import SystemClock
from mnemon.db.database import Database
from mnemon.errors import Unavailable
from mnemon.jobs import store
from mnemon.jobs.work import Worker
from mnemon.scope import new_id
from mnemon.supervisor import supervise

REPORT_EVERY_S = 5.0
SILENT_AFTER = timedelta(seconds=30)
"""A worker that has not reported, or not looked for work, for this long does not count."""
OVERDUE_AFTER = timedelta(seconds=60)
"""How long due work may wait before the lack of workers is a fault."""


class WorkerPresence:
    """The liveness report of one runner."""

    def __init__(self, db: Database, *, slots: int) -> None:
        """Begin with this process's worker as alive and claiming now."""
        self._db = db
        # Liveness follows the wall clock, not the application's clock, which a test may move.
        self._time = SystemClock()
        now = self._time.now()
        self.worker = Worker(
            worker_id=new_id("wrk", now), started_at=now, seen_at=now, claimed_at=now, slots=slots, busy=0
        )

    def note_claim(self, *, busy: int) -> None:
        """Record in memory that the runner has just looked for work, or had no free slot."""
        now = self._time.now()
        self.worker = _updated_worker(self.worker, seen_at=now, claimed_at=now, busy=busy)

    @asynccontextmanager
    async def keep_reporting(self) -> AsyncIterator[None]:
        """Report the worker to the table `workers` while the block lasts, and delete its row at the end."""
        # By a task of its own: a runner that is stuck is then seen as alive, but not claiming.
        async with supervise("worker_presence", self._report_forever):
            yield
        with suppress(Unavailable):  # then the report just goes stale
            async with self._db.tx(None) as tx:
                await store.delete_worker(tx, self.worker.worker_id)

    async def _report_forever(self) -> None:
        """Write the worker's row in the table `workers` every 5 seconds, until cancelled."""
        while True:
            async with self._db.tx(None) as tx:
                await store.record_worker(tx, _updated_worker(self.worker, seen_at=self._time.now()))
            await asyncio.sleep(REPORT_EVERY_S)


def _updated_worker(
    worker: Worker, *, seen_at: datetime, claimed_at: datetime | None = None, busy: int | None = None
) -> Worker:
    """Return the worker as seen at this time, with new claim time and number of running items if given."""
    return Worker(
        worker_id=worker.worker_id,
        started_at=worker.started_at,
        seen_at=seen_at,
        claimed_at=claimed_at or worker.claimed_at,
        slots=worker.slots,
        busy=worker.busy if busy is None else busy,
    )


@dataclass(frozen=True, kw_only=True)
class WorkerVerdict:
    """Whether work is being done."""

    alive: int
    """Workers that reported lately."""
    claiming: int
    """Those of them that also looked for due work lately."""
    slots: int
    """Items that the claiming ones run at a time."""
    busy: int
    fault: str | None
    """Why the server is not ready, as a code; None when it is."""


def judge_workers(
    workers: Sequence[Worker], *, now: datetime, overdue: timedelta | None, own: Worker | None = None
) -> WorkerVerdict:
    """Return how many workers are alive and claim work, and the fault that `/readyz` reports, if any.

    `overdue` is how long the oldest claimable item has been due; `own` is the worker of this process, whose state is
    known without its report: that may be missing because the database was unreachable.
    """
    known = {one.worker_id: one for one in workers}
    if own is not None:
        known[own.worker_id] = own
    alive = [one for one in known.values() if now - max(one.seen_at, one.claimed_at) <= SILENT_AFTER]
    claiming = [one for one in alive if now - one.claimed_at <= SILENT_AFTER]
    # A stuck worker of this process is a fault even while other processes claim work.
    fault = None
    if own is not None and own not in claiming:
        fault = "worker_stuck"
    elif not claiming and overdue is not None and overdue > OVERDUE_AFTER:
        fault = "no_worker"
    return WorkerVerdict(
        alive=len(alive),
        claiming=len(claiming),
        slots=sum(one.slots for one in claiming),
        busy=sum(one.busy for one in claiming),
        fault=fault,
    )
