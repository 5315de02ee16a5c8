"""Turns are stored in the session of their time, in order, and counted."""

import asyncio
from datetime import datetime, timedelta

import pytest

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.errors import Invalid, NotFound
from mnemon.scope import Scope, person_scope
from mnemon.sessions import messages, state, store, turns
from mnemon.sessions.boundary import SessionBoundary
from mnemon.sessions.close import close_session
from mnemon.sessions.lifecycle import TurnStatus
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.record import NewTurn, store_turn
from mnemon.turn import Intent, Role, ToolOutcome, Turn

RULES = SessionBoundary()


async def say(
    db: Database,
    text: str,
    *,
    persona: str | None = None,
    at: datetime | None = None,
    session_id: str | None = None,
    user: str = "ana",
) -> Turn:
    incoming = NewTurn(
        user_name=user, messages=(NewMessage(role=Role.USER, content=text, at=at),), session_id=session_id
    )
    async with db.tx("acme") as tx:
        return await store_turn(tx, person_scope("acme", user, persona), incoming, RULES)


async def test_the_first_message_makes_person_session_and_state(db: Database, org: str, clock: ManualClock) -> None:
    turn = await say(db, "hello", persona="coach")
    async with db.tx(org) as tx:
        found = await store.find_session(tx, Scope(org_id=org), turn.session_id)
        kept = await state.load_session_state(tx, turn.scope)
    assert found is not None
    assert kept is not None
    assert (found[0].turn_count, found[0].persona_id, found[0].started_at) == (1, "coach", clock.now())
    assert (kept.message_count, kept.last_user_message) == (1, "hello")


async def test_messages_of_one_moment_share_one_session_and_take_turns(db: Database, org: str) -> None:
    made = await asyncio.gather(*(say(db, f"message {number}") for number in range(20)))
    assert len({turn.session_id for turn in made}) == 1
    assert sorted(turn.seq for turn in made) == list(range(1, 21))
    assert sorted(turn.message_count for turn in made) == list(range(1, 21))


async def test_a_stale_session_ends_when_the_next_message_comes(db: Database, org: str, clock: ManualClock) -> None:
    first = await say(db, "one")
    began = clock.now()
    clock.advance(timedelta(minutes=36))
    second = await say(db, "two")
    async with db.tx(org) as tx:
        old = await store.find_session(tx, Scope(org_id=org), first.session_id)
        new = await store.find_session(tx, Scope(org_id=org), second.session_id)
        kept = await state.load_session_state(tx, second.scope)
    assert old is not None
    assert new is not None
    assert kept is not None
    assert old[0].ended_at == began + timedelta(minutes=30)
    assert (new[0].resumed_from, new[0].turn_count) == (first.session_id, 1)
    assert kept.message_count == 2


async def test_history_loaded_later_makes_the_sessions_it_would_have_made(
    db: Database, org: str, clock: ManualClock
) -> None:
    start = clock.now() - timedelta(days=300)
    minutes = [0, 5, 10, 60, 61, 600]
    made = [await say(db, f"m{at}", at=start + timedelta(minutes=at)) for at in minutes]
    sessions = [turn.session_id for turn in made]
    assert [sessions.index(one) for one in sessions] == [0, 0, 0, 3, 3, 5]
    assert [turn.seq for turn in made] == [1, 2, 3, 1, 2, 1]


async def test_an_undated_reply_in_old_history_does_not_join_sessions(
    db: Database, org: str, clock: ManualClock
) -> None:
    """Days lie between two questions of which only the person's messages carry a time."""
    made = []
    for days in (14, 7):
        asked = clock.now() - timedelta(days=days)
        question = NewMessage(role=Role.USER, content="what now?", at=asked)
        incoming = NewTurn(user_name="ana", messages=(question, NewMessage(role=Role.ASSISTANT, content="wait")))
        async with db.tx(org) as tx:
            made.append(await store_turn(tx, person_scope(org, "ana"), incoming, RULES))
            found = await store.find_session(tx, Scope(org_id=org), made[-1].session_id)
        assert found is not None
        assert (found[0].started_at, found[0].last_activity_at) == (asked, asked)
        assert [message.at for message in made[-1].messages] == [asked, asked]
    assert made[0].session_id != made[1].session_id


def test_a_message_without_a_time_takes_that_of_its_neighbours(clock: ManualClock) -> None:
    now, old = clock.now(), clock.now() - timedelta(days=9)
    later = old + timedelta(minutes=5)

    def times(*given: datetime | None) -> list[datetime | None]:
        said = [NewMessage(role=Role.USER, content="x", at=at) for at in given]
        return [one.at for one in messages.date_messages(now, said)]

    assert times(old, None) == [old, old]
    assert times(None, old, None, later, None) == [old, old, old, later, later]
    assert times(None, None) == [now, now]
    assert times() == []


async def test_personas_have_sessions_and_counts_of_their_own(db: Database, org: str) -> None:
    coach, direct = await say(db, "a", persona="coach"), await say(db, "b")
    assert coach.session_id != direct.session_id
    assert (coach.message_count, direct.message_count) == (1, 1)


async def test_a_named_session_that_ended_is_taken_up_by_a_new_one(db: Database, org: str, clock: ManualClock) -> None:
    first = await say(db, "one", persona="coach")
    async with db.tx(org) as tx:
        await close_session(tx, Scope(org_id=org), first.session_id, RULES)
    clock.advance(timedelta(days=9))
    second = await say(db, "two", session_id=first.session_id)
    async with db.tx(org) as tx:
        found = await store.find_session(tx, Scope(org_id=org), second.session_id)
    assert found is not None
    assert (found[0].resumed_from, found[0].persona_id) == (first.session_id, "coach")


async def test_somebody_elses_session_does_not_exist(db: Database, org: str) -> None:
    first = await say(db, "one", user="ana", persona="coach")
    with pytest.raises(NotFound):
        await say(db, "two", user="bob", session_id=first.session_id)
    with pytest.raises(Invalid):
        await say(db, "two", user="ana", persona="sage", session_id=first.session_id)


async def test_a_turn_is_read_back_as_it_was_stored(db: Database, org: str) -> None:
    incoming = NewTurn(
        user_name="ana",
        messages=(NewMessage(role=Role.USER, content="hi"), NewMessage(role=Role.ASSISTANT, content="hello")),
        tool_results=(ToolOutcome(id="t1", action="search", ids=(), count=0, output={"a": [1]}),),
        intents=(Intent(action="search", expected_outcome="none", expected_count=0),),
    )
    async with db.tx(org) as tx:
        turn = await store_turn(tx, person_scope(org, "ana"), incoming, RULES)
    async with db.tx(org) as tx:
        found = await turns.find_turn(tx, Scope(org_id=org), turn.id)
    assert found is not None
    assert found.turn == turn
    assert found.status is TurnStatus.ANSWERED


async def test_another_organization_sees_nothing(db: Database, org: str) -> None:
    turn = await say(db, "secret")
    async with db.tx("rival") as tx:
        assert await turns.find_turn(tx, Scope(org_id="rival"), turn.id) is None
        assert await store.find_session(tx, Scope(org_id="rival"), turn.session_id) is None
        assert (
            await messages.list_recent_messages(
                tx, Scope(org_id="rival", user_id=turn.scope.user), turn.session_id, most=5
            )
            == ()
        )
