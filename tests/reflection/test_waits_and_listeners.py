"""A turn that is still being answered waits; sections that listen are told why there was no answer."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.errors import Conflict, NotFound
from mnemon.jobs import store as work
from mnemon.jobs.work import Job, WorkStatus
from mnemon.llm.scripted.script import Script
from mnemon.reflection import job, store
from mnemon.reflection.report import Reflection, ReflectionStatus
from mnemon.scope import Scope, person_scope
from mnemon.sessions import turns
from mnemon.sessions.boundary import SessionBoundary
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.people import lock_person
from mnemon.sessions.record import NewTurn, store_turn
from mnemon.turn import Role, Turn
from support.reflecting import Notes, basement_of, runner_of, told

ACME = Scope(org_id="acme")
MINUTE = timedelta(minutes=1)


@dataclass
class Listens(Notes):
    """A section that is told when there was no answer for it."""

    heard: list[tuple[str, str]] = field(default_factory=list)

    async def record_failure(self, tx: Tx, turn: Turn, reason: str, detail: str) -> None:
        self.heard.append((reason, detail))


async def answering(db: Database, *, lease: timedelta | None) -> Turn:
    """A turn that is being answered, whose reflection is due at once."""
    async with db.tx("acme") as tx:
        incoming = NewTurn(
            user_name="ana",
            messages=(NewMessage(role=Role.USER, content="hello"),),
            status=TurnStatus.ANSWERING,
            lease_until=None if lease is None else tx.now + lease,
        )
        turn = await store_turn(tx, person_scope("acme", "ana"), incoming, SessionBoundary())
        job.enqueue_with_turn(tx, turn, due_at=tx.now)
    return turn


async def status_of(db: Database, turn: Turn) -> TurnStatus:
    async with db.tx("acme") as tx:
        found = await turns.find_turn(tx, ACME, turn.id)
    assert found is not None
    return found.status


async def reflection_of(db: Database, turn: Turn) -> Reflection:
    async with db.tx("acme") as tx:
        found = await store.find(tx, turn.scope, turn.id)
    assert found is not None
    return found


async def jobs(db: Database) -> list[Job]:
    async with db.tx("acme") as tx:
        return await work.list_jobs(tx, ACME, kind=job.REFLECTION_KIND)


async def test_a_reflection_that_is_queued_with_its_turn_is_known_at_once(db: Database, org: str) -> None:
    first = await answering(db, lease=MINUTE)
    later = await told(db, "and another", user="ana")
    made, queued = await reflection_of(db, first), {one.key: one for one in await jobs(db)}
    assert (made.status, made.job_id) == (ReflectionStatus.QUEUED, queued[first.id].id)
    assert queued[later.id].waits_for == queued[first.id].id


async def test_a_turn_that_is_being_answered_is_waited_for_until_its_lease_ends(
    db: Database, org: str, clock: ManualClock
) -> None:
    turn, notes = await answering(db, lease=MINUTE), Notes()
    runner = runner_of(basement_of(db, clock), [notes])
    assert await runner.drain() == 1
    assert await status_of(db, turn) is TurnStatus.ANSWERING
    (waiting,) = await jobs(db)
    assert (waiting.status, waiting.attempts, waiting.due_at) == (WorkStatus.QUEUED, 0, clock.now() + MINUTE)
    assert notes.applied == []
    clock.advance(MINUTE)
    assert await runner.drain() == 1
    assert await status_of(db, turn) is TurnStatus.INTERRUPTED
    assert len(notes.applied) == 1


async def test_a_turn_without_a_record_of_its_reflection_gets_one(db: Database, org: str, clock: ManualClock) -> None:
    turn = await told(db, "hello")
    with psycopg.connect(db.url, autocommit=True) as connection:
        connection.execute("delete from reflections")
    await runner_of(basement_of(db, clock), [Notes()]).drain()
    assert (await reflection_of(db, turn)).status is ReflectionStatus.DONE


async def test_a_section_is_told_that_the_model_is_away(db: Database, org: str, clock: ManualClock) -> None:
    script, section, turn = Script(), Listens(), await told(db, "hello")
    script.add_fault("dead")
    await runner_of(basement_of(db, clock, script), [section, Notes("marks", "marks")]).drain()
    failed = await reflection_of(db, turn)
    assert failed.status is ReflectionStatus.FAILED
    assert failed.error is not None
    assert failed.error.startswith("model_unavailable: ")
    assert [reason for reason, _ in section.heard] == ["model_unavailable"]
    assert failed.error == f"model_unavailable: {section.heard[0][1]}"


async def test_a_failure_is_recorded_after_whoever_writes_the_person_has_ended(
    db: Database, org: str, clock: ManualClock
) -> None:
    """The order of locks of every writer: the person's row first."""
    script, turn = Script(), await told(db, "hello")
    script.add_fault("dead")
    async with db.tx("acme") as tx:
        await lock_person(tx, turn.scope)
        running = asyncio.create_task(runner_of(basement_of(db, clock, script), [Notes()]).drain())
        while not running.done() and not waits_for_lock(db.url):
            await asyncio.sleep(0.01)
        assert (await reflection_of(db, turn)).status is ReflectionStatus.RUNNING
    await running
    assert (await reflection_of(db, turn)).status is ReflectionStatus.FAILED


