"""The `work` table."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack

from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.jobs.work import Job, LeaseLost, Worker, WorkItem, WorkStatus, work_status
from mnemon.scope import Scope

SQL = load_statements("mnemon.jobs")
RESERVATION = "reservation"
"""The kind of the row that keeps an organization's work for one runner."""


class WorkSchedule(TypedDict, total=False):
    """When queued work may run.

    Items of one lane run one at a time in the order of `seq`; a parked one holds up nobody.
    """

    due_at: datetime | None
    lane: str | None
    seq: int


async def enqueue_work(tx: Tx, scope: Scope, kind: str, key: str, **when: Unpack[WorkSchedule]) -> str:
    """The work is queued with the caller's transaction; gives its job id, an earlier one's if it was queued before."""
    row = await tx.fetch_one(SQL["enqueue"], **_work_params(tx, scope, kind, key, when))
    return str(row["job_id"])


def enqueue_work_deferred(tx: Tx, scope: Scope, kind: str, key: str, **when: Unpack[WorkSchedule]) -> str:
    """The same with the next statement, for a transaction that holds the person; gives the id that new work has."""
    queued = _work_params(tx, scope, kind, key, when)
    tx.defer(SQL["enqueue"], **queued)
    return str(queued["job_id"])


def _work_params(tx: Tx, scope: Scope, kind: str, key: str, when: WorkSchedule) -> dict[str, Any]:
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
    """The work is due at this time and no earlier one, whatever was set before."""
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
    """The work is gone, unless it was running."""
    return await tx.execute(SQL["cancel"], org_id=scope.org_id, kind=kind, key=key) > 0


async def reserve_organization(tx: Tx, scope: Scope, *, lease_until: datetime) -> WorkItem | None:
    """Only a runner made for this organization takes its work while the item is ours; None while it is another's.

    The item is work like any other: it is renewed and settled, and one whose lease ran out is taken by anyone.
    """
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
    """Due items are ours until the lease ends: of one organization, or of all that nobody has reserved.

    Those that were lost with their worker only if asked for.
    """
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
    """Leave an item in the queue after all, in the transaction that claimed it."""
    await tx.execute(SQL["unclaim"], **_fence_params(item))


async def lock_work(tx: Tx, item: WorkItem) -> None:
    """The row is locked and still ours; otherwise LeaseLost, and the transaction must not commit."""
    if await tx.fetch_one_or_none(SQL["hold"], **_fence_params(item)) is None:
        raise LeaseLost("Another runner took this work over; it will finish it.")


async def renew_lease(tx: Tx, item: WorkItem, lease_until: datetime) -> bool:
    """Whether the lease is still ours, now until the new time."""
    return await tx.execute(SQL["renew"], **_fence_params(item), lease_until=lease_until) > 0


async def settle_work(tx: Tx, item: WorkItem) -> None:
    """The work is done with this transaction; asked for again meanwhile, it is due again."""
    if await tx.execute(SQL["settle"], **_fence_params(item)):
        return
    await release_work(tx, item, due_at=tx.now, attempts=0, error=None)


async def release_work(
    tx: Tx, item: WorkItem, *, due_at: datetime, attempts: int, error: str | None, deaths: int = 0
) -> None:
    """The work is queued again for this time; it ended as work should, so that no deaths count against it."""
    outcome = {"due_at": due_at, "attempts": attempts, "error": error, "deaths": deaths}
    if not await tx.execute(SQL["release"], **_fence_params(item), **outcome):
        raise LeaseLost("Another runner took this work over; it will finish it.")
    await tx.execute(SQL["wake"])


async def park_work(tx: Tx, item: WorkItem, error: str) -> None:
    """The work stands aside, visible, until it is run again."""
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
    """The organization's work, oldest first."""
    rows = await tx.fetch_all(SQL["jobs"], org_id=scope.org_id, after=after, most=most, status=status, kind=kind)
    return [_job_from_row(row) for row in rows]


