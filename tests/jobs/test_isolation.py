"""Items that were lost with their worker run in a process of their own, and the runner is witness to how that ends."""

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from structlog.testing import capture_logs

from mnemon.clock import ManualClock, format_time
from mnemon.db.database import Database
from mnemon.jobs import store
from mnemon.jobs.isolation import CHILDREN_DIED, CHILDREN_STARTED, ChildOrder, Isolation, ItemProcess, parse_order
from mnemon.jobs.runner import Runner
from mnemon.jobs.work import Job, WorkItem, WorkStatus
from mnemon.scope import Scope
from support.bounds import HANGS_S
from support.lone_items import isolation_in, kinds_in, noted


class Place:
    """A folder for what runs to leave its lines in, and a runner that has one."""

    def __init__(self, db: Database, org: str, clock: ManualClock, folder: Path) -> None:
        self.db = db
        self.org = org
        self.clock = clock
        self.folder = folder
        self.isolation = isolation_in(db.url, folder)
        self.advance()

    def advance(self, **delta: float) -> None:
        """Move the time of the runner and of its children."""
        self.clock.advance(timedelta(**delta))
        (self.folder / "clock").write_text(format_time(self.clock.now()))

    def runner(self, isolation: Isolation | None = None) -> Runner:
        return Runner(self.db, self.clock, kinds_in(self.folder), isolation=isolation or self.isolation)

    async def put(self, kind: str, *keys: str) -> None:
        async with self.db.tx(self.org) as tx:
            for key in keys:
                await store.enqueue_work(tx, Scope(org_id=self.org), kind, key)

    async def lose(self) -> None:
        """A worker claims what is due and is never heard of again."""
        async with self.db.tx(None) as tx:
            kinds = list(kinds_in(self.folder))
            assert await store.claim_work(tx, kinds=kinds, most=99, lease_until=tx.now + timedelta(seconds=60))
        self.advance(seconds=61)

    async def jobs(self) -> list[Job]:
        async with self.db.tx(self.org) as tx:
            return await store.list_jobs(tx, Scope(org_id=self.org))

    async def deaths(self) -> int:
        async with self.db.tx(self.org) as tx:
            rows = await tx.fetch_all("select deaths from work where org_id = %(org)s", org=self.org)
        return int(rows[0]["deaths"])

    def begun(self) -> list[tuple[str, int]]:
        return noted(self.folder / "begun")

    def ended(self) -> list[tuple[str, int]]:
        return noted(self.folder / "ended")


@pytest.fixture
def place(db: Database, org: str, clock: ManualClock, tmp_path: Path) -> Place:
    return Place(db, org, clock, tmp_path)


async def until(met: Callable[[], object]) -> None:
    async with asyncio.timeout(HANGS_S):
        while not met():
            await asyncio.sleep(0.01)


async def test_an_item_that_lost_its_worker_is_run_in_a_process_of_its_own(place: Place) -> None:
    await place.put("plain", "lost")
    await place.lose()
    await place.put("plain", "new")
    started = CHILDREN_STARTED._value.get()
    assert await place.runner().drain() == 2
    ran = dict(place.ended())
    assert ran["new"] == os.getpid()
    assert ran["lost"] != os.getpid()
    assert await place.jobs() == []
    assert CHILDREN_STARTED._value.get() == started + 1


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("killing", "was ended by signal 9 (SIGKILL)"),
        ("leaving", "ended with exit code 0"),
        ("stopping", "did not end within 1 s and was killed"),
        ("holding", "did not end within 1 s and was killed"),
    ],
)
async def test_an_item_that_ends_or_freezes_its_process_twice_is_parked(place: Place, kind: str, how: str) -> None:
    await place.put(kind, "bad")
    await place.lose()
    await place.put("plain", *"abcdefghij")
    died = CHILDREN_DIED._value.get()
    with capture_logs() as lines:
        assert await place.runner().drain() == 11
    assert {key for key, _ in place.ended()} == set("abcdefghij"), "the rest is done meanwhile"
    (job,) = await place.jobs()
    assert (job.key, job.status) == ("bad", WorkStatus.PARKED)
    assert job.error is not None
    assert job.error.startswith("worker_died: It ended its process twice: ")
    assert how in job.error
    assert CHILDREN_DIED._value.get() == died + 1
    begun, line = [line for line in lines if line.get("key") == "bad"]
    assert begun["event"] == "work_isolated"
    assert (line["outcome"], line["error"], line["log_level"]) == ("parked", "worker_died", "warning")
    assert "mnemon jobs" in line["next_step"]
    assert await place.runner().drain() == 0, "it is not tried again"


async def test_a_frozen_process_is_gone_afterwards(place: Place) -> None:
    await place.put("stopping", "bad")
    await place.lose()
    await place.runner().drain()
    ((_, pid),) = place.begun()
    assert not psutil.pid_exists(pid)


async def test_a_failure_in_a_process_of_its_own_is_a_failure_like_any_other(place: Place) -> None:
    await place.put("failing", "bad")
    await place.lose()
    assert await place.runner().drain() == 1
    (job,) = await place.jobs()
    assert (job.status, job.error) == (WorkStatus.QUEUED, "model_unavailable: away")
    assert await place.deaths() == 0, "it ended as work should"


async def test_an_item_that_runs_out_of_time_stops_itself_there_too(place: Place) -> None:
    await place.put("endless", "bad")
    await place.lose()
    assert await place.runner(replace(place.isolation, grace_s=HANGS_S)).drain() == 1
    (job,) = await place.jobs()
    assert job.status is WorkStatus.PARKED
    assert (job.error or "").startswith("timed_out: ")


