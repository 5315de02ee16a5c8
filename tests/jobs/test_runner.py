"""The runner against a real database."""

import asyncio
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.errors import Contended, DatabaseDown, ModelDown
from mnemon.jobs import store
from mnemon.jobs.kind import Attempt, JobHandler, JobKind, SlotGroup
from mnemon.jobs.runner import MAX_DEATHS, Runner
from mnemon.jobs.work import LeaseLost, WorkItem, WorkRetryPolicy, WorkStatus
from mnemon.scope import Scope
from mnemon.supervisor import RESTARTS
from support.bounds import HANGS_S


async def put(db: Database, org: str, kind: str, key: str, **options: object) -> str:
    async with db.tx(org) as tx:
        return await store.enqueue_work(tx, Scope(org_id=org), kind, key, **options)  # type: ignore[arg-type]


async def listed(db: Database, org: str) -> list[tuple[str, WorkStatus]]:
    async with db.tx(org) as tx:
        return [(job.key, job.status) for job in await store.list_jobs(tx, Scope(org_id=org))]


def runner(db: Database, clock: ManualClock, run: object, **options: object) -> Runner:
    return Runner(db, clock, {"k": JobKind(name="k", run=run, **options)})  # type: ignore[arg-type]


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
    assert await listed(db, org) == [("same", WorkStatus.QUEUED)]


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
    worker = runner(db, clock, run, retry=WorkRetryPolicy(max_attempts=3))
    tries = await worker.drain()
    while (await listed(db, org))[0][1] is WorkStatus.QUEUED:
        clock.advance(timedelta(minutes=5))
        tries += await worker.drain()
    assert tries == 3
    async with db.tx(org) as tx:
        job = await store.load_job(tx, Scope(org_id=org), job_id)
        assert job is not None
        assert (job.status, job.attempts, job.error) == (WorkStatus.PARKED, 3, "model_unavailable: The model is away.")
        down = False
        assert await store.retry_job(tx, Scope(org_id=org), job_id)
    assert await worker.drain() == 1
    assert await listed(db, org) == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Contended("Two writers blocked each other."), "No action needed: it is retried by itself."),
        (DatabaseDown("Run `mnemon migrate`.", code="database_forbidden"), "Run `mnemon migrate`."),
        (ModelDown("It quotes: secret", code="model_refused"), "Look at the model_call"),
        (RuntimeError("secret"), "If it repeats, it is a bug in Mnemon"),
    ],
)
async def test_a_failure_that_a_retry_does_not_mend_says_what_does(
    db: Database, org: str, clock: ManualClock, error: Exception, told: str
) -> None:
    async def run(attempt: Attempt) -> None:
        raise error

    await put(db, org, "k", "a")
    with capture_logs() as lines:
        await runner(db, clock, run).drain()
    (line,) = [line for line in lines if line["event"] == "work_finished"]
    assert line["outcome"] == "failed"
    assert line["next_step"].startswith(told)
    assert "secret" not in line["next_step"]


async def test_an_unknown_error_is_named_by_its_type_only(db: Database, org: str, clock: ManualClock) -> None:
    async def run(attempt: Attempt) -> None:
        raise RuntimeError("the person's secret")

    await put(db, org, "k", "a")
    await runner(db, clock, run, retry=WorkRetryPolicy(max_attempts=1)).drain()
    async with db.tx(org) as tx:
        (job,) = await store.list_jobs(tx, Scope(org_id=org))
    assert job.error == "RuntimeError"


def one_at_a_time() -> tuple[JobHandler, list[str]]:
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
    worker = runner(db, clock, run, retry=WorkRetryPolicy(max_attempts=2))
    await worker.drain()
    assert seen == []
    clock.advance(timedelta(minutes=10))
    await worker.drain()
    assert seen == ["2"]
    assert await listed(db, org) == [("1", WorkStatus.PARKED)]


