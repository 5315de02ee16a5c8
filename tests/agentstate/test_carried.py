"""What a session that resumes another begins with, over a real database."""

from dataclasses import replace
from datetime import timedelta

from agentstate.test_journal import SESSION, ann, knows, turn
from mnemon.agentstate import journal, store
from mnemon.agentstate.journal import ChangeSource, refold_documents
from mnemon.agentstate.reflect import SECTIONS, AgentStateReflection
from mnemon.agentstate.state import AgentState
from mnemon.agentstate.store import ChangeAuthor
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.scope import Scope
from mnemon.sessions.boundary import SessionBoundary
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.record import NewTurn, store_turn
from mnemon.turn import Role, Turn

__all__ = ["ann"]
LATER = "ses_2"


async def test_the_carried_state_is_what_its_journal_gives(db: Database, ann: Scope, clock: ManualClock) -> None:
    async with db.tx(ann.org_id) as tx:
        by_api = ChangeSource(who=ChangeAuthor.API, reason="test")
        await journal.amend_state(tx, ann, SESSION, knows("t1"), by_api)
        later = replace(turn(ann, clock.now()), session_id=LATER, carries_from=SESSION)
        assert await journal.carry_state(tx, later, SESSION) is not None
    async with db.tx(ann.org_id) as tx:
        first, second = await store.load_state(tx, ann, SESSION), await store.load_state(tx, ann, LATER)
        assert second.state == replace(first.state, session_id=LATER)
        await refold_documents(tx, ann, clock.now())
        assert await store.load_state(tx, ann, LATER) == second


async def test_an_empty_state_leaves_no_row(db: Database, ann: Scope, clock: ManualClock) -> None:
    later = replace(turn(ann, clock.now()), session_id=LATER, carries_from=SESSION)
    async with db.tx(ann.org_id) as tx:
        assert await journal.carry_state(tx, later, SESSION) is None
    async with db.tx(ann.org_id) as tx:
        assert await store.list_session_ids(tx, ann) == []


async def say(db: Database, scope: Scope, text: str) -> Turn:
    incoming = NewTurn(user_name="ann", messages=(NewMessage(role=Role.USER, content=text),))
    async with db.tx(scope.org_id) as tx:
        stored = await store_turn(tx, scope, incoming, SessionBoundary())
        await journal.record_turn(tx, stored)
    return stored


async def test_a_turn_reflected_after_its_session_was_resumed_reaches_both(
    db: Database, ann: Scope, clock: ManualClock
) -> None:
    first = await say(db, ann, "Open question: Which board?")
    clock.advance(timedelta(minutes=31))
    second = await say(db, ann, "I am back.")
    assert second.carries_from == first.session_id
    section = SECTIONS[0]
    async with db.tx(ann.org_id) as tx:
        brief = await section.prepare_brief(tx, first)
        assert brief is not None
        answer = section.answer_by_rule(first, brief)
        assert isinstance(answer, AgentStateReflection)
        assert (await section.apply_answer(tx, first, answer)).stored == 1
    async with db.tx(ann.org_id) as tx:
        held = [await store.load_state(tx, ann, one.session_id) for one in (first, second)]
        assert (await section.apply_answer(tx, first, answer)).skipped == 1
    assert [[item.title for item in one.state.items] for one in held] == [["Which board?"]] * 2
    assert held[1].state != AgentState(session_id=second.session_id)
