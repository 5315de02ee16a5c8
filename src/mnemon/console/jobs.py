"""Jobs: what is queued, running or parked, and running it again."""

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.shell import Shown, Went, action, page
from mnemon.console.visit import Visit
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.jobs import store
from mnemon.jobs.work import Status
from mnemon.memory.vectors.store import MemoryTexts
from mnemon.notes.vectors import NoteTexts
from mnemon.reflection.store import reflected

router = APIRouter()
MOST = 200


@page(router, "/jobs", "jobs.html", grant=Grant.JOBS)
async def jobs(visit: Visit) -> Shown:
    """The organization's work, with how much of each, and how far what goes on behind it is."""
    wanted, kind = visit.asked("status"), visit.asked("kind")
    status = Status(wanted) if wanted in set(Status) else None
    async with visit.tx() as tx:
        shown = await store.jobs(tx, visit.org, most=MOST, status=status, kind=kind or None)
        kinds = await store.kinds(tx, visit.org)
        progress = await _progress(visit, tx)
    data = {
        "jobs": shown,
        "counts": {one.value: sum(numbers[one] for numbers in kinds.values()) for one in Status},
        "kinds": {name: sum(numbers.values()) for name, numbers in kinds.items()},
        "progress": progress,
        "status": wanted,
        "kind": kind,
        "now": tx.now,
        "most": MOST,
    }
    return Shown(title="Jobs", data=data)


async def _progress(visit: Visit, tx: Tx) -> list[dict[str, object]]:
    """What is worked off over and over: turns that are reflected, texts that have their vector."""
    done, every = await reflected(tx, visit.org)
    model = visit.basement.embedder.model
    counted = [await texts.counted(tx, visit.org, model) for texts in (MemoryTexts(), NoteTexts())]
    vectors, texts = sum(one.done for one in counted), sum(one.texts for one in counted)
    return [
        {"what": "Turns reflected", "done": done, "of": every},
        {"what": f"Texts with a vector of {model}", "done": min(vectors, texts), "of": texts},
    ]


@action(router, "/jobs/{job_id}/retry", grant=Grant.JOBS_WRITE)
async def retry(visit: Visit, form: dict[str, str], job_id: str) -> Went:
    """The job is due at once, with all its tries."""
    async with visit.tx() as tx:
        if not await store.retry(tx, visit.org, job_id):
            raise NotFound("job that waits")
        visit.note(tx, "run job again", job_id)
    return Went(to="/jobs", notice="The job runs again now.")
