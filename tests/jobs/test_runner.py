"""The runner against a real database."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.errors import Contended, ModelDown
from mnemon.jobs import store
from mnemon.jobs.runner import Attempt, Handler, Kind, Runner
from mnemon.jobs.work import Item, LeaseLost, Retry, Status
from mnemon.scope import Scope
from support.bounds import HANGS_S


async def put(db: Database, org: str, kind: str, key: str, **options: object) -> str:
    async with db.tx(org) as tx:
        return await store.enqueue(tx, Scope(org_id=org), kind, key, **options)  # type: ignore[arg-type]


async def listed(db: Database, org: str) -> list[tuple[str, Status]]:
    async with db.tx(org) as tx:
        return [(job.key, job.status) for job in await store.jobs(tx, Scope(org_id=org))]


def runner(db: Database, clock: ManualClock, run: object, **options: object) -> Runner:
    return Runner(db, clock, {"k": Kind(name="k", run=run, **options)})  # type: ignore[arg-type]


async def test_due_work_runs_once_and_is_gone(db: Database, org: str, clock: ManualClock) -> None:
    seen: list[str] = []

    async def run(attempt: Attempt) -> None:
        seen.append(attempt.key)

    for key in "abc":
        await put(db, org, "k", key)
    assert await runner(db, clock, run).drain() == 3
    assert sorted(seen) == ["a", "b", "c"]
    assert await listed(db, org) == []


async def test_work_waits_for_its_time_in_our_clock(db: Database, org: str, clock: ManualClock) -> None:
    async def run(attempt: Attempt) -> None: ...

    await put(db, org, "k", "later", due_at=clock.now() + timedelta(hours=1))
    assert await runner(db, clock, run).drain() == 0
    clock.advance(timedelta(hours=1))
    assert await runner(db, clock, run).drain() == 1


async def test_the_same_work_is_queued_once(db: Database, org: str) -> None:
    first = await put(db, org, "k", "same")
    assert await put(db, org, "k", "same") == first
    assert await listed(db, org) == [("same", Status.QUEUED)]


async def test_work_asked_for_while_it_runs_runs_once_more(db: Database, org: str, clock: ManualClock) -> None:
    runs = 0

    async def run(attempt: Attempt) -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            await put(db, org, "k", attempt.key)

    await put(db, org, "k", "a")
    assert await runner(db, clock, run).drain() == 2
    assert await listed(db, org) == []


async def test_failures_back_off_then_park_and_can_be_run_again(db: Database, org: str, clock: ManualClock) -> None:
    down = True

    async def run(attempt: Attempt) -> None:
        if down:
            raise ModelDown("The model is away.")

    job_id = await put(db, org, "k", "a")
    worker = runner(db, clock, run, retry=Retry(max_attempts=3))
    tries = await worker.drain()
    while (await listed(db, org))[0][1] is Status.QUEUED:
        clock.advance(timedelta(minutes=5))
        tries += await worker.drain()
    assert tries == 3
    async with db.tx(org) as tx:
        job = await store.job(tx, Scope(org_id=org), job_id)
        assert job is not None
        assert (job.status, job.attempts, job.error) == (Status.PARKED, 3, "model_unavailable: The model is away.")
        down = False
        assert await store.retry(tx, Scope(org_id=org), job_id)
    assert await worker.drain() == 1
    assert await listed(db, org) == []


async def test_an_unknown_error_is_named_by_its_type_only(db: Database, org: str, clock: ManualClock) -> None:
    async def run(attempt: Attempt) -> None:
        raise RuntimeError("the person's secret")

    await put(db, org, "k", "a")
    await runner(db, clock, run, retry=Retry(max_attempts=1)).drain()
    async with db.tx(org) as tx:
        (job,) = await store.jobs(tx, Scope(org_id=org))
    assert job.error == "RuntimeError"


def one_at_a_time() -> tuple[Handler, list[str]]:
    """A handler that fails when two run at once, and the keys it has seen."""
    running = 0
    seen: list[str] = []

    async def run(attempt: Attempt) -> None:
        nonlocal running
        running += 1
        assert running == 1
        await asyncio.sleep(0.005)
        seen.append(attempt.key)
        running -= 1

    return run, seen


async def test_a_lane_runs_in_order_one_at_a_time(db: Database, org: str, clock: ManualClock) -> None:
    run, seen = one_at_a_time()
    for number in (3, 1, 2, 0):
        await put(db, org, "k", str(number), lane="s", seq=number)
    first, second = runner(db, clock, run), runner(db, clock, run)
    while len(seen) < 4:
        await asyncio.gather(first.drain(), second.drain())
    assert seen == ["0", "1", "2", "3"]


async def test_a_failing_head_holds_its_lane_until_it_is_parked(db: Database, org: str, clock: ManualClock) -> None:
    seen: list[str] = []

    async def run(attempt: Attempt) -> None:
        if attempt.key == "1":
            raise ModelDown("away")
        seen.append(attempt.key)

    for number in (1, 2):
        await put(db, org, "k", str(number), lane="s", seq=number)
    worker = runner(db, clock, run, retry=Retry(max_attempts=2))
    await worker.drain()
    assert seen == []
    clock.advance(timedelta(minutes=10))
    await worker.drain()
    assert seen == ["2"]
    assert await listed(db, org) == [("1", Status.PARKED)]


async def test_a_lost_lease_fences_the_late_writer(db: Database, org: str, clock: ManualClock) -> None:
    await put(db, org, "k", "a")
    async with db.tx(None) as tx:
        (old,) = await store.claim(tx, kinds=["k"], most=1, lease_until=tx.now + timedelta(seconds=60))
    clock.advance(timedelta(seconds=61))
    async with db.tx(None) as tx:
        (new,) = await store.claim(tx, kinds=["k"], most=1, lease_until=tx.now + timedelta(seconds=60))
    assert new.token > old.token
    with pytest.raises(LeaseLost):
        async with db.tx(org) as tx:
            await store.hold(tx, old)
    async with db.tx(org) as tx:
        await store.settle(tx, new)
    assert await listed(db, org) == []


async def test_settling_inside_the_effect_is_all_or_nothing(db: Database, org: str, clock: ManualClock) -> None:
    async def run(attempt: Attempt) -> None:
        async with db.tx(org) as tx:
            await store.enqueue(tx, attempt.scope, "effect", attempt.key)
            await attempt.settle(tx)
            if attempt.item.attempts == 1:
                raise ModelDown("after the write, before the commit")

    await put(db, org, "k", "a")
    worker = runner(db, clock, run)
    await worker.drain()
    assert [key for key, _ in await listed(db, org)] == ["a"]
    clock.advance(timedelta(minutes=1))
    await worker.drain()
    async with db.tx(org) as tx:
        assert [job.kind for job in await store.jobs(tx, Scope(org_id=org))] == ["effect"]


async def test_stopping_hands_unfinished_work_back_without_counting_the_try(
    db: Database, org: str, clock: ManualClock
) -> None:
    started = asyncio.Event()

    async def run(attempt: Attempt) -> None:
        started.set()
        await asyncio.Event().wait()

    await put(db, org, "k", "a")
    worker = runner(db, clock, run)
    await worker.take()
    await started.wait()
    await worker.stop(grace_s=0.01)
    async with db.tx(org) as tx:
        (job,) = await store.jobs(tx, Scope(org_id=org))
    assert (job.status, job.attempts) == (Status.QUEUED, 0)


async def test_reserved_work_is_left_to_the_runner_of_its_organization(
    db: Database, org: str, clock: ManualClock
) -> None:
    async def run(attempt: Attempt) -> None: ...

    everyone = runner(db, clock, run)
    await put(db, org, "k", "ours")
    reserved = await reserve(db, org, clock)
    assert reserved is not None
    assert await everyone.drain() == 0
    ours = Runner(db, clock, {"k": Kind(name="k", run=run)}, only=org)
    assert await ours.drain() == 1
    await put(db, org, "k", "later")
    assert await everyone.drain() == 0
    async with db.tx(org) as tx:
        await store.settle(tx, reserved)
    assert await everyone.drain() == 1


async def test_two_cannot_reserve_one_organization(db: Database, org: str, clock: ManualClock) -> None:
    first = await reserve(db, org, clock)
    assert first is not None
    assert await reserve(db, org, clock) is None
    assert await reserve(db, "another", clock) is not None
    clock.advance(timedelta(seconds=40))
    async with db.tx(org) as tx:
        assert await store.renew(tx, first, clock.now() + timedelta(minutes=1))
    clock.advance(timedelta(seconds=40))
    assert await reserve(db, org, clock) is None


async def test_a_reservation_whose_holder_died_lapses_and_leaves_nothing(
    db: Database, org: str, clock: ManualClock
) -> None:
    seen: list[str] = []

    async def run(attempt: Attempt) -> None:
        seen.append(attempt.key)

    await reserve(db, org, clock)
    await put(db, org, "k", "waiting")
    clock.advance(timedelta(minutes=2))
    await runner(db, clock, run).drain()
    assert seen == ["waiting"]
    assert await listed(db, org) == []


async def reserve(db: Database, org: str, clock: ManualClock) -> Item | None:
    async with db.tx(org) as tx:
        return await store.reserve(tx, Scope(org_id=org), lease_until=clock.now() + timedelta(minutes=1))


async def test_items_with_the_same_place_in_a_lane_still_run_one_at_a_time(
    db: Database, org: str, clock: ManualClock
) -> None:
    run, seen = one_at_a_time()
    for key in "cab":
        await put(db, org, "k", key, lane="s", seq=7)
    assert await runner(db, clock, run).drain() == 3
    assert sorted(seen) == ["a", "b", "c"]


async def test_a_runner_of_one_organization_leaves_the_others_alone(db: Database, org: str, clock: ManualClock) -> None:
    async def run(attempt: Attempt) -> None: ...

    await put(db, org, "k", "ours")
    assert await Runner(db, clock, {"k": Kind(name="k", run=run)}, only="another").drain() == 0
    assert await listed(db, org) == [("ours", Status.QUEUED)]


async def test_writers_in_the_way_of_a_claim_do_not_end_the_runner(
    db: Database, org: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = asyncio.Event()
    claim, failures = store.claim, [Contended("Others were in the way.")]

    async def run(attempt: Attempt) -> None:
        done.set()

    async def contended(*given: Any, **options: Any) -> list[Item]:
        if failures:
            raise failures.pop()
        return await claim(*given, **options)

    monkeypatch.setattr(store, "claim", contended)
    await put(db, org, "k", "a")
    async with runner(db, clock, run).working():
        await asyncio.wait_for(done.wait(), HANGS_S)
    assert failures == []
    assert await listed(db, org) == []