async def test_a_lost_lease_fences_the_late_writer(db: Database, org: str, clock: ManualClock) -> None:
    await put(db, org, "k", "a")
    async with db.tx(None) as tx:
        (old,) = await store.claim_work(tx, kinds=["k"], most=1, lease_until=tx.now + timedelta(seconds=60))
    clock.advance(timedelta(seconds=61))
    async with db.tx(None) as tx:
        (new,) = await store.claim_work(tx, kinds=["k"], most=1, lease_until=tx.now + timedelta(seconds=60))
    assert new.token > old.token
    with pytest.raises(LeaseLost):
        async with db.tx(org) as tx:
            await store.lock_work(tx, old)
    async with db.tx(org) as tx:
        await store.settle_work(tx, new)
    assert await listed(db, org) == []


async def test_settling_inside_the_effect_is_all_or_nothing(db: Database, org: str, clock: ManualClock) -> None:
    async def run(attempt: Attempt) -> None:
        async with db.tx(org) as tx:
            await store.enqueue_work(tx, attempt.scope, "effect", attempt.key)
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
        assert [job.kind for job in await store.list_jobs(tx, Scope(org_id=org))] == ["effect"]


async def test_stopping_hands_unfinished_work_back_without_counting_the_try(
    db: Database, org: str, clock: ManualClock
) -> None:
    started = asyncio.Event()

    async def run(attempt: Attempt) -> None:
        started.set()
        await asyncio.Event().wait()

    await put(db, org, "k", "a")
    worker = runner(db, clock, run)
    await worker.claim_and_start()
    await started.wait()
    await worker.stop(grace_s=0.01)
    async with db.tx(org) as tx:
        (job,) = await store.list_jobs(tx, Scope(org_id=org))
    assert (job.status, job.attempts) == (WorkStatus.QUEUED, 0)


async def test_what_runs_when_the_block_ends_may_finish_and_nothing_more_is_begun(
    db: Database, org: str, clock: ManualClock
) -> None:
    started, over, ran = asyncio.Event(), asyncio.Event(), []

    async def run(attempt: Attempt) -> None:
        ran.append(attempt.key)
        started.set()
        await over.wait()

    await put(db, org, "k", "a")
    async with runner(db, clock, run).run_in_background():
        await asyncio.wait_for(started.wait(), HANGS_S)
        asyncio.get_running_loop().call_later(0.3, over.set)
    assert await listed(db, org) == []
    await put(db, org, "k", "b")
    await asyncio.sleep(0)
    assert ran == ["a"]


async def test_a_claim_lasts_as_long_as_the_longest_lease_of_its_kinds(
    db: Database, org: str, clock: ManualClock
) -> None:
    leases: list[timedelta] = []

    async def run(attempt: Attempt) -> None:
        async with db.tx(org) as tx:
            (job,) = await store.list_jobs(tx, attempt.scope)
        assert job.lease_until is not None
        leases.append(job.lease_until - clock.now())

    kinds = [JobKind(name=str(minutes), run=run, lease=timedelta(minutes=minutes)) for minutes in (5, 9, 2)]
    await put(db, org, "2", "a")
    assert await Runner(db, clock, {kind.name: kind for kind in kinds}).drain() == 1
    assert leases == [timedelta(minutes=9)]


async def test_reserved_work_is_left_to_the_runner_of_its_organization(
    db: Database, org: str, clock: ManualClock
) -> None:
    async def run(attempt: Attempt) -> None: ...

    everyone = runner(db, clock, run)
    await put(db, org, "k", "ours")
    reserved = await reserve(db, org, clock)
    assert reserved is not None
    assert await everyone.drain() == 0
    ours = Runner(db, clock, {"k": JobKind(name="k", run=run)}, only=org)
    assert await ours.drain() == 1
    await put(db, org, "k", "later")
    assert await everyone.drain() == 0
    async with db.tx(org) as tx:
        await store.settle_work(tx, reserved)
    assert await everyone.drain() == 1


async def test_two_cannot_reserve_one_organization(db: Database, org: str, clock: ManualClock) -> None:
    first = await reserve(db, org, clock)
    assert first is not None
    assert await reserve(db, org, clock) is None
    assert await reserve(db, "another", clock) is not None
    clock.advance(timedelta(seconds=40))
    async with db.tx(org) as tx:
        assert await store.renew_lease(tx, first, clock.now() + timedelta(minutes=1))
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


