"""The `work` table."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack

from mnemon.db.statements import statements
from mnemon.db.tx import Row, Tx
from mnemon.jobs.work import Item, Job, LeaseLost, Status, Worker, status_of
from mnemon.scope import Scope

SQL = statements("mnemon.jobs")
RESERVATION = "reservation"
"""The kind of the row that keeps an organization's work for one runner."""


class When(TypedDict, total=False):
    """When queued work may run.

    Items of one lane run one at a time in the order of `seq`; a parked one holds up nobody.
    """

    due_at: datetime | None
    lane: str | None
    seq: int


async def enqueue(tx: Tx, scope: Scope, kind: str, key: str, **when: Unpack[When]) -> str:
    """The work is queued with the caller's transaction; gives its job id, an earlier one's if it was queued before."""
    row = await tx.one(SQL["enqueue"], **_queued(tx, scope, kind, key, when))
    return str(row["job_id"])


def enqueue_later(tx: Tx, scope: Scope, kind: str, key: str, **when: Unpack[When]) -> str:
    """The same with the next statement, for a transaction that holds the person; gives the id that new work has."""
    queued = _queued(tx, scope, kind, key, when)
    tx.later(SQL["enqueue"], **queued)
    return str(queued["job_id"])


def _queued(tx: Tx, scope: Scope, kind: str, key: str, when: When) -> dict[str, Any]:
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


async def postpone(tx: Tx, scope: Scope, kind: str, key: str, *, due_at: datetime) -> None:
    """The work is due at this time and no earlier one, whatever was set before."""
    await tx.run(
        SQL["postpone"],
        org_id=scope.org_id,
        kind=kind,
        key=key,
        job_id=tx.new_id("job"),
        now=tx.now,
        due_at=due_at,
    )


async def cancel(tx: Tx, scope: Scope, kind: str, key: str) -> bool:
    """The work is gone, unless it was running."""
    return await tx.run(SQL["cancel"], org_id=scope.org_id, kind=kind, key=key) > 0


async def reserve(tx: Tx, scope: Scope, *, lease_until: datetime) -> Item | None:
    """Only a runner made for this organization takes its work while the item is ours; None while it is another's.

    The item is work like any other: it is renewed and settled, and one whose lease ran out is taken by anyone.
    """
    row = await tx.maybe(
        SQL["reserve"],
        org_id=scope.org_id,
        kind=RESERVATION,
        job_id=tx.new_id("job"),
        lease_until=lease_until,
        now=tx.now,
    )
    return None if row is None else Item(**row)


async def claim(
    tx: Tx, *, kinds: Sequence[str], most: int, lease_until: datetime, only: str | None = None
) -> list[Item]:
    """Due items are ours until the lease ends: of one organization, or of all that nobody has reserved."""
    tx.later(SQL["claim_lock"])
    rows = await tx.all(
        SQL["claim"],
        now=tx.now,
        kinds=list(kinds),
        most=most,
        lease_until=lease_until,
        only=only,
        reservation=RESERVATION,
    )
    return [Item(**row) for row in rows]


async def hold(tx: Tx, item: Item) -> None:
    """The row is locked and still ours; otherwise LeaseLost, and the transaction must not commit."""
    if await tx.maybe(SQL["hold"], **_fence(item)) is None:
        raise LeaseLost("Another runner took this work over; it will finish it.")


async def renew(tx: Tx, item: Item, lease_until: datetime) -> bool:
    """Whether the lease is still ours, now until the new time."""
    return await tx.run(SQL["renew"], **_fence(item), lease_until=lease_until) > 0


async def settle(tx: Tx, item: Item) -> None:
    """The work is done with this transaction; asked for again meanwhile, it is due again."""
    if await tx.run(SQL["settle"], **_fence(item)):
        return
    await release(tx, item, due_at=tx.now, attempts=0, error=None)


async def release(tx: Tx, item: Item, *, due_at: datetime, attempts: int, error: str | None, deaths: int = 0) -> None:
    """The work is queued again for this time; it ended as work should, so that no deaths count against it."""
    outcome = {"due_at": due_at, "attempts": attempts, "error": error, "deaths": deaths}
    if not await tx.run(SQL["release"], **_fence(item), **outcome):
        raise LeaseLost("Another runner took this work over; it will finish it.")
    await tx.run(SQL["wake"])


