"""Statements on the `work` and `workers` tables.

A claim carries a token. Every later statement on the item names that token, so that a runner whose lease ran out and
whose item was claimed again changes nothing: it gets LeaseLost.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.jobs.work import Job, LeaseLost, Worker, WorkItem, WorkStatus, work_status
from mnemon.scope import Scope

SQL = load_statements("mnemon.jobs")
RESERVATION = "reservation"
"""The kind of the row that reserves an organization's work for one runner."""


class WorkSchedule(TypedDict, total=False):
    """When queued work may run.

    Items of one lane run one at a time in the order of `seq`; a parked one does not hold up the others.
    """

    due_at: datetime | None
    lane: str | None
    seq: int


async def enqueue_work(tx: Tx, scope: Scope, kind: str, key: str, **when: Unpack[WorkSchedule]) -> str:
    """Queue work in the caller's transaction; return its job id, that of earlier work if it was queued before."""
    row = await tx.fetch_one(SQL["enqueue"], **_work_params(tx, scope, kind, key, when))
    return str(row["job_id"])


def enqueue_work_deferred(tx: Tx, scope: Scope, kind: str, key: str, **when: Unpack[WorkSchedule]) -> str:
    """Queue the work with the transaction's next statement; the transaction must have locked the person.

    Returns the job id that the work has if it was not queued before.
    """
    queued = _work_params(tx, scope, kind, key, when)
    tx.defer(SQL["enqueue"], **queued)
    return str(queued["job_id"])


def _work_params(tx: Tx, scope: Scope, kind: str, key: str, when: WorkSchedule) -> dict[str, Any]:
    """Return the parameters of the statement that queues work, with a new job id."""
    return {
        "org_id": scope.org_id,
        "kind": kind,
        "key": key,
        "job_id": tx.new_id("job"),
        "lane": when.get("lane"),
        "seq": when.get("seq", 0),
        "now": tx.now,
        "due_at": when.get("due_at") or tx.now,
    }


async def postpone_work(tx: Tx, scope: Scope, kind: str, key: str, *, due_at: datetime) -> None:
    """Set the work's due time, later or earlier than before; queue it if it is missing or parked."""
    await tx.execute(
        SQL["postpone"],
        org_id=scope.org_id,
        kind=kind,
        key=key,
        job_id=tx.new_id("job"),
        now=tx.now,
        due_at=due_at,
    )


async def cancel_work(tx: Tx, scope: Scope, kind: str, key: str) -> bool:
    """Delete the work unless it is running; return whether it was deleted."""
    return await tx.execute(SQL["cancel"], org_id=scope.org_id, kind=kind, key=key) > 0


async def reserve_organization(tx: Tx, scope: Scope, *, lease_until: datetime) -> WorkItem | None:
    """Reserve the organization's work for a runner made for it; return the reservation, or None if another has it.

    The reservation is a work item like any other: it is renewed and settled, and after its lease ran out any runner
    may claim it.
    """
    # A row rather than an advisory lock, which would hold a transaction open for as long (decision 4).
    row = await tx.fetch_one_or_none(
        SQL["reserve"],
        org_id=scope.org_id,
        kind=RESERVATION,
        job_id=tx.new_id("job"),
        lease_until=lease_until,
        now=tx.now,
    )
    return None if row is None else WorkItem(**row)


async def claim_work(
    tx: Tx, *, kinds: Sequence[str], most: int, lease_until: datetime, only: str | None = None, lost_too: bool = True
) -> list[WorkItem]:
    """Claim due work items until `lease_until`: of one organization, or of all that are not reserved; return them.

    Items that were lost with their worker are included only with `lost_too`.
    """
    # Claims run one at a time, so that no two items of one lane are ever claimed together.
    tx.defer(SQL["claim_lock"])
    rows = await tx.fetch_all(
        SQL["claim"],
        now=tx.now,
        kinds=list(kinds),
        most=most,
        lease_until=lease_until,
        only=only,
        lost_too=lost_too,
        reservation=RESERVATION,
    )
    return [WorkItem(**row) for row in rows]


async def unclaim_work(tx: Tx, item: WorkItem) -> None:
    """Put a claimed item back into the queue in the transaction that claimed it, as if never claimed."""
    await tx.execute(SQL["unclaim"], **_fence_params(item))


async def lock_work(tx: Tx, item: WorkItem) -> None:
    """Lock the item's `work` row; raise LeaseLost if this runner no longer has it: then nothing must be committed."""
    if await tx.fetch_one_or_none(SQL["hold"], **_fence_params(item)) is None:
        raise LeaseLost("Another runner took this work over; it will finish it.")


async def renew_lease(tx: Tx, item: WorkItem, lease_until: datetime) -> bool:
    """Extend the item's lease to this time; return False where another runner has the item."""
    return await tx.execute(SQL["renew"], **_fence_params(item), lease_until=lease_until) > 0


async def settle_work(tx: Tx, item: WorkItem) -> None:
    """Delete the work as finished with this transaction; if it was enqueued again meanwhile, it is due again."""
    # No row: it was enqueued again while it ran, or another runner has it, which release_work tells apart.
    if await tx.execute(SQL["settle"], **_fence_params(item)):
        return
    await release_work(tx, item, due_at=tx.now, attempts=0, error=None)


