"""The journal over a real database: versions, two writers, a reflection's section, forgetting, the layer."""

import asyncio
from datetime import datetime, timedelta

import pytest

from mnemon.agentstate import journal, store
from mnemon.agentstate.change import fold_change
from mnemon.agentstate.delta import AssumptionProposal, StateDelta
from mnemon.agentstate.follow import follow_journal
from mnemon.agentstate.journal import ChangeSource, forget_person, refold_documents
from mnemon.agentstate.layer import agent_state_layer as l7
from mnemon.agentstate.reflect import SECTIONS, AgentStateReflection
from mnemon.agentstate.state import AgentState, ExpectationStatus, StateEntity
from mnemon.agentstate.store import ChangeAuthor
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.errors import Stale
from mnemon.layer import LayerRequest
from mnemon.scope import Scope
from mnemon.sessions.people import ensure_person
from mnemon.turn import EntityPatch, Intent, Role, ToolOutcome, Turn, TurnMessage
from support.bounds import HANGS_S

SESSION = "ses_1"
SECTION = SECTIONS[0]
BY_API = ChangeSource(who=ChangeAuthor.API, reason="test")


@pytest.fixture
async def ann(db: Database, org: str) -> Scope:
    async with db.tx(org) as tx:
        return await ensure_person(tx, org, "ann")


def turn(scope: Scope, at: datetime, **fields: object) -> Turn:
    said = TurnMessage(message_id="msg_1", role=Role.USER, content="Assumption: it is safe", name=None, at=at)
    made = {"id": "trn_1", "session_id": SESSION, "seq": 1, "user_name": "ann", "messages": (said,), **fields}
    return Turn(scope=scope, at=at, **made)  # type: ignore[arg-type]


def knows(name: str) -> StateDelta:
    return StateDelta(entities=(StateEntity(id=name, kind="thing"),))


async def read(db: Database, scope: Scope) -> store.StoredState:
    async with db.tx(scope.org_id) as tx:
        return await store.load_state(tx, scope, SESSION)


async def history(db: Database, scope: Scope) -> list[store.StateEntry]:
    async with db.tx(scope.org_id) as tx:
        return await store.list_entries(tx, scope, SESSION, after=0, most=1_000)


async def test_a_turn_that_plans_and_is_disappointed_leaves_two_entries_and_one_update(
    db: Database, ann: Scope, clock: ManualClock
) -> None:
    happened = clock.now() - timedelta(days=3)
    intent = Intent(action="add", expected_outcome="two tasks", expected_count=2)
    result = ToolOutcome(id="res_1", action="add", count=1, entities=(EntityPatch(id="t1", kind="task"),))
    async with db.tx(ann.org_id) as tx:
        recorded = await journal.record_turn(tx, turn(ann, happened, intents=(intent,), tool_results=(result,)))
    update = recorded.update
    assert update is not None
    [expectation] = update.change.expectations or ()
    [assumption] = update.change.assumptions or ()
    assert (update.version, expectation.status) == (2, ExpectationStatus.FAILED)
    assert expectation.last_checked_at == clock.now()
    assert assumption.evidence == ("res_1",)
    entries = await history(db, ann)
    assert [(e.seq, e.who, e.reason, e.turn_id, e.at) for e in entries] == [
        (1, ChangeAuthor.PLANNER, "planned add", "trn_1", happened),
        (2, ChangeAuthor.TOOL, "result of add", "trn_1", happened),
    ]
    held = await read(db, ann)
    assert fold_change(AgentState(session_id=SESSION), update.change) == held.state
    assert fold_change(fold_change(AgentState(session_id=SESSION), entries[0].change), entries[1].change) == held.state


async def test_a_turn_without_plan_or_results_leaves_no_trace(db: Database, ann: Scope, clock: ManualClock) -> None:
    async with db.tx(ann.org_id) as tx:
        assert await journal.record_turn(tx, turn(ann, clock.now())) == journal.RecordedResults()
    assert (await read(db, ann)).version == 0


