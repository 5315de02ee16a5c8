"""What wakes a runner that waits, and how long an attempt keeps its item."""

import asyncio
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.errors import DatabaseDown
from mnemon.jobs import runner as runner_module
from mnemon.jobs import store
from mnemon.jobs.kind import Attempt, JobKind
from mnemon.jobs.runner import Runner
from mnemon.jobs.work import Job, WorkItem
from mnemon.scope import Scope
from support.bounds import HANGS_S

ACME = Scope(org_id="acme")


async def put(db: Database, *keys: str) -> None:
    async with db.tx("acme") as tx:
        for key in keys:
            await store.enqueue_work(tx, ACME, "k", key)


async def jobs(db: Database) -> list[Job]:
    async with db.tx("acme") as tx:
        return await store.list_jobs(tx, ACME)


@pytest.fixture
def never_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "POLL_INTERVAL_S", 10 * HANGS_S)


@pytest.mark.usefixtures("never_polls")
async def test_a_runner_that_waits_is_woken_by_what_is_queued(db: Database, org: str, clock: ManualClock) -> None:
    done = asyncio.Event()

    async def run(attempt: Attempt) -> None:
        done.set()

    worker = Runner(db, clock, {"k": JobKind(name="k", run=run)})
    async with worker.run_in_background(), asyncio.timeout(HANGS_S):
        first = worker.presence.worker.claimed_at
        while worker.presence.worker.claimed_at == first:
            await asyncio.sleep(0.01)
        await put(db, "a")
        await done.wait()


@pytest.mark.usefixtures("never_polls")
async def test_a_slot_that_gets_free_is_used_at_once(db: Database, org: str, clock: ManualClock) -> None:
    ran: list[str] = []
    over = asyncio.Event()

    async def run(attempt: Attempt) -> None:
        ran.append(attempt.key)
        if len(ran) == 3:
            over.set()

    await put(db, *"abc")
    async with (
        Runner(db, clock, {"k": JobKind(name="k", run=run)}, concurrency=1).run_in_background(),
        asyncio.timeout(HANGS_S),
    ):
        await over.wait()
    assert sorted(ran) == ["a", "b", "c"]
    assert await jobs(db) == []


async def test_work_that_becomes_due_by_the_clock_is_found_without_a_word(
    db: Database, org: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "POLL_INTERVAL_S", 0.02)
    done = asyncio.Event()

    async def run(attempt: Attempt) -> None:
        done.set()

    async with db.tx("acme") as tx:
        await store.enqueue_work(tx, ACME, "k", "a", due_at=tx.now + timedelta(hours=1))
    worker = Runner(db, clock, {"k": JobKind(name="k", run=run)})
    async with worker.run_in_background(), asyncio.timeout(HANGS_S):
        first = worker.presence.worker.claimed_at
        while worker.presence.worker.claimed_at == first:
            await asyncio.sleep(0.01)
        clock.advance(timedelta(hours=1))
        await done.wait()


async def test_the_lease_of_work_that_goes_on_is_extended(db: Database, org: str, clock: ManualClock) -> None:
    over, lease = asyncio.Event(), timedelta(seconds=0.06)

    async def run(attempt: Attempt) -> None:
        await over.wait()

    await put(db, "a")
    worker = Runner(db, clock, {"k": JobKind(name="k", run=run, lease=lease)})
    await worker.claim_and_start()
    async with asyncio.timeout(HANGS_S):
        for _ in range(2):
            clock.advance(timedelta(seconds=1))
            while (await jobs(db))[0].lease_until != clock.now() + lease:
                await asyncio.sleep(0.01)
    over.set()
    await worker.drain()
    assert await jobs(db) == []


async def test_a_failure_is_recorded_when_the_database_is_back(
    db: Database, org: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, failures = store.release_work, [DatabaseDown("away"), DatabaseDown("away")]

    async def run(attempt: Attempt) -> None:
        raise DatabaseDown("away")

    async def away(*given: object, **options: object) -> None:
        if failures:
            raise failures.pop()
        await release(*given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "release_work", away)
    await put(db, "a")
    with capture_logs() as lines:
        assert await Runner(db, clock, {"k": JobKind(name="k", run=run)}).drain() == 1
    assert [(line["outcome"], line["error"]) for line in lines] == [("failed", "database_unavailable")]
    assert "retried by itself" in lines[0]["next_step"]
    assert lines[0]["exc_info"] is None, "a known failure needs no traceback"
    assert [job.error for job in await jobs(db)] == ["database_unavailable: away"]


async def test_an_outcome_that_cannot_be_written_is_left_to_the_lease(
    db: Database, org: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[WorkItem] = []

    async def run(attempt: Attempt) -> None:
        raise DatabaseDown("away")

    async def away(tx: object, item: WorkItem, **options: object) -> None:
        tries.append(item)
        raise DatabaseDown("away")

    monkeypatch.setattr(store, "release_work", away)
    monkeypatch.setattr(runner_module, "_RECORD_TRIES", 2)
    await put(db, "a")
    with capture_logs() as lines:
        assert await Runner(db, clock, {"k": JobKind(name="k", run=run)}).drain() == 1
    assert [(line["outcome"], line["error"]) for line in lines] == [("left_to_lease", "database_unavailable")]
    assert "when its lease runs out" in lines[0]["next_step"]
    assert len(tries) == 2
    clock.advance(timedelta(minutes=2))
    async with db.tx(None) as tx:
        (item,) = await store.claim_work(tx, kinds=["k"], most=1, lease_until=tx.now)
    assert (item.attempts, item.deaths) == (2, 1)