async def release_work(
    tx: Tx, item: WorkItem, *, due_at: datetime, attempts: int, error: str | None, deaths: int = 0
) -> None:
    """Queue claimed work again for this time; raise LeaseLost where another runner has it.

    Without `deaths` the count of lost workers starts anew.
    """
    outcome = {"due_at": due_at, "attempts": attempts, "error": error, "deaths": deaths}
    if not await tx.execute(SQL["release"], **_fence_params(item), **outcome):
        raise LeaseLost("Another runner took this work over; it will finish it.")
    # Runners also poll; the notification only makes them look sooner.
    await tx.execute(SQL["wake"])


async def park_work(tx: Tx, item: WorkItem, error: str) -> None:
    """Park the work, which then stays visible and waits for a retry by hand; raise LeaseLost if it was taken over."""
    if not await tx.execute(SQL["park"], **_fence_params(item), now=tx.now, error=error):
        raise LeaseLost("Another runner took this work over; it will finish it.")


async def list_jobs(
    tx: Tx,
    scope: Scope,
    *,
    after: str = "",
    most: int = 50,
    status: WorkStatus | None = None,
    kind: str | None = None,
) -> list[Job]:
    """Return up to `most` of the organization's jobs after a job id, oldest first, by status and kind on request."""
    rows = await tx.fetch_all(SQL["jobs"], org_id=scope.org_id, after=after, most=most, status=status, kind=kind)
    return [_job_from_row(row) for row in rows]


async def status_counts(tx: Tx, scope: Scope) -> dict[WorkStatus, tuple[int, datetime | None]]:
    """Return how many of the organization's work items have each status, and the earliest due time of each."""
    rows = await tx.fetch_all(SQL["standing"], org_id=scope.org_id)
    found = {WorkStatus(row["status"]): (int(row["number"]), row["oldest"]) for row in rows}
    return {status: found.get(status, (0, None)) for status in WorkStatus}


async def kind_counts(tx: Tx, scope: Scope) -> dict[str, dict[WorkStatus, int]]:
    """Return how many of the organization's work items of each kind have each status, zeros included."""
    found: dict[str, dict[WorkStatus, int]] = {}
    for row in await tx.fetch_all(SQL["kinds"], org_id=scope.org_id):
        found.setdefault(row["kind"], dict.fromkeys(WorkStatus, 0))[WorkStatus(row["status"])] = int(row["number"])
    return found


async def load_job(tx: Tx, scope: Scope, job_id: str) -> Job | None:
    """Return the organization's job of this id, or None."""
    row = await tx.fetch_one_or_none(SQL["job"], org_id=scope.org_id, job_id=job_id)
    return None if row is None else _job_from_row(row)


async def retry_job(tx: Tx, scope: Scope, job_id: str) -> bool:
    """Make a job that is not running due at once, with all its attempts; return whether that was done."""
    touched = await tx.execute(SQL["retry"], org_id=scope.org_id, job_id=job_id, now=tx.now)
    if touched:
        await tx.execute(SQL["wake"])
    return touched > 0


async def installation_counts(tx: Tx) -> list[Row]:
    """Return work counts by kind and status over all organizations, and when the oldest claimable was due."""
    return await tx.fetch_all(SQL["counts"], now=tx.now)


async def parked_by_organization(tx: Tx) -> dict[str, int]:
    """Return how many work items each organization has parked, the most first; those without left out."""
    return {row["org_id"]: int(row["number"]) for row in await tx.fetch_all(SQL["parked"])}


async def commonest_failure(tx: Tx) -> Row | None:
    """Return kind, error and number of the work items retried for the most frequent reason; None without any."""
    return await tx.fetch_one_or_none(SQL["failing"])


async def overdue_since(tx: Tx) -> tuple[datetime | None, bool]:
    """Return when the longest waiting claimable work became due, and whether the database is read-only.

    The time is over all organizations, and None when nothing is due.
    """
    row = await tx.fetch_one(SQL["overdue"], now=tx.now)
    return row["since"], bool(row["read_only"])


async def record_worker(tx: Tx, worker: Worker) -> None:
    """Record in `workers` that the worker is alive; delete those that have not been seen for a day."""
    # Workers that were killed cannot delete their own row.
    tx.defer(SQL["drop_lost_workers"], before=worker.seen_at - timedelta(days=1))
    await tx.execute(SQL["note_worker"], **asdict(worker))


async def delete_worker(tx: Tx, worker_id: str) -> None:
    """Delete the row of a worker that ended from the table `workers`."""
    await tx.execute(SQL["drop_worker"], worker_id=worker_id)


async def list_workers(tx: Tx, *, since: datetime) -> list[Worker]:
    """Return the workers of the installation that reported since then."""
    return [Worker(**row) for row in await tx.fetch_all(SQL["workers"], since=since)]


def _fence_params(item: WorkItem) -> dict[str, object]:
    """Return the parameters that identify a work item by its key and by this claim's token."""
    return {"org_id": item.org_id, "kind": item.kind, "key": item.key, "token": item.token}


def _job_from_row(row: Row) -> Job:
    """Return a row of `work` as the job that its organization may see."""
    status = work_status(parked_at=row["parked_at"], lease_until=row["lease_until"])
    return from_row(Job, row, id=row["job_id"], status=status)
