"""A runner with an isolation: which items it runs in a child process, how many at a time, and what it says of them."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.jobs import store
from mnemon.jobs.isolation import Isolation
from mnemon.jobs.kind import Attempt, JobKind, SlotGroup
from mnemon.jobs.runner import Runner
from mnemon.jobs.work import WorkStatus
from mnemon.scope import Scope
from support.bounds import HANGS_S

ACME = Scope(org_id="acme")
LEASE = timedelta(seconds=60)


class Place:
    """A runner whose children are shell scripts: each notes that it began, and ends when the file `go` is there."""

    def __init__(self, db: Database, clock: ManualClock, folder: Path) -> None:
        self.db, self.clock, self.folder = db, clock, folder
        self.here: list[str] = []
        """Keys that were run in this process."""
        kinds = [JobKind(name="k", run=self._run), JobKind(name="long", run=self._run, group=SlotGroup.RUNS)]
        wait = f"while [ ! -e {folder}/go ]; do sleep 0.01; done"
        script = f'read -r order; echo "$order" >> {folder}/begun; echo ready; {wait}; echo over'
        self.runner = Runner(
            db, clock, {one.name: one for one in kinds}, isolation=Isolation(command=("/bin/sh", "-c", script))
        )

    async def _run(self, attempt: Attempt) -> None:
        self.here.append(attempt.key)

    async def put(self, *keys: str, kind: str = "k") -> None:
        async with self.db.tx("acme") as tx:
            for key in keys:
                await store.enqueue_work(tx, ACME, kind, key)

    async def lose(self) -> None:
        """A worker claims what is due and is never heard of again."""
        async with self.db.tx(None) as tx:
            assert await store.claim_work(tx, kinds=["k", "long"], most=99, lease_until=tx.now + LEASE)
        self.clock.advance(LEASE)

    def begun(self) -> int:
        """How many children have begun."""
        place = self.folder / "begun"
        return len(place.read_text().splitlines()) if place.exists() else 0

    async def until(self, met: Callable[[], object]) -> None:
        async with asyncio.timeout(HANGS_S):
            while not met():
                await asyncio.sleep(0.005)

    async def statuses(self) -> dict[str, WorkStatus]:
        async with self.db.tx("acme") as tx:
            return {job.key: job.status for job in await store.list_jobs(tx, ACME)}

    async def end(self) -> None:
        (self.folder / "go").touch()
        await self.runner.stop(HANGS_S)


@pytest.fixture
def place(db: Database, org: str, clock: ManualClock, tmp_path: Path) -> Place:
    return Place(db, clock, tmp_path)


async def test_one_lost_item_takes_a_child_and_the_others_leave_their_slots_to_the_rest(place: Place) -> None:
    await place.put(*"abc")
    await place.lose()
    await place.put(*"defghijkl")
    with capture_logs() as lines:
        assert await place.runner.claim_and_start() == 8
        await place.until(lambda: place.begun() == 1 and len(place.here) == 7)
    assert set(place.here) <= set("defghijkl")
    assert [line["event"] for line in lines if line["key"] in "abc"] == ["work_isolated"]
    waiting = await place.statuses()
    assert sorted(waiting[key] for key in "abc") == [WorkStatus.QUEUED, WorkStatus.QUEUED, WorkStatus.RUNNING]
    assert await place.runner.claim_and_start() == 2, "the rest, and no second child"
    await place.until(lambda: len(place.here) == 9)
    assert place.begun() == 1
    await place.end()


async def test_a_lost_item_of_long_work_has_a_child_beside_another(place: Place) -> None:
    await place.put("a", "b", kind="long")
    await place.put("c", "d")
    await place.lose()
    assert await place.runner.claim_and_start() == 2
    await place.until(lambda: place.begun() == 2)
    assert await place.runner.claim_and_start() == 0
    await place.end()
    assert place.here == []


async def test_the_next_lost_item_has_its_turn_when_the_first_has_ended(place: Place) -> None:
    (place.folder / "go").touch()
    await place.put("a", "b", kind="long")
    await place.put("c", "d")
    await place.lose()
    assert await place.runner.claim_and_start() == 2
    await place.until(lambda: not place.runner._running)
    assert await place.runner.claim_and_start() == 2
    await place.until(lambda: not place.runner._running)
    assert place.begun() == 4


async def test_a_reservation_whose_holder_was_lost_needs_no_child(place: Place) -> None:
    async with place.db.tx("acme") as tx:
        assert await store.reserve_organization(tx, ACME, lease_until=tx.now + LEASE)
    place.clock.advance(LEASE)
    assert await place.runner.drain() == 1
    assert place.begun() == 0
    assert await place.statuses() == {}


async def test_a_child_that_says_nothing_leaves_its_item_to_be_tried_again(place: Place) -> None:
    await place.put("a")
    await place.lose()
    silent = Isolation(command=("/bin/false",))
    runner = Runner(place.db, place.clock, {"k": JobKind(name="k", run=place._run)}, isolation=silent)
    assert await runner.drain() == 1
    async with place.db.tx("acme") as tx:
        (job,) = await store.list_jobs(tx, ACME)
    assert (job.status, job.attempts) == (WorkStatus.QUEUED, 2)
    assert (job.error or "").startswith("child_not_started: ")
    place.clock.advance(timedelta(minutes=10))
    async with place.db.tx(None) as tx:
        (item,) = await store.claim_work(tx, kinds=["k"], most=1, lease_until=tx.now + LEASE)
    assert item.deaths == 1, "it still needs a process of its own"
