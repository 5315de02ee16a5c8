"""Jobs: what is queued, running or parked, and running it again."""

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.shell import Shown, Visit, Went, action, page
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
        every = await store.jobs(tx, visit.org, most=MOST)
    counts = {name.value: sum(job.status is name for job in every) for name in Status}
    shown = [job for job in every if status is None or job.status is status]
    return Shown(title="Jobs", data={"jobs": shown, "counts": counts, "status": wanted, "now": tx.now, "most": MOST})


@action(router, "/jobs/{job_id}/retry", grant=Grant.JOBS)
async def retry(visit: Visit, form: dict[str, str], job_id: str) -> Went:
    """The job is due at once, with all its tries."""
    async with visit.tx() as tx:
        if not await store.retry(tx, visit.org, job_id):
            raise NotFound("job that waits")
    return Went(to="/jobs", notice="The job runs again now.")