async def test_a_process_that_does_not_start_says_nothing_about_its_item(place: Place) -> None:
    await place.put("plain", "lost")
    await place.lose()
    for command in (("/nowhere/to/be/found",), ("/bin/false",)):
        assert await place.runner(replace(place.isolation, command=command)).drain() == 1
        (job,) = await place.jobs()
        assert job.status is WorkStatus.QUEUED
        assert (job.error or "").startswith("child_not_started: ")
        assert await place.deaths() == 1, "it still needs a process of its own"
        place.advance(minutes=10)
    assert await place.runner().drain() == 1
    assert [key for key, _ in place.ended()] == ["lost"]


async def test_one_such_item_runs_at_a_time_and_the_others_wait_in_the_queue(place: Place) -> None:
    await place.put("stepping", *"abc")
    await place.lose()
    await place.put("plain", *"defghijkl")
    worker = place.runner()
    assert await worker.claim_and_start() == 8, "one of the three, and seven others: those that wait take no slot"
    await until(lambda: len([key for key, _ in place.begun() if key in "abc"]) == 1)
    running = [job.key for job in await place.jobs() if job.status is WorkStatus.RUNNING]
    assert len(set(running) & set("abc")) == 1
    for name in ("step", "go"):
        (place.folder / name).touch()
    await worker.drain()
    assert sorted(key for key, _ in place.ended()) == list("abcdefghijkl")
    assert len({pid for key, pid in place.ended() if key in "abc"}) == 3


async def test_long_work_that_was_lost_does_not_keep_the_rest_waiting(place: Place) -> None:
    await place.put("waiting", "long")
    await place.put("plain", "short")
    await place.lose()
    worker = place.runner()
    assert await worker.claim_and_start() == 2
    await until(lambda: "short" in dict(place.ended()))
    assert "long" not in dict(place.ended())
    (place.folder / "go").touch()
    await worker.drain()
    assert await place.jobs() == []


async def test_a_runner_without_isolation_runs_it_itself(place: Place) -> None:
    await place.put("plain", "lost")
    await place.lose()
    assert await Runner(place.db, place.clock, kinds_in(place.folder)).drain() == 1
    assert place.ended() == [("lost", os.getpid())]


async def test_progress_starts_the_time_limit_anew_for_the_witness_too(place: Place) -> None:
    await place.put("stepping", "lost")
    await place.lose()
    async with place.db.tx(None) as tx:
        (item,) = await store.claim_work(tx, kinds=["stepping"], most=1, lease_until=tx.now + timedelta(hours=1))
    process = ItemProcess(place.isolation, item, timedelta(minutes=5))
    running = asyncio.create_task(process.run())
    await until(place.begun)
    before = process.deadline()
    (place.folder / "step").touch()
    await until(lambda: process.deadline() > before)
    (place.folder / "go").touch()
    await running
    assert await place.jobs() == []


async def test_a_runner_that_stops_has_the_item_handed_back(place: Place) -> None:
    await place.put("waiting", "lost")
    await place.lose()
    worker = place.runner()
    assert await worker.claim_and_start() == 1
    await until(place.begun)
    ((_, pid),) = place.begun()
    with capture_logs() as lines:
        await worker.stop(grace_s=0)
    assert not psutil.pid_exists(pid)
    (job,) = await place.jobs()
    assert (job.status, job.attempts) == (WorkStatus.QUEUED, 1), "the try is not counted; the lost one was"
    assert await place.deaths() == 1
    assert lines == [], "the child has logged the outcome"


async def test_a_process_that_does_not_stop_is_killed_and_its_item_handed_back(place: Place) -> None:
    await place.put("stopping", "bad")
    await place.lose()
    worker = place.runner(replace(place.isolation, grace_s=HANGS_S, end_s=0.2, stop_s=0.2))
    assert await worker.claim_and_start() == 1
    await until(place.begun)
    ((_, pid),) = place.begun()
    await until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    with capture_logs() as lines:
        await worker.stop(grace_s=0)
    assert not psutil.pid_exists(pid)
    (job,) = await place.jobs()
    assert job.status is WorkStatus.QUEUED
    assert [line["outcome"] for line in lines] == ["handed_back"]


async def test_a_signal_to_the_child_alone_hands_the_item_back(place: Place) -> None:
    """As when a service manager asks every process of a service to stop."""
    await place.put("waiting", "lost")
    await place.lose()
    worker = place.runner()
    assert await worker.claim_and_start() == 1
    await until(place.begun)
    ((_, pid),) = place.begun()
    os.kill(pid, signal.SIGTERM)
    await until(lambda: not psutil.pid_exists(pid))
    (place.folder / "go").touch()
    await worker.drain()
    assert [key for key, _ in place.ended()] == ["lost"]
    assert await place.jobs() == []


def test_an_order_crosses_the_pipe_and_shows_no_secret() -> None:
    item = WorkItem(org_id="acme", kind="k", key="a\nb", job_id="job_1", attempts=2, token=7, deaths=1)
    order = ChildOrder(parent=1, item=item, opening={"settings": {"model_api_key": "s3cret"}})
    assert order.to_line().count(b"\n") == 1
    assert parse_order(order.to_line()) == order
    assert "s3cret" not in repr(order)
    assert "s3cret" not in repr(Isolation(command=("x",), opening=order.opening))
