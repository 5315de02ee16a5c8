"""`/api/sessions/{id}/agent-state` and `/events`: the agent state of a session, its history and its stream of changes.

The JSON keeps the mixed spelling of the agent state's specification (`sessionId` beside `current_understanding`),
so these shapes are no ApiModels.
"""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, Any, Self

from fastapi import APIRouter, Header, Path, Query, Response
from pydantic import BaseModel, WrapValidator
from starlette.responses import StreamingResponse

from mnemon.access.grants import Grant
from mnemon.agentstate import store
from mnemon.agentstate.change import CHANGE_ADAPTER, StateChange
from mnemon.agentstate.delta import delta_from_proposal
from mnemon.agentstate.follow import follow_journal
from mnemon.agentstate.journal import AmendResult, ChangeSource, StateUpdate, amend_state
from mnemon.agentstate.proposal import MAX_MEMBERS, AgentStatePatch
from mnemon.agentstate.state import (
    STATE_ADAPTER,
    Assumption,
    StateExpectation,
    StateItem,
    TentativeHypothesis,
    Understanding,
)
from mnemon.agentstate.store import ChangeAuthor, HitRate, StateEntry, StoredState, load_hit_rates
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.models import ApiModel, IfMatch, Instant, Name, decode_cursor, error_line, parse_if_match, version_tag
from mnemon.clock import format_time
from mnemon.db.tx import Tx
from mnemon.errors import Invalid, Malformed, NotFound
from mnemon.scope import Scope
from mnemon.sessions import store as sessions
from mnemon.sessions.people import lock_person_shared


class AgentStateOut(BaseModel):
    """The agent state of a session, in its specification's spelling."""

    sessionId: str  # noqa: N815
    version: int
    current_understanding: Understanding
    assumptions: list[Assumption]
    expectations: list[StateExpectation]
    tentative_hypotheses: list[TentativeHypothesis]
    items: list[StateItem]
    lastSummarizedAt: Instant | None = None  # noqa: N815


class UpdateOut(BaseModel):
    """One change, as the event `agent_state_update` carries it."""

    sessionId: str  # noqa: N815
    version: int
    update: StateChange


class EntryOut(BaseModel):
    """One entry of the journal: a change, who made it and why."""

    version: int
    turnId: str | None  # noqa: N815
    who: ChangeAuthor
    reason: str
    at: Instant
    recordedAt: Instant  # noqa: N815
    update: StateChange


class ActionRateOut(ApiModel):
    """Settled expectations of one action; `rate` is the share that was confirmed, null when there are none."""

    action: str | None
    confirmed: int
    failed: int
    rate: float | None

    @classmethod
    def from_hit_rate(cls, hits: HitRate) -> Self:
        """Return the response for one action's confirmed and failed expectations."""
        return cls(action=hits.action, confirmed=hits.confirmed, failed=hits.failed, rate=hits.rate)


class HitRateOut(ApiModel):
    """Settled expectations in total and per action."""

    confirmed: int
    failed: int
    rate: float | None
    actions: list[ActionRateOut]

    @classmethod
    def from_hit_rates(cls, total: HitRate, actions: tuple[HitRate, ...]) -> Self:
        """Return the response for hit rates of expectations, in total and per action."""
        return cls(
            confirmed=total.confirmed,
            failed=total.failed,
            rate=total.rate,
            actions=[ActionRateOut.from_hit_rate(action) for action in actions],
        )


router = APIRouter(prefix="/api", tags=["agent state"], route_class=JsonRoute)

SessionId = Annotated[str, Path(max_length=200)]
ReadDoor = Annotated[Door, needs(Grant.AGENT_STATE_READ)]
WriteDoor = Annotated[Door, needs(Grant.AGENT_STATE_WRITE)]
_HEARTBEAT_EVERY = 15
"""Empty batches of the journal, about one a second, after which a comment keeps the connection open."""


def _list_too_long(value: Any) -> str | None:
    """Return the name of the first list in the JSON with too many members, at any depth; None if there is none."""
    for name, part in value.items() if isinstance(value, dict) else ():
        if isinstance(part, list) and len(part) > MAX_MEMBERS:
            return str(name)
        if (found := _list_too_long(part)) is not None:
            return found
    return None


