"""`/healthz`, `/readyz` and `/metrics`: whether the process runs, whether it can serve, and its metrics."""

import asyncio
import math
from collections.abc import Callable

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

from mnemon.api.door import JsonRoute
from mnemon.api.models import ApiModel
from mnemon.clock import SystemClock
from mnemon.db.database import Database
from mnemon.db.migrate import revoked_tables
from mnemon.errors import DatabaseDown, Unavailable
from mnemon.jobs import store as jobs
from mnemon.jobs.presence import SILENT_AFTER, WorkerPresence, judge_workers

router = APIRouter(tags=["health"], route_class=JsonRoute)
DATABASE_METRICS = CollectorRegistry()
"""Metrics that are read from the database at each scrape; a worker's own `/metrics` does not have them."""
WORK_ITEMS = Gauge("mnemon_work_items", "Work items by kind and status.", ("kind", "status"), registry=DATABASE_METRICS)
WORKERS = Gauge(
    "mnemon_workers",
    "Workers that reported in the last 30 seconds; NaN while the database is away.",
    registry=DATABASE_METRICS,
)
WORK_LAG = Gauge(
    "mnemon_work_lag_seconds",
    "How long the oldest item of a kind that a worker could take has been due.",
    ("kind",),
    registry=DATABASE_METRICS,
)

DATABASE_UP = Gauge(
    "mnemon_database_up", "Whether the database answered when these figures were asked for.", registry=DATABASE_METRICS
)
CHECK_TIMEOUT_S = 3.0
METRICS_TIMEOUT_S = 2.0
READINESS_FAULTS = {
    "database_forbidden": "The role mnemon_app may not read or write a table that the server needs. Run `mnemon "
    "migrate` with the owner's URL: it grants what is missing. `mnemon doctor` names the tables.",
    "database_read_only": "The database is read-only, as a standby is during a failover: reads work, writes and jobs "
    "wait. If it stays so, point MNEMON_DATABASE_URL at the primary.",
    "worker_stuck": "The worker of this process has not looked for due work for 30 seconds. Its log says why; "
    "restart the server if it does not recover by itself.",
    "no_worker": "Due work has waited for more than a minute and no worker takes it. "
    "Start one with `mnemon worker`, or `mnemon serve` without --no-worker.",
}


class Health(ApiModel):
    """The state of the process."""

    status: str
    version: str


class Workers(ApiModel):
    """The workers of the installation and their capacity."""

    alive: int
    """Workers that reported in the last 30 seconds, this process's included."""
    claiming: int
    """Those of them that are looking for due work."""
    slots: int
    busy: int


class Ready(ApiModel):
    """The state of the database and of the work queue."""

    status: str
    database: str
    jobs: dict[str, int]
    workers: Workers
    overdue_seconds: float
    """How long the oldest claimable item has been due."""


@router.get("/healthz", responses={200: {"model": Health}})
async def healthz(request: Request) -> Response:
    """Answer 200 while the process runs."""
    return _json_response(Health(status="ok", version=request.app.version))


@router.get("/readyz", responses={200: {"model": Ready}})
async def readyz(request: Request) -> Response:
    """Answer 200 when the database answers and due work is being taken, else 503 with the reason, within 3 seconds."""
    readiness: Readiness = request.app.state.readiness
    return _json_response(await readiness.check_ready())


def _json_response(data: ApiModel) -> Response:
    """Return the model as a JSON response with its API field names, without the `data` and `meta` envelope."""
    return Response(data.model_dump_json(by_alias=True), media_type="application/json")