async def test_a_change_that_changes_nothing_keeps_the_version(db: Database, ann: Scope) -> None:
    for _ in range(2):
        async with db.tx(ann.org_id) as tx:
            amended = await journal.amend_state(tx, ann, SESSION, knows("a"), BY_API)
    assert amended.update is None
    assert (await read(db, ann)).version == 1


async def test_of_two_writers_with_one_version_one_is_stale_and_nothing_is_lost(db: Database, ann: Scope) -> None:
    async def write(name: str) -> bool:
        async with db.tx(ann.org_id) as tx:
            await journal.amend_state(tx, ann, SESSION, knows(name), BY_API, version=0)
        return True

    outcomes = await asyncio.gather(write("a"), write("b"), return_exceptions=True)
    assert sorted(type(o).__name__ for o in outcomes) == ["Stale", "bool"]
    loser = next(name for name, o in zip("ab", outcomes, strict=True) if isinstance(o, Stale))
    async with db.tx(ann.org_id) as tx:
        await journal.amend_state(tx, ann, SESSION, knows(loser), BY_API, version=1)
    held = await read(db, ann)
    assert {e.id for e in held.state.current_understanding.entities} == {"a", "b"}


async def test_fifty_writers_at_once_each_get_a_version_of_their_own(db: Database, ann: Scope) -> None:
    async def write(number: int) -> int:
        async with db.tx(ann.org_id) as tx:
            amended = await journal.amend_state(tx, ann, SESSION, knows(f"e{number}"), BY_API)
        return amended.held.version

    versions = await asyncio.gather(*map(write, range(50)))
    assert sorted(versions) == list(range(1, 51))
    assert len((await read(db, ann)).state.current_understanding.entities) == 50