def _validate_strictly(value: Any) -> Any:
    """Parse a PATCH body of an agent state without dropping any part; refuse a list that is too long before parsing."""
    if (name := _list_too_long(value)) is not None:
        raise ValueError(f"{name} has more than {MAX_MEMBERS:,} members")
    return AgentStatePatch.model_validate(value, context={"strict": True})


# Validated by hand to pass the context on; the schema in OpenAPI is still that of AgentStatePatch.
PatchBody = Annotated[AgentStatePatch, WrapValidator(lambda value, _: _validate_strictly(value))]


@router.get("/sessions/{session_id}/agent-state", responses=responses_for(AgentStateOut))
async def get_agent_state(session_id: SessionId, door: ReadDoor) -> Response:
    """Return the agent state of a session; empty at version 0 before anything was recorded."""
    async with door.tx() as tx:
        held = await store.load_state(tx, await _session_scope(tx, door, session_id), session_id)
    return door.reply(state_document(held), headers=version_tag(held.version))


@router.get("/sessions/{session_id}/agent-state/history", responses=responses_for(EntryOut, page=True))
async def get_history(
    session_id: SessionId,
    door: ReadDoor,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Response:
    """List every change of the session's agent state with its turn, its author and its reason, oldest first."""
    after = _parse_event_id(decode_cursor(cursor) or "0")
    async with door.tx() as tx:
        scope = await _session_scope(tx, door, session_id)
        entries = await store.list_entries(tx, scope, session_id, after=after, most=limit + 1)
    return door.page([_entry_json(e) for e in entries], limit=limit, position=lambda e: str(e["version"]))


@router.patch("/sessions/{session_id}/agent-state", responses=write_responses(AgentStateOut))
async def patch_agent_state(
    session_id: SessionId,
    door: WriteDoor,
    body: PatchBody,
    if_match: IfMatch = None,
) -> Response:
    """Apply an update to the version named in `If-Match`; `reported` lists the parts that could not be applied."""
    version = parse_if_match(_require_if_match(if_match))

    async def apply_patch(tx: Tx) -> AmendResult:
        """Lock the person and the session's state, apply the patch and return the outcome; raise Stale."""
        await lock_person_shared(tx, await _session_scope(tx, door, session_id))
        # Look the session up again: the person may have been forgotten before the lock was granted.
        scope = await _session_scope(tx, door, session_id)
        delta = delta_from_proposal(body, now=tx.now, new_id=tx.new_id)
        source = ChangeSource(who=ChangeAuthor.API, reason=body.reason or "requested over the API")
        return await amend_state(tx, scope, session_id, delta, source, version=version)

    return await door.write(
        apply_patch, lambda amended: _amended_json(amended, seen=door.has_grant(Grant.AGENT_STATE_READ))
    )


@router.get("/sessions/{session_id}/events", responses=responses_for(UpdateOut), response_class=StreamingResponse)
async def get_events(
    session_id: SessionId, door: ReadDoor, last_event_id: Annotated[str | None, Header()] = None
) -> Response:
    """Stream `agent_state_update` for every change after `Last-Event-ID`, or from the first, as Server-Sent Events.

    The stream ends within seconds of the key's expiry or revocation, or when the server stops, with an event `error`
    that has `code` and `detail`.
    """
    after = _parse_event_id(last_event_id or "0")
    async with door.tx() as tx:
        scope = await _session_scope(tx, door, session_id)
    stream = _stream_events(door, scope, session_id, after)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@router.get("/agent-state/hit-rate", responses=responses_for(HitRateOut))
async def get_hit_rate(door: ReadDoor, user_id: Annotated[Name | None, Query(alias="userId")] = None) -> Response:
    """Return how often actions had the expected outcome, in one person's sessions or in the whole organization's."""
    scope = door.org if user_id is None else door.person_scope(user_id)
    async with door.tx() as tx:
        total, actions = await load_hit_rates(tx, replace(scope, user_id=scope.user_id or door.bound_user_id))
    return door.reply(HitRateOut.from_hit_rates(total, actions))


def event_body(update: StateUpdate) -> dict[str, Any]:
    """Return the data of an `agent_state_update` event, whose event id is the state's version."""
    return {"sessionId": update.session_id, "version": update.version, "update": _change_json(update.change)}


def answer_body(update: StateUpdate | None) -> dict[str, Any] | None:
    """Return `agentStateUpdate` of a response: the event's data and the changed fields; None for no change."""
    return None if update is None else {**_change_json(update.change), **event_body(update)}


def state_document(held: StoredState) -> dict[str, Any]:
    """Return the stored agent state as JSON, with its version."""
    shown = replace(held.state, assumptions=_round_confidence(held.state.assumptions))
    fields = STATE_ADAPTER.dump_python(shown, mode="json", by_alias=True, exclude_none=True)
    return {**fields, "version": held.version}


def _change_json(change: StateChange) -> dict[str, Any]:
    """Return a change of an agent state as JSON, confidences rounded for display."""
    shown = change if change.assumptions is None else replace(change, assumptions=_round_confidence(change.assumptions))
    fields: dict[str, Any] = CHANGE_ADAPTER.dump_python(shown, mode="json", by_alias=True, exclude_none=True)
    return fields


def _round_confidence(assumptions: tuple[Assumption, ...]) -> tuple[Assumption, ...]:
    """Return the assumptions with their confidence rounded to two places."""
    return tuple(replace(a, confidence=round(a.confidence, 2)) for a in assumptions)


def _amended_json(amended: AmendResult, *, seen: bool) -> dict[str, Any]:
    """Return the response to a PATCH: the state (its version alone unless `seen`) and what was not applied."""
    state = state_document(amended.held)
    # A key that may write the state but not read it is told only the new version.
    shown = state if seen else {"sessionId": state["sessionId"], "version": state["version"]}
    return {**shown, "reported": [{"what": r.what, "why": r.why} for r in amended.reported]}


def _entry_json(entry: StateEntry) -> dict[str, Any]:
    """Return an entry of the agent state's journal as JSON."""
    return {
        "version": entry.seq,
        "turnId": entry.turn_id,
        "who": entry.who,
        "reason": entry.reason,
        "at": format_time(entry.at),
        "recordedAt": format_time(entry.recorded_at),
        "update": _change_json(entry.change),
    }


async def _session_scope(tx: Tx, door: Door, session_id: str) -> Scope:
    """Return the scope of the person whose session this is; raise NotFound where the key cannot see it."""
    found = await sessions.find_session(tx, door.visible_scope, session_id)
    if found is None:
        raise NotFound("session")
    return found[1]


async def _stream_events(door: Door, scope: Scope, session_id: str, after: int) -> AsyncIterator[str]:
    """Yield the session's agent state changes after this version as Server-Sent Events until the key ends."""
    quiet = 0
    # Tells the client to reconnect one second after the stream breaks.
    yield "retry: 1000\n\n"
    async with door.until_key_ends() as over:
        following = follow_journal(door.services.db, scope, session_id, after=after, until=over)
        async with aclosing(following) as batches:
            async for entries in batches:
                for entry in entries:
                    update = StateUpdate(session_id=session_id, version=entry.seq, change=entry.change)
                    data = json.dumps(event_body(update), ensure_ascii=False)
                    yield f"id: {entry.seq}\nevent: agent_state_update\ndata: {data}\n\n"
                quiet = 0 if entries else quiet + 1
                if quiet == _HEARTBEAT_EVERY:
                    quiet = 0
                    yield ": still here\n\n"
        yield error_line(over.reason)


def _require_if_match(if_match: str | None) -> str:
    """Return the If-Match header; raise Invalid if it is missing."""
    if if_match is None:
        raise Invalid(
            'Say which version the change is for: `If-Match: "<version>"`, as GET gives it in `version` and ETag.',
            code="if_match_required",
        )
    return if_match


def _parse_event_id(text: str) -> int:
    """Return the journal version in a Last-Event-ID header; raise Malformed for any other text."""
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise Malformed(
            "This is not the id of an event. Use the id of an event of this session, a whole number.", code="bad_place"
        )
    return int(text)
