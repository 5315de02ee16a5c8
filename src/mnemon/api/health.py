"""Whether the process lives, whether it can serve, and its figures."""

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, Gauge, generate_latest

from mnemon.api.door import documented
from mnemon.api.wire import Wire
from mnemon.jobs import store as jobs

router = APIRouter(tags=["health"])
WORK = Gauge("mnemon_work_items", "Work items by kind and status.", ("kind", "status"))
LAG = Gauge("mnemon_work_lag_seconds", "How long the oldest due item of a kind has waited.", ("kind",))


class Health(Wire):
    status: str
    version: str


class Ready(Wire):
    status: str
    database: str
    jobs: dict[str, int]


@router.get("/healthz", responses={200: {"model": Health}})
async def healthz(request: Request) -> Health:
    """The process is alive."""
    return Health(status="ok", version=request.app.version)


@router.get("/readyz", responses={**documented(), 200: {"model": Ready}})
async def readyz(request: Request) -> Ready:
    """The database answers and jobs are being taken."""
    async with request.app.state.basement.db.tx(None) as tx:
        rows = await jobs.counts(tx)
    by_status: dict[str, int] = {"queued": 0, "running": 0, "parked": 0}
    for row in rows:
        by_status[row["status"]] += row["number"]
    return Ready(status="ready", database="ok", jobs=by_status)


@router.get(
    "/metrics", responses={200: {"content": {CONTENT_TYPE_LATEST: {}}}, **documented()}, response_class=Response
)
async def metrics(request: Request) -> Response:
    """Figures for Prometheus; no content of any organization."""
    async with request.app.state.basement.db.tx(None) as tx:
        rows = await jobs.counts(tx)
    WORK.clear()
    LAG.clear()
    for row in rows:
        WORK.labels(row["kind"], row["status"]).set(row["number"])
        if row["status"] == "queued":
            LAG.labels(row["kind"]).set(max(0.0, (tx.now - row["oldest"]).total_seconds()))
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