class Readiness:
    """The readiness check; concurrent requests share the one that is running."""

    def __init__(self, db: Database, own: Callable[[], WorkerPresence | None]) -> None:
        """Check this database; `own` returns the presence of this process's worker, None without one."""
        self._db = db
        self._own = own
        self._look: asyncio.Task[Ready] | None = None

    async def check_ready(self) -> Ready:
        """Return the state of queue and workers, or raise Unavailable; a hanging check is left to its own timeout."""
        # Shared, so that many probes at a database that hangs do not take up its connections.
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(self._run_check())
            # Every caller may have timed out by the time it ends.
            self._look.add_done_callback(_consume_exception)
        done, _ = await asyncio.wait({self._look}, timeout=CHECK_TIMEOUT_S)
        if not done:
            raise DatabaseDown(f"The database did not answer within {CHECK_TIMEOUT_S:g} s. `mnemon doctor` tells why.")
        return await self._look

    async def _run_check(self) -> Ready:
        """Read queue, workers, privileges and disk; return the counts, or raise Unavailable with the first fault."""
        # By the wall clock, as workers report themselves, and not by MNEMON_CLOCK_FILE.
        now = SystemClock().now()
        async with self._db.tx(None, within_s=CHECK_TIMEOUT_S) as tx:
            rows, (since, read_only), reported, revoked = await tx.gather(
                jobs.installation_counts(tx),
                jobs.overdue_since(tx),
                jobs.list_workers(tx, since=now - SILENT_AFTER),
                revoked_tables(tx),
            )
        if read_only:
            raise DatabaseDown(READINESS_FAULTS["database_read_only"], code="database_read_only")
        if revoked:
            raise DatabaseDown(READINESS_FAULTS["database_forbidden"], code="database_forbidden")
        # On a full disk reads still work, and so do writes that fit into an existing page.
        if self._db.disk_full:
            await self._db.check_disk(CHECK_TIMEOUT_S)
        own = self._own()
        overdue = None if since is None else tx.now - since
        verdict = judge_workers(reported, now=now, overdue=overdue, own=own.worker if own else None)
        if verdict.fault is not None:
            raise Unavailable(READINESS_FAULTS[verdict.fault], code=verdict.fault)
        by_status: dict[str, int] = {"queued": 0, "running": 0, "parked": 0}
        for row in rows:
            by_status[row["status"]] += row["number"]
        workers = Workers(alive=verdict.alive, claiming=verdict.claiming, slots=verdict.slots, busy=verdict.busy)
        seconds = 0.0 if overdue is None else overdue.total_seconds()
        return Ready(status="ready", database="ok", jobs=by_status, workers=workers, overdue_seconds=seconds)


def _consume_exception(look: asyncio.Task[Ready]) -> None:
    """Retrieve a finished check's exception, so that asyncio does not log it as never retrieved."""
    if not look.cancelled():
        look.exception()


@router.get(
    "/metrics",
    responses={200: {"content": {CONTENT_TYPE_LATEST: {}}}},
    response_class=Response,
)
async def metrics(request: Request) -> Response:
    """Return metrics for Prometheus, without any organization's content; while the database is down, the process's."""
    try:
        await _measure_work(request.app.state.services.db)
    except Unavailable:  # an outage is when the process's own metrics are needed most
        DATABASE_UP.set(0)
        WORKERS.set(math.nan)
        WORK_ITEMS.clear()
        WORK_LAG.clear()
    else:
        DATABASE_UP.set(1)
    return Response(generate_latest() + generate_latest(DATABASE_METRICS), media_type=CONTENT_TYPE_LATEST)


async def _measure_work(db: Database) -> None:
    """Set the Prometheus gauges of the work queue from the database."""
    async with db.tx(None, within_s=METRICS_TIMEOUT_S) as tx:
        rows, alive = await tx.gather(
            jobs.installation_counts(tx), jobs.list_workers(tx, since=SystemClock().now() - SILENT_AFTER)
        )
    WORKERS.set(len(alive))
    # A kind without items must disappear, not keep its last value.
    WORK_ITEMS.clear()
    WORK_LAG.clear()
    for row in rows:
        WORK_ITEMS.labels(row["kind"], row["status"]).set(row["number"])
        if row["status"] == "queued":
            waited = 0.0 if row["overdue"] is None else (tx.now - row["overdue"]).total_seconds()
            WORK_LAG.labels(row["kind"]).set(max(0.0, waited))
