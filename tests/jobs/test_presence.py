"""Workers report that they are alive; a pure rule judges whether due work is being taken."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.clock import ManualClock, SystemClock
from mnemon.db.database import Database
from mnemon.jobs import store
from mnemon.jobs.kind import Attempt, JobKind
from mnemon.jobs.presence import OVERDUE_AFTER, SILENT_AFTER, judge_workers
from mnemon.jobs.runner import Runner
from mnemon.jobs.work import Worker
from mnemon.scope import Scope

NOW = datetime(2026, 4, 12, tzinfo=UTC)
WORKER = Worker(worker_id="wrk_1", started_at=NOW, seen_at=NOW, claimed_at=NOW, slots=8, busy=3)
SECOND = timedelta(seconds=1)
LONG = OVERDUE_AFTER + SECOND
ages = st.timedeltas(timedelta(0), timedelta(minutes=5))


def silent(worker: Worker, since: timedelta) -> Worker:
    return replace(worker, seen_at=NOW - since, claimed_at=NOW - since)


def test_a_worker_that_claims_makes_ready_however_long_work_waits() -> None:
    verdict = judge_workers([WORKER], now=NOW, overdue=timedelta(hours=1))
    assert (verdict.fault, verdict.alive, verdict.claiming, verdict.slots, verdict.busy) == (None, 1, 1, 8, 3)


def test_without_a_worker_it_is_ready_until_work_waits_too_long() -> None:
    assert judge_workers([], now=NOW, overdue=None).fault is None
    assert judge_workers([], now=NOW, overdue=OVERDUE_AFTER).fault is None
    assert judge_workers([], now=NOW, overdue=LONG).fault == "no_worker"


def test_a_worker_that_fell_silent_does_not_count() -> None:
    assert judge_workers([silent(WORKER, SILENT_AFTER)], now=NOW, overdue=LONG).fault is None
    assert judge_workers([silent(WORKER, SILENT_AFTER + SECOND)], now=NOW, overdue=LONG).fault == "no_worker"


def test_a_worker_that_reports_but_does_not_claim_is_alive_and_does_not_count() -> None:
    stuck = replace(WORKER, claimed_at=NOW - SILENT_AFTER - SECOND)
    verdict = judge_workers([stuck], now=NOW, overdue=LONG)
    assert (verdict.fault, verdict.alive, verdict.claiming) == ("no_worker", 1, 0)


def test_the_own_worker_must_claim_though_nothing_is_due() -> None:
    stuck = silent(WORKER, SILENT_AFTER + SECOND)
    assert judge_workers([], now=NOW, overdue=None, own=stuck).fault == "worker_stuck"
    other = replace(WORKER, worker_id="wrk_2")
    assert judge_workers([other], now=NOW, overdue=None, own=stuck).fault == "worker_stuck"


def test_the_own_worker_vouches_for_itself_when_its_report_is_old() -> None:
    verdict = judge_workers([silent(WORKER, timedelta(hours=1))], now=NOW, overdue=LONG, own=WORKER)
    assert (verdict.fault, verdict.alive, verdict.claiming) == (None, 1, 1)


@given(seen=ages, claimed=ages, overdue=st.none() | ages)
def test_one_more_worker_that_claims_never_makes_it_worse(
    seen: timedelta, claimed: timedelta, overdue: timedelta | None
) -> None:
    some = replace(WORKER, worker_id="wrk_2", seen_at=NOW - seen, claimed_at=NOW - claimed)
    assert judge_workers([some, WORKER], now=NOW, overdue=overdue).fault is None
    alone = judge_workers([some], now=NOW, overdue=overdue)
    assert alone.claiming <= alone.alive <= 1


async def test_a_working_runner_is_seen_and_takes_its_report_back(
    db: Database, org: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(attempt: Attempt) -> None: ...

    async def seen() -> list[Worker]:
        async with db.tx(None) as tx:
            return await store.list_workers(tx, since=SystemClock().now() - SILENT_AFTER)

    worker = Runner(db, clock, {"k": JobKind(name="k", run=run)}, concurrency=3)
    assert worker.presence.worker.busy == 0
    async with worker.run_in_background():
        while not await seen():
            await asyncio.sleep(0.01)
        (one,) = await seen()
        assert (one.worker_id, one.slots) == (worker.presence.worker.worker_id, 3)
        first = worker.presence.worker.claimed_at
        while worker.presence.worker.claimed_at == first:
            await asyncio.sleep(0.01)
    assert await seen() == []


async def test_overdue_counts_what_could_be_claimed(db: Database, org: str, clock: ManualClock) -> None:
    async def overdue() -> timedelta | None:
        async with db.tx(None) as tx:
            since, _ = await store.overdue_since(tx)
        return None if since is None else clock.now() - since

    assert await overdue() is None
    async with db.tx(org) as tx:
        await store.enqueue_work(tx, Scope(org_id=org), "k", "a", due_at=clock.now() + timedelta(minutes=1))
    assert await overdue() is None
    clock.advance(timedelta(minutes=3))
    assert await overdue() == timedelta(minutes=2)
    async with db.tx(None) as tx:
        (item,) = await store.claim_work(tx, kinds=["k"], most=1, lease_until=clock.now() + timedelta(minutes=1))
    assert await overdue() is None
    async with db.tx(org) as tx:
        await store.park_work(tx, item, "no")
    assert await overdue() is None


async def test_the_lag_of_a_kind_leaves_out_what_waits_behind_an_item_of_its_lane(
    db: Database, org: str, clock: ManualClock
) -> None:
    async with db.tx(org) as tx:
        for seq, due in ((1, timedelta(minutes=5)), (2, timedelta())):
            due_at = clock.now() + due
            await store.enqueue_work(tx, Scope(org_id=org), "k", f"turn{seq}", due_at=due_at, lane="s", seq=seq)
    clock.advance(timedelta(minutes=2))
    async with db.tx(None) as tx:
        (row,) = await store.installation_counts(tx)
        assert (row["number"], row["overdue"]) == (2, None)
    clock.advance(timedelta(minutes=4))
    async with db.tx(None) as tx:
        (row,) = await store.installation_counts(tx)
        assert (row["overdue"], False) == await store.overdue_since(tx)
        assert clock.now() - row["overdue"] == timedelta(minutes=1)
