"""`/api/jobs`: the organization's jobs that are queued, running or parked."""

from typing import Annotated, Literal, Self

from fastapi import APIRouter, Query, Response

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.models import ApiModel, Instant, decode_cursor
from mnemon.db.tx import Tx
from mnemon.errors import Conflict, NotFound
from mnemon.jobs import store
from mnemon.jobs.work import Job, WorkStatus

router = APIRouter(prefix="/api/jobs", tags=["jobs"], route_class=JsonRoute)


KindOfJob = Literal[
    "agent-chat",
    "agent-removal",
    "curate",
    "embed",
    "expiry",
    "heartbeat",
    "keep_ledger",
    "match_entities",
    "note_sweep",
    "reflection",
    "run",
    "session_close",
    "spine",
]
"""The kinds of jobs by which the list can be filtered: those of `all_job_kinds`, which a test compares."""


class JobOut(ApiModel):
    """A job of the work queue."""

    id: str
    kind: str
    key: str
    status: WorkStatus
    attempts: int
    enqueued_at: Instant
    due_at: Instant
    parked_at: Instant | None
    error: str | None
    waits_for: str | None
    """The id of an earlier job of the same session that must finish first; null if there is none."""

    @classmethod
    def from_job(cls, job: Job) -> Self:
        """Return the response for a job of the work queue."""
        return cls(
            id=job.id,
            kind=job.kind,
            key=job.key,
            status=job.status,
            attempts=job.attempts,
            enqueued_at=job.enqueued_at,
            due_at=job.due_at,
            parked_at=job.parked_at,
            error=job.error,
            waits_for=job.waits_for,
        )


@router.get("", responses=responses_for(JobOut, page=True))
async def list_jobs(
    door: Annotated[Door, needs(Grant.JOBS)],
    status: WorkStatus | None = None,
    kind: KindOfJob | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Response:
    """List jobs, oldest first; finished ones are removed from the queue."""
    after = decode_cursor(cursor) or ""
    async with door.tx() as tx:
        jobs = await store.list_jobs(tx, door.org, after=after, most=limit + 1, status=status, kind=kind)
    return door.page([JobOut.from_job(job) for job in jobs], limit=limit, position=lambda job: job.id)


@router.post("/{job_id}/retry", responses=write_responses(JobOut))
async def retry_job(job_id: str, door: Annotated[Door, needs(Grant.JOBS_WRITE)]) -> Response:
    """Make a job due at once, with all its attempts again."""

    async def make_due(tx: Tx) -> Job:
        """Make the job due now and return it; raise NotFound, or Conflict while it runs."""
        # Read in any case: the response shows the job as it is now, and an unknown one is not a running one.
        touched = await store.retry_job(tx, door.org, job_id)
        job = await store.load_job(tx, door.org, job_id)
        if job is None:
            raise NotFound("job")
        if not touched:
            raise Conflict("The job is running now. Wait for it to finish.", code="job_running")
        return job

    return await door.write(make_due, JobOut.from_job)
