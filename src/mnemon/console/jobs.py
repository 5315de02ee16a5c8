"""Jobs: what is queued, running or parked, and running it again."""

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.shell import Shown, Went, action, page
from mnemon.console.visit import Visit
from mnemon.errors import NotFound
from mnemon.jobs import store
from mnemon.jobs.work import Status

router = APIRouter()
MOST = 200


@page(router, "/jobs", "jobs.html", grant=Grant.JOBS)
async def jobs(visit: Visit) -> Shown:
    """The organization's work, with how much of each."""
    wanted = visit.asked("status")
    status = Status(wanted) if wanted in set(Status) else None
    async with visit.tx() as tx:
        shown = await store.jobs(tx, visit.org, most=MOST, status=status)
        counts = {name.value: number for name, (number, _) in (await store.standing(tx, visit.org)).items()}
    return Shown(title="Jobs", data={"jobs": shown, "counts": counts, "status": wanted, "now": tx.now, "most": MOST})


@action(router, "/jobs/{job_id}/retry", grant=Grant.JOBS)
async def retry(visit: Visit, form: dict[str, str], job_id: str) -> Went:
    """The job is due at once, with all its tries."""
    async with visit.tx() as tx:
        if not await store.retry(tx, visit.org, job_id):
            raise NotFound("job that waits")
        await visit.note(tx, "run job again", job_id)
    return Went(to="/jobs", notice="The job runs again now.")
