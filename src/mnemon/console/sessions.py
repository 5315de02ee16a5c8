"""Pages of sessions: the list, and one transcript with its summaries and what each reflection stored and rejected."""

from typing import Any

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.live import live_topic
from mnemon.console.page_request import PageRequest
from mnemon.console.pages import ActionRedirect, PageContent, action, page
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.memory.survey import memories_by_turn as remembered_by
from mnemon.reflection import store as reflections
from mnemon.scope import Scope
from mnemon.sessions import overview, state, store, turns
from mnemon.sessions.boundary import boundary_from_settings, has_ended
from mnemon.sessions.close import close_session
from mnemon.sessions.session import Session
from mnemon.sessions.turns import StoredTurn

router = APIRouter()
PAGE_SIZE = 50
MAX_TURNS = 40
MAX_ROLLING_SUMMARIES = 20


@page(router, "/sessions", "sessions.html", grant=Grant.MEMORY_READ)
async def sessions(visit: PageRequest) -> PageContent:
    """Show the page of the organization's sessions, latest activity first, filtered by person, persona and words."""
    scope = visit.person_scope(visit.asked("user")) if visit.asked("user") else visit.org_scope
    number = visit.query_number("page", 1, most=10_000)
    async with visit.tx() as tx:
        found = await overview.list_sessions(
            tx,
            scope,
            # One more than is shown says whether there is a next page.
            most=PAGE_SIZE + 1,
            skip=(number - 1) * PAGE_SIZE,
            persona_id=visit.asked("persona") or None,
            words=visit.asked("q") or None,
        )
        people = await overview.list_people(tx, visit.org_scope, most=200)
    boundary = boundary_from_settings(visit.services.settings)
    data = {
        "found": [{"listed": one, "runs": not has_ended(one.session, tx.now, boundary)} for one in found[:PAGE_SIZE]],
        "more": len(found) > PAGE_SIZE,
        "page": number,
        "people": people,
        "asked": {name: visit.asked(name) for name in ("q", "user", "persona")},
        "now": tx.now,
    }
    return PageContent(title="Sessions", data=data)


@page(router, "/sessions/{session_id}", "session.html", grant=Grant.MEMORY_READ)
async def session(visit: PageRequest, session_id: str) -> PageContent:
    """Show the page of one session: its turns, each with its reflection and the memories made from it."""
    async with visit.tx() as tx:
        found, scope = await find_session(tx, visit, session_id)
        last = await overview.last_turn_seq(tx, scope, session_id)
        after = await _turns_before_page(visit, tx, scope, last)
        shown = await turns.list_session_turns(tx, scope, session_id, most=MAX_TURNS, after=after)
        ids = [one.turn.id for one in shown]
        found_reflections = await reflections.find_for_turns(tx, scope, ids)
        remembered = await remembered_by(tx, scope, ids)
        rolling = await state.list_rolling_summaries(tx, scope, most=MAX_ROLLING_SUMMARIES)
        followed_by = await overview.list_successors(tx, scope, session_id)
    grants = visit.principal.grants
    reflected = {turn_id: one.visible_to(grants) for turn_id, one in found_reflections.items()}
    data = {
        "session": found,
        "runs": not has_ended(found, tx.now, boundary_from_settings(visit.services.settings)),
        "turns": [
            {"stored": one, "reflection": reflected.get(one.turn.id), "remembered": remembered.get(one.turn.id, [])}
            for one in shown
        ],
        "spent": _token_usage(shown, reflected),
        "first": after + 1,
        "last": last,
        "size": MAX_TURNS,
        "rolling": rolling,
        "followed_by": followed_by,
        "may_see_state": visit.principal.may(Grant.AGENT_STATE_READ),
        "now": tx.now,
    }
    return PageContent(title=_session_title(found), data=data)


@action(router, "/sessions/{session_id}/close", grant=Grant.CHAT)
async def close(visit: PageRequest, form: dict[str, str], session_id: str) -> ActionRedirect:
    """End the session and queue its summary."""
    async with visit.tx() as tx:
        await close_session(tx, visit.org_scope, session_id, boundary_from_settings(visit.services.settings))
        visit.audit_write(tx, "close session", session_id)
    return ActionRedirect(to=f"/sessions/{session_id}", notice="Session closed. Its summary will appear soon.")


@live_topic("sessions", grant=Grant.MEMORY_READ)
async def _sessions_version(tx: Tx, scope: Scope, argument: str) -> str:
    """Return a text that changes with any session; a new one reloads the list of sessions."""
    return await overview.change_token(tx, scope)


@live_topic("session", grant=Grant.MEMORY_READ)
async def _session_version(tx: Tx, scope: Scope, argument: str) -> str:
    """Return a text that changes with the session's latest turns, `gone` without it; a new one reloads it."""
    found = await store.find_session(tx, scope, argument)
    if found is None:
        return "gone"
    last = await overview.last_turn_seq(tx, found[1], argument)
    # Only the latest turns still change, and this runs every second for each open page.
    shown = await turns.list_session_turns(tx, found[1], argument, most=3, after=last - 3)
    reflected = await reflections.find_for_turns(tx, found[1], [one.turn.id for one in shown])
    steps = [f"{one.turn.id}{one.status}{len(one.turn.messages)}" for one in shown]
    return "|".join([str(found[0]), *steps, *(f"{r.status}{r.attempts}" for r in reflected.values())])


async def find_session(tx: Tx, visit: PageRequest, session_id: str) -> tuple[Session, Scope]:
    """Return the session and the scope of its person; raise NotFound when the organization has none such."""
    found = await store.find_session(tx, visit.org_scope, session_id)
    if found is None:
        raise NotFound("session")
    return found


async def _turns_before_page(visit: PageRequest, tx: Tx, scope: Scope, last: int) -> int:
    """Return the number of turns of the session before the first one shown.

    The query chooses: `turn` centers on that turn, `from` starts at that number, otherwise the latest are shown.
    """
    named = await turns.find_turn(tx, scope, visit.asked("turn")) if visit.asked("turn") else None
    if named is not None:
        return max(0, named.turn.seq - MAX_TURNS // 2)
    if visit.asked("from"):
        return max(0, min(visit.query_number("from", 1, most=10_000_000) - 1, max(0, last - 1)))
    return max(0, last - MAX_TURNS)


def _session_title(session: Session) -> str:
    """Return the page's title: the session's summary in one line, else who spoke with whom."""
    if session.summary is not None:
        return session.summary.one_liner
    return f"{session.user_name} with {session.persona_id}" if session.persona_id else session.user_name


def _token_usage(shown: list[StoredTurn], reflected: dict[str, Any]) -> dict[str, int]:
    """Return the tokens that replies and reflections of the shown turns used, by kind."""
    replies = [one.usage for one in shown if one.usage]
    after = [one.usage for one in reflected.values() if one.usage]
    return {
        "replies": sum(one.input_tokens + one.output_tokens for one in replies),
        "reflections": sum(one.input_tokens + one.output_tokens for one in after),
    }
