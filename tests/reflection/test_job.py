"""A turn is reflected by one call, section by section, in order, once, whatever fails on the way."""

import asyncio
from datetime import timedelta
from typing import Any

import psycopg
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.errors import Conflict
from mnemon.jobs.runner import Runner
from mnemon.llm.scripted.script import Script, ScriptedRequest
from mnemon.reflection import job, store
from mnemon.reflection.report import Reflection, ReflectionStatus
from mnemon.scope import Scope, person_scope
from mnemon.section import Section
from mnemon.sessions import turns
from mnemon.sessions.boundary import SessionBoundary
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.record import NewTurn, store_turn
from mnemon.turn import Role, Turn
from support.bounds import HANGS_S
from support.reflecting import Notes, basement_of, runner_of, told


async def reflection_of(db: Database, turn: Turn) -> Reflection:
    async with db.tx("acme") as tx:
        found = await store.find(tx, turn.scope, turn.id)
    assert found is not None
    return found


async def run_out(runner: Runner, clock: ManualClock, times: int = 8) -> None:
    """Everything is tried until it is done or parked."""
    for _ in range(times):
        await runner.drain()
        clock.advance(timedelta(minutes=10))


async def test_one_call_serves_all_sections(db: Database, org: str, clock: ManualClock) -> None:
    script = Script()
    script.add_answers("Reflection", {"notes": ["a", "b"], "marks": ["c"]})
    notes, marks = Notes(), Notes("marks", "marksLabel")
    turn = await told(db, "hello")
    await runner_of(basement_of(db, clock, script), [notes, marks]).drain()
    done = await reflection_of(db, turn)
    assert done.status is ReflectionStatus.DONE
    assert {label: one.stored for label, one in done.sections.items()} == {"notes": 2, "marksLabel": 1}
    assert len(script.asked) == 1
    assert done.usage is not None
    assert done.usage.input_tokens > 0


async def test_a_part_that_does_not_validate_is_asked_for_once_more_by_itself(
    db: Database, org: str, clock: ManualClock
) -> None:
    script = Script()
    script.add_answers("Reflection", {"notes": "no list", "marks": ["c"]}, {"notes": ["a"]})
    turn = await told(db, "hello")
    with capture_logs() as lines:
        await runner_of(basement_of(db, clock, script), [Notes(), Notes("marks", "marks")]).drain()
    assert (await reflection_of(db, turn)).status is ReflectionStatus.DONE
    rejected = [(line["log_level"], line["sections"]) for line in lines if line["event"] == "answer_rejected"]
    assert rejected == [("info", ["notes"])]
    assert [sorted((asked.schema or {})["properties"]) for asked in script.asked] == [["marks", "notes"], ["notes"]]


async def test_a_model_that_dies_before_the_second_try_costs_nothing_of_the_first(
    db: Database, org: str, clock: ManualClock
) -> None:
    script = Script()

    def last_words(asked: ScriptedRequest) -> dict[str, Any]:
        script.add_fault("dead")
        return {"notes": "no list", "marks": ["c"]}

    script.add_answers("Reflection", last_words, {"notes": ["a"]})
    turn = await told(db, "hello")
    runner = runner_of(basement_of(db, clock, script), [Notes(), Notes("marks", "marks")])
    await runner.drain()
    failed = await reflection_of(db, turn)
    assert failed.status is ReflectionStatus.FAILED
    assert failed.sections["marks"].stored == 1
    assert "cannot be used" in (failed.sections["notes"].error or "")
    assert failed.usage is not None
    assert failed.usage.calls == 1
    clock.advance(timedelta(minutes=10))
    await runner.drain()
    assert (await reflection_of(db, turn)).status is ReflectionStatus.DONE
    assert sorted((script.asked[-1].schema or {})["properties"]) == ["notes"]


async def test_a_bad_section_keeps_the_others_and_only_it_is_asked_again(
    db: Database, org: str, clock: ManualClock
) -> None:
    script = Script()
    bad: dict[str, Any] = {"notes": "no list"}
    script.add_answers("Reflection", {**bad, "marks": ["c"]}, bad, {"notes": ["a"]})
    notes, marks = Notes(), Notes("marks", "marks")
    turn = await told(db, "hello")
    runner = runner_of(basement_of(db, clock, script), [notes, marks])
    with capture_logs() as lines:
        await runner.drain()
    rejected = [line["log_level"] for line in lines if line["event"] == "answer_rejected"]
    assert rejected == ["info", "warning"], "what is asked for again, and what could not be used at all"
    failed = await reflection_of(db, turn)
    assert failed.raw == {"marks": ["c"]}, "what cannot be used is not kept"
    assert failed.status is ReflectionStatus.FAILED
    assert failed.sections["marks"].stored == 1
    assert "cannot be used" in (failed.sections["notes"].error or "")
    clock.advance(timedelta(minutes=10))
    await runner.drain()
    assert (await reflection_of(db, turn)).status is ReflectionStatus.DONE
    assert len(marks.applied) == 1
    assert list((script.asked[-1].schema or {})["properties"]) == ["notes"]