async def reserve(db: Database, org: str, clock: ManualClock) -> WorkItem | None:
    async with db.tx(org) as tx:
        return await store.reserve_organization(tx, Scope(org_id=org), lease_until=clock.now() + timedelta(minutes=1))


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
    assert await Runner(db, clock, {"k": JobKind(name="k", run=run)}, only="another").drain() == 0
    assert await listed(db, org) == [("ours", WorkStatus.QUEUED)]


async def test_writers_in_the_way_of_a_claim_do_not_end_the_runner(
    db: Database, org: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = asyncio.Event()
    claim, failures = store.claim_work, [Contended("Others were in the way.")]

    async def run(attempt: Attempt) -> None:
        done.set()

    async def contended(*given: Any, **options: Any) -> list[WorkItem]:
        if failures:
            raise failures.pop()
        return await claim(*given, **options)

    monkeypatch.setattr(store, "claim_work", contended)
    await put(db, org, "k", "a")
    async with runner(db, clock, run).run_in_background():
        await asyncio.wait_for(done.wait(), HANGS_S)
    assert failures == []
    assert await listed(db, org) == []


async def test_a_settle_that_gives_way_frees_its_slot_and_is_tried_again(
    db: Database, org: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle, failures = store.settle_work, [Contended("Two writers blocked each other.")]

    async def run(attempt: Attempt) -> None: ...

    async def contended(*given: Any, **options: Any) -> None:
        if failures:
            raise failures.pop()
        await settle(*given, **options)

    monkeypatch.setattr(store, "settle_work", contended)
    await put(db, org, "k", "a")
    worker = runner(db, clock, run)
    assert await worker.drain() == 1
    assert await listed(db, org) == [("a", WorkStatus.QUEUED)]
    clock.advance(timedelta(minutes=1))
    assert await worker.drain() == 1
    assert await listed(db, org) == []


async def test_a_privilege_that_is_missing_for_a_moment_does_not_end_the_runner(
    db: Database, org: str, clock: ManualClock, database_url: str
) -> None:
    done, missed = asyncio.Event(), RESTARTS.labels("work_runner")._value.get()

    async def run(attempt: Attempt) -> None:
        done.set()

    await put(db, org, "k", "a", due_at=clock.now() + timedelta(hours=1))
    async with (
        await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner,
        runner(db, clock, run).run_in_background(),
    ):
        await owner.execute("revoke update on work from mnemon_app")
        clock.advance(timedelta(hours=1))
        while RESTARTS.labels("work_runner")._value.get() < missed + 2:
            await asyncio.sleep(0.01)
        await owner.execute("grant update on work to mnemon_app")
        await asyncio.wait_for(done.wait(), HANGS_S)
    assert await listed(db, org) == []


async def test_work_that_hangs_is_stopped_at_its_time_limit_and_counts_as_failed(
    db: Database, org: str, clock: ManualClock
) -> None:
    async def run(attempt: Attempt) -> None:
        await asyncio.Event().wait()

    await put(db, org, "k", "a")
    worker = runner(db, clock, run, time_limit=timedelta(milliseconds=20), retry=WorkRetryPolicy(max_attempts=1))
    with capture_logs() as lines:
        assert await worker.drain() == 1
    async with db.tx(org) as tx:
        (job,) = await store.list_jobs(tx, Scope(org_id=org))
    assert (job.status, job.error) == (
        WorkStatus.PARKED,
        "timed_out: It took longer than 0.02 s without progress and was stopped.",
    )
    assert [(line["event"], line["outcome"], line["error"]) for line in lines] == [
        ("work_finished", "parked", "timed_out")
    ]


async def test_a_timeout_of_the_handlers_own_is_not_taken_for_the_time_limit(
    db: Database, org: str, clock: ManualClock
) -> None:
    async def run(attempt: Attempt) -> None:
        raise TimeoutError

    await put(db, org, "k", "a")
    await runner(db, clock, run, retry=WorkRetryPolicy(max_attempts=1)).drain()
    async with db.tx(org) as tx:
        (job,) = await store.list_jobs(tx, Scope(org_id=org))
    assert job.error == "TimeoutError"


async def test_progress_starts_the_time_limit_anew(db: Database, org: str, clock: ManualClock) -> None:
    limits: list[float] = []

    async def run(attempt: Attempt) -> None:
        loop = asyncio.get_running_loop()
        before = loop.time()
        attempt.extend_time_limit()
        assert attempt._bound is not None
        limits.append((attempt._bound.when() or 0) - before)

    await put(db, org, "k", "a")
    await runner(db, clock, run, time_limit=timedelta(seconds=100)).drain()
    assert 100 <= limits[0] < 200


async def test_the_lease_of_work_that_will_not_stop_runs_out_and_another_takes_it(
    db: Database, org: str, clock: ManualClock
) -> None:
    told, over = asyncio.Event(), asyncio.Event()
    lease = timedelta(milliseconds=30)

    async def stubborn(attempt: Attempt) -> None:
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                told.set()

    async def run(attempt: Attempt) -> None: ...

    await put(db, org, "k", "a")
    first = runner(db, clock, stubborn, time_limit=timedelta(milliseconds=20), lease=lease)
    second = runner(db, clock, run, lease=lease)
    await first.claim_and_start()
    await told.wait()
    clock.advance(timedelta(hours=1))
    await asyncio.sleep(lease.total_seconds())  # three times as long as a keeper waits before it renews
    taken = await second.claim_and_start()
    over.set()
    await second.drain()
    await first.stop()
    assert taken == 1
    assert await listed(db, org) == []


async def test_what_is_told_at_parking_is_written_with_the_parking_or_not_at_all(
    db: Database, org: str, clock: ManualClock
) -> None:
    failures = [ModelDown("not yet")]

    async def run(attempt: Attempt) -> None:
        raise ModelDown("away")

    async def tell(tx: Tx, item: WorkItem, said: str) -> None:
        await store.enqueue_work(tx, Scope(org_id=org), "told", said)
        if failures:
            raise failures.pop()

    await put(db, org, "k", "a")
    worker = runner(db, clock, run, retry=WorkRetryPolicy(max_attempts=1), on_park=tell)
    assert await worker.drain() == 1
    async with db.tx(org) as tx:
        kinds = {(job.kind, job.status) for job in await store.list_jobs(tx, Scope(org_id=org))}
    assert kinds == {("k", WorkStatus.PARKED), ("told", WorkStatus.QUEUED)}


async def test_each_try_leaves_one_line_with_its_outcome(db: Database, org: str, clock: ManualClock) -> None:
    async def run(attempt: Attempt) -> None:
        if attempt.key == "again" and attempt.item.attempts == 1:
            async with db.tx(org) as tx:
                await attempt.repeat(tx, after=timedelta(hours=1))
        if attempt.key == "bad":
            raise RuntimeError("the person's secret")

    for key in ("good", "again", "bad"):
        await put(db, org, "k", key)
    with capture_logs() as lines:
        await runner(db, clock, run).drain()
    assert {(line["key"], line["outcome"], line.get("error")) for line in lines} == {
        ("good", "done", None),
        ("again", "repeated", None),
        ("bad", "failed", "RuntimeError"),
    }
    assert len(lines) == 3
    assert all({"kind", "org", "job", "attempt", "ms"} <= set(line) for line in lines)


async def lose_worker(db: Database, clock: ManualClock) -> None:
    """A worker claims what is due and is never heard of again."""
    async with db.tx(None) as tx:
        assert await store.claim_work(tx, kinds=["k"], most=9, lease_until=tx.now + timedelta(seconds=60))
    clock.advance(timedelta(seconds=61))


async def test_work_that_cost_many_workers_is_parked_and_not_run_again(
    db: Database, org: str, clock: ManualClock
) -> None:
    ran: list[str] = []
    told: list[str] = []

    async def run(attempt: Attempt) -> None:
        ran.append(attempt.key)

    async def on_park(tx: Tx, item: WorkItem, error: str) -> None:
        told.append(error)

    job_id = await put(db, org, "k", "deadly")
    many = WorkRetryPolicy(max_attempts=10_000)
    for _ in range(MAX_DEATHS):
        await lose_worker(db, clock)
    assert await runner(db, clock, run, on_park=on_park, retry=many).drain() == 1
    assert ran == []
    assert await listed(db, org) == [("deadly", WorkStatus.PARKED)]
    async with db.tx(org) as tx:
        job = await store.load_job(tx, Scope(org_id=org), job_id)
    assert job is not None
    assert job.error is not None
    assert job.error.startswith("worker_died: ")
    assert told == [job.error]
    async with db.tx(org) as tx:
        assert await store.retry_job(tx, Scope(org_id=org), job_id)
    assert await runner(db, clock, run).drain() == 1, "somebody mended the cause and ran it again"
    assert ran == ["deadly"]


async def test_work_that_cost_one_worker_is_run_by_the_next_and_starts_anew(
    db: Database, org: str, clock: ManualClock
) -> None:
    ran: list[int] = []

    async def run(attempt: Attempt) -> None:
        ran.append(attempt.item.deaths)
        if len(ran) == 1:
            raise ModelDown("away")

    await put(db, org, "k", "unlucky")
    await lose_worker(db, clock)
    assert await runner(db, clock, run).drain() == 1
    clock.advance(timedelta(minutes=10))
    await lose_worker(db, clock)
    assert await runner(db, clock, run).drain() == 1
    assert ran == [1, 1], "the try that ended by itself wiped the count"
    assert await listed(db, org) == []


async def test_work_that_ran_out_of_time_twice_is_parked_however_many_tries_it_has(
    db: Database, org: str, clock: ManualClock
) -> None:
    async def run(attempt: Attempt) -> None:
        await asyncio.Event().wait()

    await put(db, org, "k", "endless")
    options: dict[str, Any] = {"retry": WorkRetryPolicy(max_attempts=10_000), "time_limit": timedelta(milliseconds=20)}
    assert await runner(db, clock, run, **options).drain() == 1
    assert await listed(db, org) == [("endless", WorkStatus.QUEUED)]
    clock.advance(timedelta(minutes=10))
    assert await runner(db, clock, run, **options).drain() == 1
    assert await listed(db, org) == [("endless", WorkStatus.PARKED)]


async def test_long_work_leaves_half_of_the_slots_to_the_rest(db: Database, org: str, clock: ManualClock) -> None:
    running: list[str] = []
    over = asyncio.Event()

    async def wait(attempt: Attempt) -> None:
        running.append(attempt.item.kind)
        await over.wait()

    kinds = {"run": JobKind(name="run", run=wait, group=SlotGroup.RUNS), "turn": JobKind(name="turn", run=wait)}
    worker = Runner(db, clock, kinds, concurrency=4)
    for number in range(6):
        await put(db, org, "run", str(number))
        await put(db, org, "turn", str(number))
    assert await worker.claim_and_start() == 4
    await asyncio.sleep(0)
    over.set()
    first = sorted(running)
    await worker.drain()
    assert first == ["run", "run", "turn", "turn"]
    assert await listed(db, org) == []


async def test_long_work_alone_takes_half_of_the_slots_and_at_least_one(
    db: Database, org: str, clock: ManualClock
) -> None:
    async def run(attempt: Attempt) -> None: ...

    for number in range(6):
        await put(db, org, "run", str(number))
    kinds = {"run": JobKind(name="run", run=run, group=SlotGroup.RUNS)}
    worker = Runner(db, clock, kinds, concurrency=4)
    assert await worker.claim_and_start() == 2
    assert await worker.drain() == 4
    await put(db, org, "run", "one more")
    assert await Runner(db, clock, kinds, concurrency=1).drain() == 1


async def test_when_all_slots_are_taken_each_group_still_runs_one_item(
    db: Database, org: str, clock: ManualClock
) -> None:
    running: list[str] = []
    over = asyncio.Event()

    async def wait(attempt: Attempt) -> None:
        running.append(attempt.item.kind)
        await over.wait()

    kinds = {group.value: JobKind(name=group.value, run=wait, group=group) for group in SlotGroup}
    worker = Runner(db, clock, kinds, concurrency=1)
    for number in range(3):
        await put(db, org, SlotGroup.REFLECTION.value, str(number))
    assert await worker.claim_and_start() == 1
    assert await worker.claim_and_start() == 0, "reflections wait for each other"
    for group in SlotGroup:
        await put(db, org, group.value, "late")
    assert await worker.claim_and_start() == 3
    assert await worker.claim_and_start() == 0
    await asyncio.sleep(0)
    first = sorted(running)
    assert worker.presence.worker.slots == 1
    over.set()
    await worker.drain()
    assert first == sorted(group.value for group in SlotGroup)
    assert await listed(db, org) == []