async def park(tx: Tx, item: Item, error: str) -> None:
    """The work stands aside, visible, until it is run again."""
    if not await tx.run(SQL["park"], **_fence(item), now=tx.now, error=error):
        raise LeaseLost("Another runner took this work over; it will finish it.")


async def jobs(
    tx: Tx,
    scope: Scope,
    *,
    after: str = "",
    most: int = 50,
    status: Status | None = None,
    kind: str | None = None,
) -> list[Job]:
    """The organization's work, oldest first."""
    rows = await tx.all(SQL["jobs"], org_id=scope.org_id, after=after, most=most, status=status, kind=kind)
    return [_job(row) for row in rows]


async def standing(tx: Tx, scope: Scope) -> dict[Status, tuple[int, datetime | None]]:
    """How much of the organization's work stands where, and when the first of it was due."""
    rows = await tx.all(SQL["standing"], org_id=scope.org_id)
    found = {Status(row["status"]): (int(row["number"]), row["oldest"]) for row in rows}
    return {status: found.get(status, (0, None)) for status in Status}


async def kinds(tx: Tx, scope: Scope) -> dict[str, dict[Status, int]]:
    """How much of the organization's work of each kind stands where, with zeros where there is none."""
    found: dict[str, dict[Status, int]] = {}
    for row in await tx.all(SQL["kinds"], org_id=scope.org_id):
        found.setdefault(row["kind"], dict.fromkeys(Status, 0))[Status(row["status"])] = int(row["number"])
    return found


async def job(tx: Tx, scope: Scope, job_id: str) -> Job | None:
    """One of the organization's jobs."""
    row = await tx.maybe(SQL["job"], org_id=scope.org_id, job_id=job_id)
    return None if row is None else _job(row)


async def retry(tx: Tx, scope: Scope, job_id: str) -> bool:
    """Whether the job was not running and is due at once now, with all its tries."""
    touched = await tx.run(SQL["retry"], org_id=scope.org_id, job_id=job_id, now=tx.now)
    if touched:
        await tx.run(SQL["wake"])
    return touched > 0


async def counts(tx: Tx) -> list[Row]:
    """Rows by kind and status over all organizations, with when the longest waiting claimable one became due."""
    return await tx.all(SQL["counts"], now=tx.now)


async def parked_by_organization(tx: Tx) -> dict[str, int]:
    """How many items each organization has parked, the most first; none for those without."""
    return {row["org_id"]: int(row["number"]) for row in await tx.all(SQL["parked"])}


async def commonest_failure(tx: Tx) -> Row | None:
    """Give kind, error and number of the items that are tried again for the most frequent reason."""
    return await tx.maybe(SQL["failing"])


async def overdue_since(tx: Tx) -> tuple[datetime | None, bool]:
    """Give when the longest waiting claimable item became due, and whether the database is read-only.

    The time is over all organizations, and None when nothing is due.
    """
    row = await tx.one(SQL["overdue"], now=tx.now)
    return row["since"], bool(row["read_only"])


async def note_worker(tx: Tx, worker: Worker) -> None:
    """Record that the worker is alive; forget those that have not been seen for a day."""
    tx.later(SQL["drop_lost_workers"], before=worker.seen_at - timedelta(days=1))
    await tx.run(SQL["note_worker"], **asdict(worker))


async def drop_worker(tx: Tx, worker_id: str) -> None:
    """Forget a worker that ended."""
    await tx.run(SQL["drop_worker"], worker_id=worker_id)


async def workers(tx: Tx, *, since: datetime) -> list[Worker]:
    """Give the workers that were seen since then."""
    return [Worker(**row) for row in await tx.all(SQL["workers"], since=since)]


def _fence(item: Item) -> dict[str, object]:
    return {"org_id": item.org_id, "kind": item.kind, "key": item.key, "token": item.token}


def _job(row: Row) -> Job:
    return Job(
        id=row["job_id"],
        kind=row["kind"],
        key=row["key"],
        status=status_of(parked_at=row["parked_at"], lease_until=row["lease_until"]),
        attempts=row["attempts"],
        enqueued_at=row["enqueued_at"],
        due_at=row["due_at"],
        lease_until=row["lease_until"],
        parked_at=row["parked_at"],
        error=row["error"],
        waits_for=row["waits_for"],
    )