async def status_counts(tx: Tx, scope: Scope) -> dict[WorkStatus, tuple[int, datetime | None]]:
    """How much of the organization's work stands where, and when the first of it was due."""
    rows = await tx.fetch_all(SQL["standing"], org_id=scope.org_id)
    found = {WorkStatus(row["status"]): (int(row["number"]), row["oldest"]) for row in rows}
    return {status: found.get(status, (0, None)) for status in WorkStatus}


async def kind_counts(tx: Tx, scope: Scope) -> dict[str, dict[WorkStatus, int]]:
    """How much of the organization's work of each kind stands where, with zeros where there is none."""
    found: dict[str, dict[WorkStatus, int]] = {}
    for row in await tx.fetch_all(SQL["kinds"], org_id=scope.org_id):
        found.setdefault(row["kind"], dict.fromkeys(WorkStatus, 0))[WorkStatus(row["status"])] = int(row["number"])
    return found


async def load_job(tx: Tx, scope: Scope, job_id: str) -> Job | None:
    """One of the organization's jobs."""
    row = await tx.fetch_one_or_none(SQL["job"], org_id=scope.org_id, job_id=job_id)
    return None if row is None else _job_from_row(row)


async def retry_job(tx: Tx, scope: Scope, job_id: str) -> bool:
    """Whether the job was not running and is due at once now, with all its tries."""
    touched = await tx.execute(SQL["retry"], org_id=scope.org_id, job_id=job_id, now=tx.now)
    if touched:
        await tx.execute(SQL["wake"])
    return touched > 0


async def installation_counts(tx: Tx) -> list[Row]:
    """Rows by kind and status over all organizations, with when the longest waiting claimable one became due."""
    return await tx.fetch_all(SQL["counts"], now=tx.now)


async def parked_by_organization(tx: Tx) -> dict[str, int]:
    """How many items each organization has parked, the most first; none for those without."""
    return {row["org_id"]: int(row["number"]) for row in await tx.fetch_all(SQL["parked"])}


async def commonest_failure(tx: Tx) -> Row | None:
    """Give kind, error and number of the items that are tried again for the most frequent reason."""
    return await tx.fetch_one_or_none(SQL["failing"])


async def overdue_since(tx: Tx) -> tuple[datetime | None, bool]:
    """Give when the longest waiting claimable item became due, and whether the database is read-only.

    The time is over all organizations, and None when nothing is due.
    """
    row = await tx.fetch_one(SQL["overdue"], now=tx.now)
    return row["since"], bool(row["read_only"])


async def record_worker(tx: Tx, worker: Worker) -> None:
    """Record that the worker is alive; forget those that have not been seen for a day."""
    tx.defer(SQL["drop_lost_workers"], before=worker.seen_at - timedelta(days=1))
    await tx.execute(SQL["note_worker"], **asdict(worker))


async def delete_worker(tx: Tx, worker_id: str) -> None:
    """Forget a worker that ended."""
    await tx.execute(SQL["drop_worker"], worker_id=worker_id)


async def list_workers(tx: Tx, *, since: datetime) -> list[Worker]:
    """Give the workers that were seen since then."""
    return [Worker(**row) for row in await tx.fetch_all(SQL["workers"], since=since)]


def _fence_params(item: WorkItem) -> dict[str, object]:
    return {"org_id": item.org_id, "kind": item.kind, "key": item.key, "token": item.token}


def _job_from_row(row: Row) -> Job:
    return Job(
        id=row["job_id"],
        kind=row["kind"],
        key=row["key"],
        status=work_status(parked_at=row["parked_at"], lease_until=row["lease_until"]),
        attempts=row["attempts"],
        enqueued_at=row["enqueued_at"],
        due_at=row["due_at"],
        lease_until=row["lease_until"],
        parked_at=row["parked_at"],
        error=row["error"],
        waits_for=row["waits_for"],
    )