async def test_a_section_that_cannot_be_applied_undoes_itself_alone(db: Database, org: str, clock: ManualClock) -> None:
    script = Script()
    script.set_default_answer("Reflection", {"notes": ["poison"], "marks": ["c"]})
    notes, marks = Notes(broken={"poison"}), Notes("marks", "marks")
    turn = await told(db, "hello")
    runner = runner_of(basement_of(db, clock, script, max_attempts=2), [notes, marks])
    await run_out(runner, clock)
    parked = await reflection_of(db, turn)
    assert parked.status is ReflectionStatus.PARKED
    assert parked.attempts == 2
    assert len(marks.applied) == 1
    notes.broken.clear()
    async with db.tx(org) as tx:
        await job.rerun_reflection(tx, Scope(org_id=org), turn.id)
    await runner.drain()
    assert (await reflection_of(db, turn)).status is ReflectionStatus.DONE
    assert len(marks.applied) == 1


async def test_a_fault_of_ours_reaches_the_job_boundary_and_the_other_sections_are_stored(
    db: Database, org: str, clock: ManualClock
) -> None:
    script = Script()
    script.set_default_answer("Reflection", {"notes": ["poison secret"], "marks": ["c"]})
    notes = Notes(broken={"poison secret"}, error=lambda: KeyError("poison secret"))
    marks, turn = Notes("marks", "marks"), await told(db, "hello")
    runner = runner_of(basement_of(db, clock, script), [notes, marks])
    with capture_logs() as lines:
        await runner.drain()
    failed = await reflection_of(db, turn)
    assert failed.status is ReflectionStatus.FAILED
    assert failed.sections["marks"].stored == 1
    assert failed.error == "notes: internal: KeyError"
    told_line = next(line for line in lines if line["event"] == "reflection")
    assert told_line["log_level"] == "warning"
    assert told_line["sections"] == {"notes": "internal: KeyError", "marks": {"stored": 1}}
    boundary = next(line for line in lines if line["event"] == "work_finished")
    assert boundary["error"] == "KeyError"
    assert boundary["exc_info"]
    async with db.tx(org) as tx:
        rows = await tx.fetch_all("select error from work where org_id = 'acme' and kind = 'reflection'")
    assert [row["error"] for row in rows] == ["KeyError"]


async def test_an_answer_that_a_fault_of_ours_kept_out_is_not_asked_for_again(
    db: Database, org: str, clock: ManualClock
) -> None:
    script = Script()
    script.add_answers("Reflection", {"notes": ["poison"]})
    notes, turn = Notes(broken={"poison"}, error=lambda: AssertionError("ours")), await told(db, "hello")
    runner = runner_of(basement_of(db, clock, script), [notes])
    await runner.drain()
    notes.broken.clear()
    clock.advance(timedelta(minutes=10))
    await runner.drain()
    assert (await reflection_of(db, turn)).status is ReflectionStatus.DONE
    assert [given for _, _, given in notes.applied] == [["poison"]]
    assert len(script.asked) == 1


async def test_what_a_room_says_of_an_answer_is_a_bad_answer_and_asked_for_again(
    db: Database, org: str, clock: ManualClock
) -> None:
    script = Script()
    script.add_answers("Reflection", {"notes": ["poison"]}, {"notes": ["better"]})
    notes, turn = Notes(broken={"poison"}, error=lambda: Conflict("Another note says the same.")), await told(db, "hi")
    runner = runner_of(basement_of(db, clock, script), [notes])
    with capture_logs() as lines:
        await runner.drain()
    assert (await reflection_of(db, turn)).error == "notes: Another note says the same."
    assert [line["sections"] for line in lines if line["event"] == "reflection"] == [{"notes": "bad_answer"}]
    clock.advance(timedelta(minutes=10))
    await runner.drain()
    assert (await reflection_of(db, turn)).status is ReflectionStatus.DONE
    assert len(script.asked) == 2


async def test_a_database_that_goes_away_in_a_section_ends_the_attempt_and_nothing_of_it_stays(
    db: Database, org: str, clock: ManualClock
) -> None:
    script = Script()
    script.set_default_answer("Reflection", {"notes": ["poison"], "marks": ["c"]})
    notes = Notes(broken={"poison"}, error=lambda: psycopg.errors.DeadlockDetected("gave way"))
    turn = await told(db, "hello")
    runner = runner_of(basement_of(db, clock, script), [Notes("marks", "marks"), notes])
    await runner.drain()
    assert (await reflection_of(db, turn)).sections == {}
    notes.broken.clear()
    clock.advance(timedelta(minutes=10))
    await runner.drain()
    done = await reflection_of(db, turn)
    assert {label: section.stored for label, section in done.sections.items()} == {"marks": 1, "notes": 1}