def waits_for_lock(url: str) -> bool:
    with psycopg.connect(url) as connection:
        row = connection.execute("select count(*) from pg_locks where not granted").fetchone()
    return row is not None and row[0] > 0


async def test_a_section_is_told_that_its_answer_cannot_be_used(db: Database, org: str, clock: ManualClock) -> None:
    script, section = Script(), Listens()
    bad: dict[str, Any] = {"notes": "no list"}
    script.add_answers("Reflection", bad, bad)
    await told(db, "hello")
    await runner_of(basement_of(db, clock, script), [section]).drain()
    assert [reason for reason, _ in section.heard] == ["invalid_answer"]


async def test_a_section_is_told_that_its_answer_was_not_applied(db: Database, org: str, clock: ManualClock) -> None:
    script = Script()
    script.set_default_answer("Reflection", {"notes": ["poison"]})
    section = Listens(broken={"poison"}, error=lambda: Conflict("Another note says the same."))
    await told(db, "hello")
    await runner_of(basement_of(db, clock, script), [section]).drain()
    assert section.heard == [("not_applied", "Another note says the same.")]


async def test_the_engagement_is_applied_last(db: Database, org: str, clock: ManualClock) -> None:
    order: list[str] = []

    class Ordered(Notes):
        async def apply_answer(self, tx: Tx, turn: Turn, answer: Any) -> Any:
            order.append(self.name)
            return await super().apply_answer(tx, turn, answer)

    await told(db, "hello")
    sections = [Ordered(name, name) for name in ("engagement", "notes", "marks")]
    await runner_of(basement_of(db, clock), sections).drain()
    assert order == ["notes", "marks", "engagement"]


async def test_only_a_failed_reflection_is_run_again(db: Database, org: str, clock: ManualClock) -> None:
    turn = await told(db, "hello")

    async def rerun(turn_id: str) -> Reflection:
        async with db.tx("acme") as tx:
            return await job.rerun_reflection(tx, ACME, turn_id)

    with pytest.raises(NotFound):
        await rerun("trn_unknown")
    with pytest.raises(Conflict) as refused:
        await rerun(turn.id)
    assert refused.value.code == "reflection_not_failed"
    async with db.tx("acme") as tx:
        await store.mark_failed(tx, turn.scope, turn.id, "model_unavailable: away")
    again = await rerun(turn.id)
    assert (again.status, again.turn_id) == (ReflectionStatus.QUEUED, turn.id)
    assert [one.key for one in await jobs(db)] == [turn.id]


async def test_several_faults_of_ours_are_raised_together(db: Database, org: str, clock: ManualClock) -> None:
    script = Script()
    script.set_default_answer("Reflection", {"notes": ["poison"], "marks": ["poison"]})
    sections = [Notes(name, name, broken={"poison"}, error=lambda: KeyError("ours")) for name in ("notes", "marks")]
    turn = await told(db, "hello")
    await runner_of(basement_of(db, clock, script), sections).drain()
    assert [one.error for one in await jobs(db)] == ["ExceptionGroup"]
    assert (await reflection_of(db, turn)).error == "notes: internal: KeyError; marks: internal: KeyError"
