"""Sessions: what was said, what stays of it, and what each turn's reflection stored and refused."""

from typing import Any

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.live import pulse
from mnemon.console.shell import Shown, Went, action, page
from mnemon.console.visit import Visit
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.memory.survey.survey import of_turns as remembered_by
from mnemon.reflection import store as reflections
from mnemon.scope import Scope
from mnemon.sessions import state, store, turns
from mnemon.sessions.boundary import has_ended
from mnemon.sessions.close import boundary_of, close_session
from mnemon.sessions.session import Session
from mnemon.sessions.survey import survey
from mnemon.sessions.turns import StoredTurn

router = APIRouter()
SIZE = 50
TURNS = 40
ROLLING = 20


@page(router, "/sessions", "sessions.html", grant=Grant.MEMORY_READ)
async def sessions(visit: Visit) -> Shown:
    """Everyone's sessions, latest activity first."""
    scope = visit.person(visit.asked("user")) if visit.asked("user") else visit.org
    number = visit.number("page", 1, most=10_000)
    async with visit.tx() as tx:
        found = await survey.sessions(
            tx,
            scope,
            most=SIZE + 1,
            skip=(number - 1) * SIZE,
            persona_id=visit.asked("persona") or None,
            words=visit.asked("q") or None,
        )
        people = await survey.people(tx, visit.org, most=200)
    boundary = boundary_of(visit.basement.settings)
    data = {
        "found": [{"listed": one, "runs": not has_ended(one.session, tx.now, boundary)} for one in found[:SIZE]],
        "more": len(found) > SIZE,
        "page": number,
        "people": people,
        "asked": {name: visit.asked(name) for name in ("q", "user", "persona")},
        "now": tx.now,
    }
    return Shown(title="Sessions", data=data)


@page(router, "/sessions/{session_id}", "session.html", grant=Grant.MEMORY_READ)
async def session(visit: Visit, session_id: str) -> Shown:
    """The transcript with what came of each turn."""
    async with visit.tx() as tx:
        found, scope = await located(tx, visit, session_id)
        last = await survey.last_seq(tx, scope, session_id)
        after = await _start(visit, tx, scope, last)
        said = await turns.of_session(tx, scope, session_id, most=TURNS, after=after)
        ids = [one.turn.id for one in said]
        reflected = await reflections.of_turns(tx, scope, ids)
        remembered = await remembered_by(tx, scope, ids)
        rolling = await state.rolling_summaries(tx, scope, most=ROLLING)
        followed_by = await survey.successors(tx, scope, session_id)
    data = {
        "session": found,
        "runs": not has_ended(found, tx.now, boundary_of(visit.basement.settings)),
        "turns": [
            {"stored": one, "reflection": reflected.get(one.turn.id), "remembered": remembered.get(one.turn.id, [])}
            for one in said
        ],
        "spent": _spent(said, reflected),
        "first": after + 1,
        "last": last,
        "size": TURNS,
        "rolling": rolling,
        "followed_by": followed_by,
        "may_see_state": visit.principal.may(Grant.AGENT_STATE_READ),
        "now": tx.now,
    }
    return Shown(title=_title(found), data=data)


@action(router, "/sessions/{session_id}/close", grant=Grant.CHAT)
async def close(visit: Visit, form: dict[str, str], session_id: str) -> Went:
    """The session has ended, and its summary is on the way."""
    async with visit.tx() as tx:
        await close_session(tx, visit.org, session_id, boundary_of(visit.basement.settings))
        visit.note(tx, "close session", session_id)
    return Went(to=f"/sessions/{session_id}", notice="Closed. Its summary is on the way.")


@pulse("sessions", grant=Grant.MEMORY_READ)
async def _all(tx: Tx, scope: Scope, argument: str) -> str:
    return await survey.pulse(tx, scope)


@pulse("session", grant=Grant.MEMORY_READ)
async def _one(tx: Tx, scope: Scope, argument: str) -> str:
    found = await store.find(tx, scope, argument)
    if found is None:
        return "gone"
    last = await survey.last_seq(tx, found[1], argument)
    said = await turns.of_session(tx, found[1], argument, most=3, after=last - 3)
    reflected = await reflections.of_turns(tx, found[1], [one.turn.id for one in said])
    steps = [f"{one.turn.id}{one.status}{len(one.turn.messages)}" for one in said]
    return "|".join([str(found[0]), *steps, *(f"{r.status}{r.attempts}" for r in reflected.values())])


async def located(tx: Tx, visit: Visit, session_id: str) -> tuple[Session, Scope]:
    """The organization's session and whose it is."""
    found = await store.find(tx, visit.org, session_id)
    if found is None:
        raise NotFound("session")
    return found


async def _start(visit: Visit, tx: Tx, scope: Scope, last: int) -> int:
    """After which place the shown turns begin: around the turn asked for, at the place asked for, or the latest."""
    named = await turns.find(tx, scope, visit.asked("turn")) if visit.asked("turn") else None
    if named is not None:
        return max(0, named.turn.seq - TURNS // 2)
    if visit.asked("from"):
        return max(0, min(visit.number("from", 1, most=10_000_000) - 1, max(0, last - 1)))
    return max(0, last - TURNS)


def _title(session: Session) -> str:
    if session.summary is not None:
        return session.summary.one_liner
    return f"{session.user_name} with {session.persona_id}" if session.persona_id else session.user_name


def _spent(said: list[StoredTurn], reflected: dict[str, Any]) -> dict[str, int]:
    """Tokens of the shown turns: what replies and what reflections took."""
    replies = [one.usage for one in said if one.usage]
    after = [one.usage for one in reflected.values() if one.usage]
    return {
        "replies": sum(one.input_tokens + one.output_tokens for one in replies),
        "reflections": sum(one.input_tokens + one.output_tokens for one in after),
    }
