"""Whether the process lives, whether it can serve, and its figures."""

import asyncio
import math
from collections.abc import Callable

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

from mnemon.api.door import documented
from mnemon.api.json_route import JsonRoute
from mnemon.api.wire import Wire
from mnemon.clock import SystemClock
from mnemon.db.database import Database
from mnemon.errors import DatabaseDown, Unavailable
from mnemon.jobs import store as jobs
from mnemon.jobs.presence import SILENT_AFTER, Presence, judge

router = APIRouter(tags=["health"], route_class=JsonRoute)
STORED = CollectorRegistry()
"""Figures that are read from the database when they are asked for; a worker's own `/metrics` does not have them."""
WORK = Gauge("mnemon_work_items", "Work items by kind and status.", ("kind", "status"), registry=STORED)
WORKERS = Gauge(
    "mnemon_workers", "Workers that reported in the last 30 seconds; NaN while the database is away.", registry=STORED
)
LAG = Gauge(
    "mnemon_work_lag_seconds",
    "How long the oldest item of a kind that a worker could take has been due.",
    ("kind",),
    registry=STORED,
)

DATABASE = Gauge(
    "mnemon_database_up", "Whether the database answered when these figures were asked for.", registry=STORED
)
LOOK_S = 3.0
METRICS_S = 2.0
FAULTS = {
    "database_read_only": "The database is read-only, as a standby is during a failover: reads work, writes and jobs "
    "wait. If it stays so, point MNEMON_DATABASE_URL at the primary.",
    "worker_stuck": "The worker of this process has not looked for due work for 30 seconds. Its log says why; "
    "restart the server if it does not recover by itself.",
    "no_worker": "Due work has waited for more than a minute and no worker takes it. "
    "Start one with `mnemon worker`, or `mnemon serve` without --no-worker.",
}


class Health(Wire):
    status: str
    version: str


class Workers(Wire):
    alive: int
    """Workers that reported in the last 30 seconds, this process's included."""
    claiming: int
    """Those of them that look for due work."""
    slots: int
    busy: int


class Ready(Wire):
    status: str
    database: str
    jobs: dict[str, int]
    workers: Workers
    overdue_seconds: float
    """How long the oldest claimable item has been due."""


@router.get("/healthz", responses={200: {"model": Health}})
async def healthz(request: Request) -> Health:
    """The process is alive."""
    return Health(status="ok", version=request.app.version)


@router.get("/readyz", responses={**documented(problems=(413, 503)), 200: {"model": Ready}})
async def readyz(request: Request) -> Ready:
    """Answer 200 when the database answers and due work is being taken, else 503 with the reason, within 3 seconds."""
    readiness: Readiness = request.app.state.readiness
    return await readiness.check()


class Readiness:
    """Looks whether the server can serve; however many ask, one look is under way at a time."""

    def __init__(self, db: Database, own: Callable[[], Presence | None]) -> None:
        self._db = db
        self._own = own
        self._look: asyncio.Task[Ready] | None = None

    async def check(self) -> Ready:
        """Give the state of things, or raise Unavailable. A look that hangs ends by itself soon after."""
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(self._ready())
            self._look.add_done_callback(_hear)  # by then nobody may be waiting for it
        done, _ = await asyncio.wait({self._look}, timeout=LOOK_S)
        if not done:
            raise DatabaseDown(f"The database did not answer within {LOOK_S:g} s. `mnemon doctor` tells why.")
        return await self._look

    async def _ready(self) -> Ready:
        now = SystemClock().now()
        async with self._db.tx(None, within_s=LOOK_S) as tx:
            rows, (since, read_only), reported = await tx.together(
                jobs.counts(tx), jobs.overdue_since(tx), jobs.workers(tx, since=now - SILENT_AFTER)
            )
        if read_only:
            raise DatabaseDown(FAULTS["database_read_only"], code="database_read_only")
        own = self._own()
        overdue = None if since is None else tx.now - since
        verdict = judge(reported, now=now, overdue=overdue, own=own.worker if own else None)
        if verdict.fault is not None:
            raise Unavailable(FAULTS[verdict.fault], code=verdict.fault)
        by_status: dict[str, int] = {"queued": 0, "running": 0, "parked": 0}
        for row in rows:
            by_status[row["status"]] += row["number"]
        workers = Workers(alive=verdict.alive, claiming=verdict.claiming, slots=verdict.slots, busy=verdict.busy)
        seconds = 0.0 if overdue is None else overdue.total_seconds()
        return Ready(status="ready", database="ok", jobs=by_status, workers=workers, overdue_seconds=seconds)


def _hear(look: asyncio.Task[Ready]) -> None:
    if not look.cancelled():
        look.exception()


@router.get(
    "/metrics",
    responses={200: {"content": {CONTENT_TYPE_LATEST: {}}}, **documented(problems=(413,))},
    response_class=Response,
)
async def metrics(request: Request) -> Response:
    """Figures for Prometheus; no content of any organization. While the database is away, the process's own."""
    try:
        await _measure_work(request.app.state.basement.db)
    except Unavailable:  # monitoring must not go blind in an outage
        DATABASE.set(0)
        WORKERS.set(math.nan)
        WORK.clear()
        LAG.clear()
    else:
        DATABASE.set(1)
    return Response(generate_latest() + generate_latest(STORED), media_type=CONTENT_TYPE_LATEST)


async def _measure_work(db: Database) -> None:
    """Set the figures that stand in the database."""
    async with db.tx(None, within_s=METRICS_S) as tx:
        rows, alive = await tx.together(jobs.counts(tx), jobs.workers(tx, since=SystemClock().now() - SILENT_AFTER))
    WORKERS.set(len(alive))
    WORK.clear()
    LAG.clear()
    for row in rows:
        WORK.labels(row["kind"], row["status"]).set(row["number"])
        if row["status"] == "queued":
            waited = 0.0 if row["overdue"] is None else (tx.now - row["overdue"]).total_seconds()
            LAG.labels(row["kind"]).set(max(0.0, waited))
