"""The statements of the work table, one by one: what each changes, and what it says of it."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.jobs import store
from mnemon.jobs.kind import DEFAULT_TIME_LIMIT, Attempt, model_time_limit
from mnemon.jobs.work import Job, LeaseLost, Worker, WorkItem, WorkStatus, work_status
from mnemon.scope import Scope
from support.bounds import HANGS_S

ACME = Scope(org_id="acme")
MINUTE = timedelta(minutes=1)


async def put(db: Database, key: str, *, org: str = "acme", kind: str = "k", **when: Any) -> str:
    async with db.tx(org) as tx:
        return await store.enqueue_work(tx, Scope(org_id=org), kind, key, **when)


async def claim(db: Database, **options: Any) -> list[WorkItem]:
    async with db.tx(None) as tx:
        given = {"kinds": ["k"], "most": 9, "lease_until": tx.now + MINUTE, **options}
        return await store.claim_work(tx, **given)


async def jobs(db: Database, **options: Any) -> list[Job]:
    async with db.tx("acme") as tx:
        return await store.list_jobs(tx, ACME, **options)


async def statuses(db: Database) -> dict[str, WorkStatus]:
    return {job.key: job.status for job in await jobs(db)}


async def park(db: Database, item: WorkItem, error: str = "broken") -> None:
    async with db.tx("acme") as tx:
        await store.park_work(tx, item, error)


def woken(connection: psycopg.Connection) -> bool:
    """Whether runners were told that something is due, since it was asked last."""
    connection.execute("select pg_notify('mnemon_work', 'mark')")  # comes after all that was committed before
    heard = []
    for one in connection.notifies(timeout=HANGS_S):
        heard.append(one.payload)
        if one.payload == "mark":
            break
    return heard != ["mark"]


@pytest.fixture
def listening(database_url: str) -> Any:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute('listen "mnemon_work"')
        yield connection


async def test_queued_work_has_what_it_was_queued_with(db: Database, org: str, clock: ManualClock) -> None:
    job_id = await put(db, "a", due_at=clock.now() + MINUTE)
    assert await jobs(db) == [
        Job(
            id=job_id,
            kind="k",
            key="a",
            status=WorkStatus.QUEUED,
            attempts=0,
            enqueued_at=clock.now(),
            due_at=clock.now() + MINUTE,
            lease_until=None,
            parked_at=None,
            error=None,
            waits_for=None,
        )
    ]


async def test_work_queued_with_the_next_statement_has_the_id_it_was_told(db: Database, org: str) -> None:
    async with db.tx("acme") as tx:
        told = store.enqueue_work_deferred(tx, ACME, "k", "a")
        first = store.enqueue_work_deferred(tx, ACME, "k", "b", lane="s", seq=1)
        second = store.enqueue_work_deferred(tx, ACME, "k", "c", lane="s", seq=2)
    assert [(job.id, job.waits_for) for job in await jobs(db)] == [(told, None), (first, None), (second, first)]


async def test_work_is_put_off_and_brought_forward(db: Database, org: str, clock: ManualClock) -> None:
    async def postpone(minutes: int) -> None:
        async with db.tx("acme") as tx:
            await store.postpone_work(tx, ACME, "k", "a", due_at=tx.now + minutes * MINUTE)

    for minutes in (5, 9, 2):
        await postpone(minutes)
        assert [job.due_at for job in await jobs(db)] == [clock.now() + minutes * MINUTE]
    clock.advance(2 * MINUTE)
    (item,) = await claim(db)
    await park(db, item)
    await postpone(1)
    assert await statuses(db) == {"a": WorkStatus.QUEUED}


async def test_work_that_waits_is_cancelled_and_work_that_runs_is_not(db: Database, org: str) -> None:
    async def cancel(key: str) -> bool:
        async with db.tx("acme") as tx:
            return await store.cancel_work(tx, ACME, "k", key)

    await put(db, "runs")
    await claim(db)
    await put(db, "waits")
    assert [await cancel(key) for key in ("runs", "waits", "waits", "unknown")] == [False, True, False, False]
    assert await statuses(db) == {"runs": WorkStatus.RUNNING}


async def test_an_unclaimed_item_is_queued_as_before(db: Database, org: str) -> None:
    await put(db, "a")
    async with db.tx(None) as tx:
        (item,) = await store.claim_work(tx, kinds=["k"], most=9, lease_until=tx.now + MINUTE)
        await store.unclaim_work(tx, item)
    (job,) = await jobs(db)
    assert (job.status, job.attempts) == (WorkStatus.QUEUED, 0)


async def test_what_was_lost_is_left_alone_where_it_is_not_asked_for(
    db: Database, org: str, clock: ManualClock
) -> None:
    await put(db, "lost")
    (first,) = await claim(db)
    assert (first.attempts, first.deaths) == (1, 0)
    assert await claim(db) == [], "its lease lasts"
    clock.advance(MINUTE)
    await put(db, "new")
    assert [item.key for item in await claim(db, lost_too=False)] == ["new"]
    (again,) = await claim(db)
    assert (again.key, again.attempts, again.deaths) == ("lost", 2, 1)
    assert again.token > first.token


async def test_only_so_many_of_these_kinds_and_this_organization_are_claimed(
    db: Database, org: str, clock: ManualClock
) -> None:
    for key, minutes in (("c", 1), ("b", 2), ("a", 3)):
        await put(db, key, due_at=clock.now() - minutes * MINUTE)
    await put(db, "d", kind="other")
    await put(db, "e", org="globex")
    assert sorted(item.key for item in await claim(db, most=2)) == ["a", "b"], "those that were due first"
    assert [item.key for item in await claim(db, kinds=["other"])] == ["d"]
    assert [item.org_id for item in await claim(db, only="globex")] == ["globex"]
    assert [item.key for item in await claim(db, only="acme")] == ["c"]


async def test_two_runners_at_once_never_take_two_items_of_one_lane(db: Database, org: str) -> None:
    """One has claimed the later item and not committed yet when an earlier one is queued and another looks."""
    await put(db, "later", lane="s", seq=2)
    async with db.tx(None) as tx:
        (item,) = await store.claim_work(tx, kinds=["k"], most=9, lease_until=tx.now + MINUTE)
        await put(db, "earlier", lane="s", seq=1)
        other = asyncio.create_task(claim(db))
        while not other.done() and not waits_for_lock(db.url):
            await asyncio.sleep(0.01)
    assert item.key == "later"
    assert await other == []


def waits_for_lock(url: str) -> bool:
    with psycopg.connect(url) as connection:
        row = connection.execute("select count(*) from pg_locks where locktype = 'advisory' and not granted").fetchone()
    return row is not None and row[0] > 0


async def late(db: Database, clock: ManualClock) -> tuple[WorkItem, WorkItem]:
    """An item as its first runner has it, whose lease ran out, and as the second one has it."""
    await put(db, "a")
    (old,) = await claim(db)
    clock.advance(MINUTE)
    (new,) = await claim(db)
    return old, new


@pytest.mark.parametrize("name", ["lock", "settle", "release", "park"])
async def test_a_runner_that_lost_its_lease_changes_nothing(
    db: Database, org: str, clock: ManualClock, name: str
) -> None:
    old, new = await late(db, clock)

    async def write(item: WorkItem) -> None:
        async with db.tx("acme") as tx:
            match name:
                case "lock":
                    await store.lock_work(tx, item)
                case "settle":
                    await store.settle_work(tx, item)
                case "release":
                    await store.release_work(tx, item, due_at=tx.now, attempts=0, error="late")
                case _:
                    await store.park_work(tx, item, "late")

    before = await jobs(db)
    with pytest.raises(LeaseLost):
        await write(old)
    assert await jobs(db) == before
    await write(new)


async def test_a_lease_is_extended_by_whoever_has_it(db: Database, org: str, clock: ManualClock) -> None:
    old, new = await late(db, clock)
    until = clock.now() + 5 * MINUTE
    async with db.tx("acme") as tx:
        assert not await store.renew_lease(tx, old, until)
        assert await store.renew_lease(tx, new, until)
    assert [job.lease_until for job in await jobs(db)] == [until]


async def test_work_that_was_asked_for_while_it_ran_is_due_again_and_starts_anew(
    db: Database, org: str, clock: ManualClock, listening: psycopg.Connection
) -> None:
    await put(db, "a")
    (item,) = await claim(db)
    await put(db, "a", due_at=clock.now() + MINUTE)
    woken(listening)
    async with db.tx("acme") as tx:
        await store.settle_work(tx, item)
    (job,) = await jobs(db)
    assert (job.status, job.attempts, job.due_at, job.error) == (WorkStatus.QUEUED, 0, clock.now(), None)
    assert woken(listening)


async def test_released_work_waits_for_its_time_with_its_tries_and_error(
    db: Database, org: str, clock: ManualClock, listening: psycopg.Connection
) -> None:
    await put(db, "a")
    (item,) = await claim(db)
    woken(listening)
    async with db.tx("acme") as tx:
        await store.release_work(tx, item, due_at=tx.now + MINUTE, attempts=3, error="away", deaths=2)
    (job,) = await jobs(db)
    assert (job.status, job.attempts, job.due_at, job.error) == (
        WorkStatus.QUEUED,
        3,
        clock.now() + MINUTE,
        "away",
    )
    assert woken(listening)
    clock.advance(MINUTE)
    (again,) = await claim(db)
    assert (again.attempts, again.deaths) == (4, 2)
    async with db.tx("acme") as tx:
        await store.release_work(tx, again, due_at=tx.now, attempts=4, error=None)
    assert [one.deaths for one in await claim(db)] == [0], "the count starts anew"


async def test_a_job_that_does_not_run_is_retried_with_all_its_tries(
    db: Database, org: str, clock: ManualClock, listening: psycopg.Connection
) -> None:
    async def retry(job_id: str) -> bool:
        async with db.tx("acme") as tx:
            return await store.retry_job(tx, ACME, job_id)

    job_id = await put(db, "a")
    (item,) = await claim(db)
    woken(listening)
    assert not await retry(job_id), "it runs"
    assert not await retry("job_unknown")
    assert not woken(listening)
    await park(db, item)
    clock.advance(MINUTE)
    assert await retry(job_id)
    assert woken(listening)
    (job,) = await jobs(db)
    assert (job.status, job.attempts, job.due_at) == (WorkStatus.QUEUED, 0, clock.now())


async def test_jobs_are_listed_oldest_first_by_page_status_and_kind(db: Database, org: str, clock: ManualClock) -> None:
    first = await put(db, "a")
    (item,) = await claim(db)
    await park(db, item)
    clock.advance(MINUTE)
    second = await put(db, "b", kind="other")
    clock.advance(MINUTE)
    third = await put(db, "c")
    await put(db, "d", org="globex")
    assert [job.id for job in await jobs(db)] == [first, second, third]
    assert [job.id for job in await jobs(db, most=2)] == [first, second]
    assert [job.id for job in await jobs(db, after=first)] == [second, third]
    assert [job.id for job in await jobs(db, status=WorkStatus.PARKED)] == [first]
    assert [job.id for job in await jobs(db, kind="other")] == [second]
    async with db.tx("acme") as tx:
        found = await store.load_job(tx, ACME, first)
        assert await store.load_job(tx, ACME, "job_unknown") is None
    assert found is not None
    assert (found.key, found.status, found.error, found.attempts) == ("a", WorkStatus.PARKED, "broken", 1)


async def test_a_page_has_fifty_jobs_unless_said_otherwise(db: Database, org: str) -> None:
    async with db.tx("acme") as tx:
        for number in range(51):
            store.enqueue_work_deferred(tx, ACME, "k", str(number))
    assert len(await jobs(db)) == 50


async def test_counts_name_every_status(db: Database, org: str, clock: ManualClock) -> None:
    await put(db, "a")
    (item,) = await claim(db)
    await park(db, item)
    for key in "bc":
        await put(db, key, due_at=clock.now() + MINUTE)
    await put(db, "d", kind="other")
    await put(db, "e", org="globex")
    async with db.tx("acme") as tx:
        assert await store.status_counts(tx, ACME) == {
            WorkStatus.QUEUED: (3, clock.now()),
            WorkStatus.RUNNING: (0, None),
            WorkStatus.PARKED: (1, clock.now()),
        }
        assert await store.kind_counts(tx, ACME) == {
            "k": {WorkStatus.QUEUED: 2, WorkStatus.RUNNING: 0, WorkStatus.PARKED: 1},
            "other": {WorkStatus.QUEUED: 1, WorkStatus.RUNNING: 0, WorkStatus.PARKED: 0},
        }
    async with db.tx(None) as tx:
        assert await store.parked_by_organization(tx) == {"acme": 1}
        assert await store.commonest_failure(tx) is None


async def test_the_commonest_failure_is_that_of_work_which_is_retried(db: Database, org: str) -> None:
    for key in "abc":
        await put(db, key)
    for item, error in zip(await claim(db), ("away", "broken", "away"), strict=True):
        async with db.tx("acme") as tx:
            await store.release_work(tx, item, due_at=tx.now, attempts=1, error=error)
    async with db.tx(None) as tx:
        assert await store.commonest_failure(tx) == {"kind": "k", "error": "away", "number": 2}


async def test_workers_are_listed_while_they_report_and_dropped_after_a_day(
    db: Database, org: str, clock: ManualClock
) -> None:
    now = clock.now()
    one = Worker(worker_id="wrk_1", started_at=now, seen_at=now, claimed_at=now, slots=8, busy=0)
    day, second = timedelta(days=1), timedelta(seconds=1)

    async def record(worker: Worker) -> None:
        async with db.tx(None) as tx:
            await store.record_worker(tx, worker)

    async def seen(since: timedelta) -> list[Worker]:
        async with db.tx(None) as tx:
            return await store.list_workers(tx, since=now + since)

    await record(one)
    later = replace(one, seen_at=now + second, claimed_at=now + second, busy=3)
    await record(later)
    assert await seen(second) == [later]
    assert await seen(2 * second) == []
    two = replace(one, worker_id="wrk_2", seen_at=now + second + day)
    await record(two)
    assert await seen(timedelta(0)) == [later, two], "a day ago is not long ago"
    three = replace(two, worker_id="wrk_3", seen_at=two.seen_at + second)
    await record(three)
    assert await seen(timedelta(0)) == [two, three]
    async with db.tx(None) as tx:
        await store.delete_worker(tx, "wrk_2")
    assert await seen(timedelta(0)) == [three]


def test_parked_wins_over_leased_and_leased_over_queued(clock: ManualClock) -> None:
    at = clock.now()
    assert work_status(parked_at=at, lease_until=at) is WorkStatus.PARKED
    assert work_status(parked_at=at, lease_until=None) is WorkStatus.PARKED
    assert work_status(parked_at=None, lease_until=at) is WorkStatus.RUNNING
    assert work_status(parked_at=None, lease_until=None) is WorkStatus.QUEUED


def test_work_that_asks_a_model_has_time_for_its_answers() -> None:
    assert model_time_limit(1) == DEFAULT_TIME_LIMIT
    assert model_time_limit(HANGS_S + 1) == timedelta(seconds=2 * HANGS_S + 62)
    assert model_time_limit(100, calls=5) == timedelta(seconds=560)


async def test_an_attempt_settles_or_repeats_its_work(db: Database, org: str, clock: ManualClock) -> None:
    steps = []
    await put(db, "a")
    (item,) = await claim(db)
    attempt = Attempt(item, on_progress=lambda: steps.append("progress"))
    assert (attempt.key, attempt.scope, attempt.settled, attempt.repeated) == ("a", ACME, False, False)
    attempt.extend_time_limit()
    assert steps == ["progress"]
    async with db.tx("acme") as tx:
        await attempt.lock_work(tx)
        await attempt.repeat(tx, after=MINUTE)
    assert (attempt.settled, attempt.repeated) == (True, True)
    (job,) = await jobs(db)
    assert (job.status, job.attempts, job.due_at) == (WorkStatus.QUEUED, 0, clock.now() + MINUTE)
    clock.advance(MINUTE)
    (item,) = await claim(db)
    attempt = Attempt(item)
    attempt.extend_time_limit()
    async with db.tx("acme") as tx:
        await attempt.settle(tx)
    assert (attempt.settled, attempt.repeated) == (True, False)
    assert await jobs(db) == []
