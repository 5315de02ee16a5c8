"""Page of jobs: what is queued, running or parked, and the action to retry one."""

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.page_request import PageRequest
from mnemon.console.pages import ActionRedirect, PageContent, action, page
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.jobs import store
from mnemon.jobs.work import WorkStatus
from mnemon.memory.vector_store import MemoryTexts
from mnemon.notes.upkeep import NoteTexts
from mnemon.reflection.store import count_reflected

router = APIRouter()
MAX_JOBS = 200


@page(router, "/jobs", "jobs.html", grant=Grant.JOBS)
async def jobs(visit: PageRequest) -> PageContent:
    """Show the page of the organization's jobs, counts by status and kind, and progress of reflection and embedding."""
    wanted, kind = visit.asked("status"), visit.asked("kind")
    # An unknown status in the address shows everything instead of an error.
    status = WorkStatus(wanted) if wanted in set(WorkStatus) else None
    async with visit.tx() as tx:
        shown = await store.list_jobs(tx, visit.org_scope, most=MAX_JOBS, status=status, kind=kind or None)
        kinds = await store.kind_counts(tx, visit.org_scope)
        progress = await _background_progress(visit, tx)
    data = {
        "jobs": shown,
        "counts": {one.value: sum(numbers[one] for numbers in kinds.values()) for one in WorkStatus},
        "kinds": {name: sum(numbers.values()) for name, numbers in kinds.items()},
        "progress": progress,
        "status": wanted,
        "kind": kind,
        "now": tx.now,
        "most": MAX_JOBS,
    }
    return PageContent(title="Jobs", data=data)


async def _background_progress(visit: PageRequest, tx: Tx) -> list[dict[str, object]]:
    """Return for reflection and embedding how many turns or texts are done, of how many."""
    done, every = await count_reflected(tx, visit.org_scope)
    model = visit.services.embedder.model
    counted = [await texts.count_vectors(tx, visit.org_scope, model) for texts in (MemoryTexts(), NoteTexts())]
    vectors, texts = sum(one.done for one in counted), sum(one.texts for one in counted)
    return [
        {"what": "Turns reflected", "done": done, "of": every},
        {"what": f"Texts with a vector of {model}", "done": min(vectors, texts), "of": texts},
    ]


@action(router, "/jobs/{job_id}/retry", grant=Grant.JOBS_WRITE)
async def retry(visit: PageRequest, form: dict[str, str], job_id: str) -> ActionRedirect:
    """Make the job due now, with all its attempts again; raise NotFound unless it is waiting."""
    async with visit.tx() as tx:
        if not await store.retry_job(tx, visit.org_scope, job_id):
            raise NotFound("job that waits")
        visit.audit_write(tx, "run job again", job_id)
    return ActionRedirect(to="/jobs", notice="The job is queued to run now.")
