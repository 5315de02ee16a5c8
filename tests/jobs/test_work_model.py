"""The work table against a model of it: any order of enqueues, claims, ends, failures and lapses of time."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.jobs import store
from mnemon.jobs.work import LeaseLost, WorkItem, WorkRetryPolicy, WorkStatus
from mnemon.scope import Scope

LEASE = timedelta(seconds=60)
KEYS = tuple("abcdef")
LANE = {"a": ("left", 1), "b": ("left", 2), "c": ("left", 2), "d": ("right", 1), "e": (None, 0), "f": (None, 0)}


class WorkMachine(RuleBasedStateMachine):
    """Keys a, b, c stand in one lane, the last two at the same place; d stands in another, e and f in none."""

    loop: asyncio.AbstractEventLoop
    db: Database
    clock: ManualClock
    run = 0

    claimed = Bundle("claimed")

    def __init__(self) -> None:
        super().__init__()
        type(self).run += 1
        self.kind = f"model{type(self).run}"
        self.scope = Scope(org_id="acme")
        self.leases: dict[str, tuple[int, Any]] = {}
        self.parked: set[str] = set()
        self.queued: set[str] = set()

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    async def within(self, work: Any) -> Any:
        async with self.db.tx("acme") as tx:
            return await work(tx)

    def live(self) -> set[str]:
        return {key for key, (_, until) in self.leases.items() if until > self.clock.now()}

    @rule(key=st.sampled_from(KEYS))
    def enqueue(self, key: str) -> None:
        lane, seq = LANE[key]
        named = None if lane is None else f"{self.kind}{lane}"
        self.do(self.within(lambda tx: store.enqueue_work(tx, self.scope, self.kind, key, lane=named, seq=seq)))
        self.queued.add(key)
        self.parked.discard(key)

    @rule(target=claimed, most=st.integers(1, 6))
    def claim(self, most: int) -> list[WorkItem]:
        until = self.clock.now() + LEASE
        items = self.do(self.within(lambda tx: store.claim_work(tx, kinds=[self.kind], most=most, lease_until=until)))
        for item in items:
            assert item.key in self.queued, "only what was asked for is run"
            assert item.key not in self.live(), "nobody runs what another runs"
            assert item.key not in self.parked, "what is parked is left alone"
            lane, seq = LANE[item.key]
            if lane is not None:
                mates = {k for k in self.queued - self.parked if LANE[k][0] == lane and k != item.key}
                assert not any(LANE[k][1] < seq for k in mates), "a lane runs in order"
                assert not mates & self.live(), "a lane runs one at a time"
            self.leases[item.key] = (item.token, until)
        return list(items)

    @rule(items=consumes(claimed), how=st.sampled_from(["settle", "fail", "park"]))
    def end(self, items: list[WorkItem], how: str) -> None:
        for item in items:
            ours = self.leases.get(item.key, (None, None))[0] == item.token
            try:
                self.do(self.within(lambda tx, item=item: self._end(tx, item, how)))
            except LeaseLost:
                assert not ours, "only a late one is fenced"
                continue
            assert ours, "a late one never gets through"
            del self.leases[item.key]
            row = self.do(self.within(lambda tx, item=item: store.load_job(tx, self.scope, item.job_id)))
            self.queued.discard(item.key)
            if row is not None:
                self.queued.add(item.key)
            if row is not None and row.status is WorkStatus.PARKED:
                self.parked.add(item.key)

    async def _end(self, tx: Any, item: WorkItem, how: str) -> None:
        await store.lock_work(tx, item)
        if how == "settle":
            await store.settle_work(tx, item)
        elif how == "fail":
            await store.release_work(tx, item, due_at=tx.now, attempts=item.attempts, error="x")
        else:
            await store.park_work(tx, item, "x")

    @rule(seconds=st.sampled_from([1, 30, 61]))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds))

    @invariant()
    def nothing_is_lost_and_nothing_doubled(self) -> None:
        jobs = self.do(self.within(lambda tx: store.list_jobs(tx, self.scope, kind=self.kind)))
        assert sorted(job.key for job in jobs) == sorted(self.queued)


def test_work_behaves_like_its_model(database_url: str, clock: ManualClock) -> None:
    loop = asyncio.new_event_loop()
    db = Database(database_url, clock)
    loop.run_until_complete(db.open())
    WorkMachine.loop, WorkMachine.db, WorkMachine.clock = loop, db, clock
    try:
        run_state_machine_as_test(
            WorkMachine,
            settings=settings(
                max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
            ),
        )
    finally:
        loop.run_until_complete(db.close())
        loop.close()


@given(attempts=st.integers(1, 100), chance=st.floats(0, 1, exclude_max=True), most=st.integers(1, 50))
def test_backoff_is_bounded_and_ends(attempts: int, chance: float, most: int) -> None:
    retry = WorkRetryPolicy(max_attempts=most)
    delay = retry.delay_after(attempts, chance)
    if attempts >= most:
        assert delay is None
    else:
        assert delay is not None
        assert retry.first / 2 <= delay <= retry.most


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 1), (2, 4), (3, 16), (5, 256), (6, 300), (40, 300)])
def test_backoff_grows_fourfold_up_to_five_minutes(attempts: int, seconds: int) -> None:
    delay = WorkRetryPolicy(max_attempts=99).delay_after(attempts, 1.0)
    assert delay == timedelta(seconds=seconds)


def test_the_default_tries_take_a_quarter_of_an_hour_at_most() -> None:
    retry = WorkRetryPolicy()
    waits = [retry.delay_after(attempts, 1.0) for attempts in range(1, 99)]
    assert sum((wait for wait in waits if wait is not None), timedelta(0)) == timedelta(minutes=15, seconds=41)


def test_the_default_tries_outlast_a_short_outage() -> None:
    retry = WorkRetryPolicy()
    waits = [retry.delay_after(attempts, 0.0) for attempts in range(1, retry.max_attempts)]
    assert sum((wait for wait in waits if wait is not None), timedelta(0)) >= timedelta(minutes=7)
