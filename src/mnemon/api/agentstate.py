"""`/api/sessions/{id}/agent-state` and `/events`: what an agent holds true, how it came to, and what changes."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Response
from pydantic import WrapValidator
from starlette.responses import StreamingResponse

from mnemon.access.grants import Grant
from mnemon.agentstate import store
from mnemon.agentstate.change import CHANGE, Change
from mnemon.agentstate.follow import Bell, follow
from mnemon.agentstate.hit_rate import hit_rates
from mnemon.agentstate.journal import Amended, Source, Update, amend
from mnemon.agentstate.proposal import MOST_MEMBERS, AgentStatePatch
from mnemon.agentstate.reading import delta_of
from mnemon.agentstate.state import DOCUMENT, Assumption
from mnemon.agentstate.store import Entry, Held, Who
from mnemon.api.agentstate_shapes import AgentStateOut, EntryOut, HitRateOut, UpdateOut
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.wire import Name, error_line, position_of
from mnemon.clock import iso
from mnemon.db.tx import Tx
from mnemon.errors import Invalid, Malformed, NotFound
from mnemon.scope import Scope
from mnemon.sessions import store as sessions
from mnemon.sessions.people import keep_person

router = APIRouter(prefix="/api", tags=["agent state"], route_class=JsonRoute)

SessionId = Annotated[str, Path(max_length=200)]
Reads = Annotated[Door, needs(Grant.AGENT_STATE_READ)]
Writes = Annotated[Door, needs(Grant.AGENT_STATE_WRITE)]
_ETAG = re.compile(r'(?:W/)?"?(\d{1,15})"?')
_SIGN_OF_LIFE_EVERY = 15


def _list_too_long(value: Any) -> str | None:
    """Name a list with too many members, in the object or in an object within it."""
    for name, part in value.items() if isinstance(value, dict) else ():
        if isinstance(part, list) and len(part) > MOST_MEMBERS:
            return str(name)
        if (found := _list_too_long(part)) is not None:
            return found
    return None


def _strictly(value: Any) -> Any:
    """The body, read without leaving anything out; refused unread where a list of it is too long."""
    if (name := _list_too_long(value)) is not None:
        raise ValueError(f"{name} has more than {MOST_MEMBERS:,} members")
    return AgentStatePatch.model_validate(value, context={"strict": True})


PatchBody = Annotated[AgentStatePatch, WrapValidator(lambda value, _: _strictly(value))]


@router.get("/sessions/{session_id}/agent-state", responses=documented(AgentStateOut))
async def get_agent_state(session_id: SessionId, door: Reads) -> Response:
    """What the agent holds true in this session; empty at version 0 before anything was recorded."""
    async with door.tx() as tx:
        held = await store.read(tx, await _owner(tx, door, session_id), session_id)
    return door.reply(document(held), headers={"ETag": f'"{held.version}"'})


@router.get("/sessions/{session_id}/agent-state/history", responses=documented(EntryOut, page=True))
async def get_history(
    session_id: SessionId,
    door: Reads,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Response:
    """Every change with its turn, its source and its reason, oldest first."""
    after = _place(position_of(cursor) or "0")
    async with door.tx() as tx:
        scope = await _owner(tx, door, session_id)
        entries = await store.entries(tx, scope, session_id, after=after, most=limit + 1)
    return door.page([_entry(e) for e in entries], limit=limit, position=lambda e: str(e["version"]))


@router.patch("/sessions/{session_id}/agent-state", responses=documented(AgentStateOut))
async def patch_agent_state(
    session_id: SessionId,
    door: Writes,
    body: PatchBody,
    if_match: Annotated[str | None, Header(description='The version that was read, like "3"; * for any.')] = None,
) -> Response:
    """The update is applied to the version it names; what could not be done is told in `reported`."""
    version = _version(if_match)

    async def effect(tx: Tx) -> Amended:
        await keep_person(tx, await _owner(tx, door, session_id))
        scope = await _owner(tx, door, session_id)  # again: the person may have been forgotten before they were kept
        delta = delta_of(body, now=tx.now, new_id=tx.new_id)
        source = Source(who=Who.API, reason=body.reason or "requested over the API")
        return await amend(tx, scope, session_id, delta, source, version=version)

    return await door.write(effect, lambda amended: _amended(amended, seen=door.may(Grant.AGENT_STATE_READ)))


@router.get("/sessions/{session_id}/events", responses=documented(UpdateOut), response_class=StreamingResponse)
async def get_events(
    session_id: SessionId, door: Reads, last_event_id: Annotated[str | None, Header()] = None
) -> Response:
    """Server-Sent Events: `agent_state_update` for every change after `Last-Event-ID`; without it, for every one.

    The stream ends within seconds of the key's expiry or revocation, or when the server stops, with an event `error`
    that has `code` and `detail`.
    """
    after = _place(last_event_id or "0")
    async with door.tx() as tx:
        scope = await _owner(tx, door, session_id)
    stream = _events(door, scope, session_id, after)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@router.get("/agent-state/hit-rate", responses=documented(HitRateOut))
async def get_hit_rate(door: Reads, user_id: Annotated[Name | None, Query(alias="userId")] = None) -> Response:
    """How often actions did what was expected of them, in one person's sessions or in all of the organization's."""
    scope = door.org if user_id is None else door.person(user_id)
    async with door.tx() as tx:
        total, actions = await hit_rates(tx, replace(scope, user_id=scope.user_id or door.bound_user_id))
    return door.reply(HitRateOut.of(total, actions))


def event_body(update: Update) -> dict[str, Any]:
    """The data of an `agent_state_update` event; its id is the version."""
    return {"sessionId": update.session_id, "version": update.version, "update": _changes(update.change)}


def answer_body(update: Update | None) -> dict[str, Any] | None:
    """`agentStateUpdate` of an answer: the event's data, and the update's own fields beside it."""
    return None if update is None else {**_changes(update.change), **event_body(update)}


def document(held: Held) -> dict[str, Any]:
    """The state as the wire shows it, with its version."""
    shown = replace(held.state, assumptions=_rounded(held.state.assumptions))
    fields = DOCUMENT.dump_python(shown, mode="json", by_alias=True, exclude_none=True)
    return {**fields, "version": held.version}


def _changes(change: Change) -> dict[str, Any]:
    shown = change if change.assumptions is None else replace(change, assumptions=_rounded(change.assumptions))
    fields: dict[str, Any] = CHANGE.dump_python(shown, mode="json", by_alias=True, exclude_none=True)
    return fields


def _rounded(assumptions: tuple[Assumption, ...]) -> tuple[Assumption, ...]:
    return tuple(replace(a, confidence=round(a.confidence, 2)) for a in assumptions)


def _amended(amended: Amended, *, seen: bool) -> dict[str, Any]:
    state = document(amended.held)
    shown = state if seen else {"sessionId": state["sessionId"], "version": state["version"]}
    return {**shown, "reported": [{"what": r.what, "why": r.why} for r in amended.reported]}


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "version": entry.seq,
        "turnId": entry.turn_id,
        "who": entry.who,
        "reason": entry.reason,
        "at": iso(entry.at),
        "recordedAt": iso(entry.recorded_at),
        "update": _changes(entry.change),
    }


async def _owner(tx: Tx, door: Door, session_id: str) -> Scope:
    found = await sessions.find(tx, Scope(org_id=door.org.org_id, user_id=door.bound_user_id), session_id)
    if found is None:
        raise NotFound("session")
    return found[1]


async def _events(door: Door, scope: Scope, session_id: str, after: int) -> AsyncIterator[str]:
    quiet = 0
    yield "retry: 1000\n\n"
    async with door.while_key_is_good() as over:
        following = follow(door.basement.db, _bell(door), scope, session_id, after=after, until=over)
        async with aclosing(following) as batches:
            async for entries in batches:
                for entry in entries:
                    update = Update(session_id=session_id, version=entry.seq, change=entry.change)
                    data = json.dumps(event_body(update), ensure_ascii=False)
                    yield f"id: {entry.seq}\nevent: agent_state_update\ndata: {data}\n\n"
                quiet = 0 if entries else quiet + 1
                if quiet == _SIGN_OF_LIFE_EVERY:
                    quiet = 0
                    yield ": still here\n\n"
        yield error_line(over.reason)


def _bell(door: Door) -> Bell:
    """The process's bell, made when somebody first follows a session."""
    state = door.request.app.state
    if not hasattr(state, "agent_state_bell"):
        state.agent_state_bell = Bell(door.basement.db)
    bell: Bell = state.agent_state_bell
    return bell


def _version(if_match: str | None) -> int | None:
    if if_match is None:
        raise Invalid(
            'Say which version the change is for: `If-Match: "<version>"`, as GET gives it in `version` and ETag.',
            code="if_match_required",
        )
    if if_match.strip() == "*":
        return None
    found = _ETAG.fullmatch(if_match.strip())
    if found is None:
        raise Invalid('If-Match takes one version in quotes, like "3", or *.', code="bad_if_match")
    return int(found[1])


def _place(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise Malformed("This is not a place in the journal. Use the id of an event, a whole number.", code="bad_place")
    return int(text)