async def test_states_of_two_people_and_two_sessions_are_apart(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        bob = await ensure_person(tx, ann.org_id, "bob")
        await journal.amend_state(tx, ann, SESSION, knows("a"), BY_API)
        await journal.amend_state(tx, ann, "ses_2", knows("b"), BY_API)
        assert (await store.load_state(tx, bob, SESSION)).version == 0
        assert (await store.load_state(tx, ann, "ses_2")).state.current_understanding.entities[0].id == "b"


def answer(**update: object) -> AgentStateReflection:
    return AgentStateReflection.model_validate({"agent_state": {"agent_state_updates": update}})


async def test_the_reflection_applies_once_and_reports(db: Database, ann: Scope, clock: ManualClock) -> None:
    said = turn(ann, clock.now())
    proposed = answer(
        assumptions=[{"hypothesis": "It is safe", "confidence": 0.6, "evidence": ["msg_1"]}, {"confidence": 9}],
        expectations=[{"action": "a", "expected_outcome": "o", "status": "confirmed"}],
    )
    async with db.tx(ann.org_id) as tx:
        report = await SECTION.apply_answer(tx, said, proposed)
        again = await SECTION.apply_answer(tx, said, proposed)
    assert (report.stored, report.updated, len(report.rejected)) == (2, 0, 2)
    assert (again.stored, again.updated, again.skipped) == (0, 0, 1)
    held = await read(db, ann)
    assert held.state.assumptions[0].confidence == 0.6
    assert held.state.expectations[0].status is ExpectationStatus.PENDING
    assert held.state.last_summarized_at == clock.now()
    assert held.version == 1


def message(id_: str, text: str, at: datetime, role: Role = Role.USER, name: str | None = None) -> TurnMessage:
    return TurnMessage(message_id=id_, role=role, content=text, name=name, at=at)


async def test_evidence_and_not_a_models_number_moves_an_assumption_that_is_held(
    db: Database, ann: Scope, clock: ManualClock
) -> None:
    now = clock.now()
    async with db.tx(ann.org_id) as tx:
        first = answer(assumptions=[{"id": "h", "hypothesis": "It is safe", "confidence": 0.95, "evidence": ["msg_1"]}])
        await SECTION.apply_answer(tx, turn(ann, now), first)
        held = await store.load_state(tx, ann, SESSION)
        assert round(held.state.assumptions[0].confidence, 2) == 0.65
        higher = answer(assumptions=[{"id": "h", "hypothesis": "It is safe", "confidence": 0.99, "evidence": ["m2"]}])
        again = turn(ann, now, id="trn_2", messages=(message("m2", "It is safe, as a tool told", now, name="Bo"),))
        report = await SECTION.apply_answer(tx, again, higher)
        held = await store.load_state(tx, ann, SESSION)
    assert round(held.state.assumptions[0].confidence, 2) == 0.77
    assert held.state.assumptions[0].evidence == ("msg_1", "m2")
    assert [one.what for one in report.rejected] == ["confidence 0.99 of assumption h"]


async def test_an_older_turn_reflected_late_adds_and_overwrites_nothing(
    db: Database, ann: Scope, clock: ManualClock
) -> None:
    earlier, later = clock.now() - timedelta(hours=1), clock.now()
    newer = answer(
        assumptions=[{"id": "h", "hypothesis": "It is safe now", "evidence": ["msg_1"]}],
        current_understanding={"entities": [{"id": "t1", "kind": "task", "name": "New"}]},
    )
    older = answer(
        assumptions=[
            {"id": "h", "hypothesis": "It is safe", "confidence": 0.1, "contradicted_by": ["m0"]},
            {"id": "h", "hypothesis": "It was never safe", "evidence": ["m0"], "contradicted_by": ["m0"]},
        ],
        current_understanding={"entities": [{"id": "t1", "kind": "task", "name": "Old"}, {"id": "t0", "kind": "task"}]},
    )
    async with db.tx(ann.org_id) as tx:
        await SECTION.apply_answer(tx, turn(ann, later, id="trn_2", seq=2), newer)
        before = turn(ann, earlier, messages=(message("m0", "Is it safe?", earlier),))
        report = await SECTION.apply_answer(tx, before, older)
        held = await store.load_state(tx, ann, SESSION)
    assert [(e.id, e.name) for e in held.state.current_understanding.entities] == [("t1", "New"), ("t0", None)]
    [assumption] = held.state.assumptions
    assert assumption.hypothesis == "It is safe now"
    assert round(assumption.confidence, 2) == 0.5
    assert assumption.contradicted_by == ("m0",)
    assert (report.stored, report.updated, report.skipped) == (1, 1, 1)


async def test_an_empty_answer_is_reported_with_zeros(db: Database, ann: Scope, clock: ManualClock) -> None:
    async with db.tx(ann.org_id) as tx:
        report = await SECTION.apply_answer(tx, turn(ann, clock.now()), answer())
    assert (report.stored, report.updated, report.skipped, report.rejected) == (0, 0, 0, ())
    assert (await read(db, ann)).version == 0


async def test_the_section_is_due_on_every_turn_and_shows_the_state(
    db: Database, ann: Scope, clock: ManualClock
) -> None:
    async with db.tx(ann.org_id) as tx:
        await journal.amend_state(tx, ann, SESSION, knows("t-17"), BY_API)
        brief = await SECTION.prepare_brief(tx, turn(ann, clock.now()))
        assert brief is not None
        assert any("t-17" in item.text for item in brief.items)
        report = await SECTION.apply_answer(
            tx, turn(ann, clock.now()), SECTION.answer_by_rule(turn(ann, clock.now()), brief)
        )
    assert report.stored == 1


def ask(scope: Scope, now: datetime, **fields: object) -> LayerRequest:
    made = {"session_id": SESSION, "state_of": SESSION, "sees_agent_state": True, **fields}
    return LayerRequest(scope=scope, query="", vector=None, now=now, **made)  # type: ignore[arg-type]


async def test_l7_shows_the_state_only_to_who_may_see_it(db: Database, ann: Scope, clock: ManualClock) -> None:
    async with db.tx(ann.org_id) as tx:
        await journal.amend_state(tx, ann, SESSION, knows("t1"), BY_API)
        layer = await l7(tx, ask(ann, clock.now()))
        assert (layer.name, [item.text for item in layer.items]) == ("L7", ["Known: thing t1"])
        assert (await l7(tx, ask(ann, clock.now(), sees_agent_state=False))).items == ()
        assert (await l7(tx, ask(ann, clock.now(), session_id=None, state_of=None))).items == ()
        assert (await l7(tx, ask(ann, clock.now(), session_id="ses_9", state_of="ses_9"))).items == ()


async def test_forgetting_a_person_removes_state_and_journal(db: Database, ann: Scope, clock: ManualClock) -> None:
    async with db.tx(ann.org_id) as tx:
        bob = await ensure_person(tx, ann.org_id, "bob")
        for scope in (ann, bob):
            await journal.amend_state(tx, scope, SESSION, knows("a"), BY_API)
        counts = await forget_person(tx, ann, clock.now())
    assert counts == {"agent_states": 1, "agent_state_journal": 1}
    assert await history(db, ann) == []
    assert (await read(db, bob)).version == 1


async def test_a_redacted_journal_is_folded_again_and_followers_hear_of_it(
    db: Database, ann: Scope, clock: ManualClock
) -> None:
    secret = StateDelta(assumptions=(AssumptionProposal(id="h", hypothesis="Ann is ill", confidence=0.5),))
    async with db.tx(ann.org_id) as tx:
        await journal.amend_state(tx, ann, SESSION, secret, BY_API)
        await journal.amend_state(tx, ann, SESSION, knows("a"), BY_API)
        await tx.execute(
            "update agent_state_journal set update = replace(update::text, 'Ann is ill', '…')::jsonb "
            "where org_id = 'acme' and seq = 1"
        )
        await refold_documents(tx, ann, clock.now())
        await refold_documents(tx, ann, clock.now())
    held = await read(db, ann)
    assert held.version == 3
    assert held.state.assumptions[0].hypothesis == "…"
    assert [e.who for e in await history(db, ann)] == [ChangeAuthor.API, ChangeAuthor.API, ChangeAuthor.FORGETTING]
    assert not [e for e in await history(db, ann) if "ill" in str(e.change)]


async def test_a_follower_gets_what_was_there_and_what_comes(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        for name in ("a", "b"):
            await journal.amend_state(tx, ann, SESSION, knows(name), BY_API)
    seen: list[int] = []
    enough = asyncio.Event()

    async def listen() -> None:
        async for entries in follow_journal(db, ann, SESSION, after=1, until=enough):
            seen.extend(entry.seq for entry in entries)
            if seen[-1:] == [4]:
                enough.set()

    listening = asyncio.create_task(listen())
    while seen != [2]:
        await asyncio.sleep(0.01)
    for name in ("c", "d"):
        async with db.tx(ann.org_id) as tx:
            await journal.amend_state(tx, ann, SESSION, knows(name), BY_API)
    await asyncio.wait_for(listening, HANGS_S)
    assert seen == [2, 3, 4]


async def test_a_lost_notification_costs_a_moment_and_nothing_else(db: Database, ann: Scope) -> None:
    seen: list[int] = []
    enough = asyncio.Event()

    async def listen() -> None:
        async for entries in follow_journal(db, ann, SESSION, after=0, until=enough):
            seen.extend(entry.seq for entry in entries)

    listening = asyncio.create_task(listen())
    async with db.tx(ann.org_id) as tx:
        await journal.amend_state(tx, ann, SESSION, knows("a"), BY_API)
    async with asyncio.timeout(HANGS_S):
        while seen != [1]:
            await asyncio.sleep(0.02)
    async with db.tx(ann.org_id) as tx:
        await tx.execute(
            "insert into agent_state_journal (org_id, user_id, session_id, seq, who, reason, update, at, recorded_at) "
            "select org_id, user_id, session_id, 2, who, reason, update, at, recorded_at from agent_state_journal"
        )
    async with asyncio.timeout(HANGS_S):
        while seen != [1, 2]:
            await asyncio.sleep(0.02)
    enough.set()
    await listening