async def test_a_reflection_leaves_one_line_with_counts_and_cost(db: Database, org: str, clock: ManualClock) -> None:
    script = Script()
    script.add_answers("Reflection", {"notes": ["a", "b"], "marks": []})
    turn = await told(db, "hello")
    with capture_logs([merge_contextvars]) as lines:
        await runner_of(basement_of(db, clock, script), [Notes(), Notes("marks", "marks")]).drain()
    (line,) = [one for one in lines if one["event"] == "reflection"]
    assert line["log_level"] == "info"
    assert line["status"] == "done"
    assert line["sections"] == {"notes": {"stored": 2}, "marks": {}}
    assert (line["rejected"], line["calls"]) == (0, 1)
    assert line["input_tokens"] > 0
    assert 0 < line["ms"] < HANGS_S * 1000
    assert line["turn"] == turn.id


async def test_turns_of_a_session_are_reflected_in_order_and_one_at_a_time(
    db: Database, org: str, clock: ManualClock
) -> None:
    notes = Notes()
    for number in range(12):
        await told(db, f"a{number}", user="ana")
        await told(db, f"b{number}", user="bob")
    await runner_of(basement_of(db, clock), [notes], concurrency=6).drain()
    for session in {one[0] for one in notes.applied}:
        assert [seq for name, seq, _ in notes.applied if name == session] == list(range(1, 13))


async def test_a_parked_turn_holds_up_nobody(db: Database, org: str, clock: ManualClock) -> None:
    script = Script()

    def answer(asked: ScriptedRequest) -> dict[str, Any]:
        return {"notes": ["fine" if "\nsecond\n" in asked.prompt else "poison"]}

    script.set_default_answer("Reflection", answer)
    notes = Notes(broken={"poison"})
    first, second = await told(db, "first"), await told(db, "second")
    await run_out(runner_of(basement_of(db, clock, script, max_attempts=2), [notes]), clock)
    assert (await reflection_of(db, first)).status is ReflectionStatus.PARKED
    assert (await reflection_of(db, second)).status is ReflectionStatus.DONE


async def test_a_kept_answer_is_applied_without_asking_again(db: Database, org: str, clock: ManualClock) -> None:
    script = Script()
    turn = await told(db, "hello")
    async with db.tx(org) as tx:
        store.store_raw_answer(tx, turn.scope, turn.id, {"notes": ["kept"]}, None)
    notes = Notes()
    await runner_of(basement_of(db, clock, script), [notes]).drain()
    assert [given for _, _, given in notes.applied] == [["kept"]]
    assert script.asked == []


async def test_a_worker_that_lost_its_lease_applies_nothing(db: Database, org: str, clock: ManualClock) -> None:
    slow, quick = Script(), Script()
    slow.add_fault("slow", seconds=HANGS_S)
    slow.set_default_answer("Reflection", {"notes": ["from the dead"]})
    quick.set_default_answer("Reflection", {"notes": ["alive"]})
    notes = Notes()
    turn = await told(db, "hello")
    first = runner_of(basement_of(db, clock, slow), [notes])
    await first.claim_and_start()
    while not slow.asked:
        await asyncio.sleep(0.01)
    clock.advance(timedelta(minutes=5))
    await runner_of(basement_of(db, clock, quick), [notes]).drain()
    slow.clear_faults()
    await asyncio.gather(*first._running)
    await first.stop()
    assert [given for _, _, given in notes.applied] == [["alive"]]
    assert (await reflection_of(db, turn)).status is ReflectionStatus.DONE


async def test_a_turn_whose_answering_process_died_is_sealed_and_reflected(
    db: Database, org: str, clock: ManualClock
) -> None:
    incoming = NewTurn(
        user_name="ana",
        messages=(NewMessage(role=Role.USER, content="hello"),),
        status=TurnStatus.ANSWERING,
        lease_until=clock.now() + timedelta(seconds=60),
    )
    async with db.tx(org) as tx:
        turn = await store_turn(tx, person_scope(org, "ana"), incoming, SessionBoundary())
        await job.enqueue_reflection(tx, turn, due_at=clock.now() + timedelta(seconds=60))
    later = await told(db, "and another", user="ana")
    notes = Notes()
    runner = runner_of(basement_of(db, clock), [notes])
    await runner.drain()
    assert notes.applied == []
    clock.advance(timedelta(seconds=61))
    await runner.drain()
    async with db.tx(org) as tx:
        found = await turns.find_turn(tx, Scope(org_id=org), turn.id)
    assert found is not None
    assert found.status is TurnStatus.INTERRUPTED
    assert [seq for _, seq, _ in notes.applied] == [turn.seq, later.seq]


async def test_a_turn_that_was_forgotten_meanwhile_is_no_error(db: Database, org: str, clock: ManualClock) -> None:
    turn = await told(db, "hello")
    async with db.tx(org) as tx:
        await tx.execute("delete from messages where org_id = 'acme'")
        await tx.execute("delete from turns where org_id = 'acme'")
    sections: list[Section] = [Notes()]
    assert await runner_of(basement_of(db, clock), sections).drain() == 1
    async with db.tx(org) as tx:
        assert await turns.find_turn(tx, Scope(org_id=org), turn.id) is None
