"""`/api/sessions` and `/api/session-state`: sessions and their messages, and the state kept across sessions."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, Path, Query, Response

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.models import ApiModel, Instant, Name, decode_cursor
from mnemon.api.turn_shapes import MessageOut
from mnemon.clock import format_time, parse_time
from mnemon.db.tx import Tx
from mnemon.errors import Malformed, NotFound
from mnemon.scope import Scope
from mnemon.sessions import messages, state, store
from mnemon.sessions.boundary import SessionBoundary, boundary_from_settings, has_ended, session_end
from mnemon.sessions.close import close_session
from mnemon.sessions.messages import StoredMessage
from mnemon.sessions.session import RollingSummary, Session, SessionState
from mnemon.sessions.summary import SessionSummary

router = APIRouter(prefix="/api", tags=["sessions"], route_class=JsonRoute)

SessionId = Annotated[str, Path(max_length=200)]
ReadDoor = Annotated[Door, needs(Grant.MEMORY_READ)]
UserId = Annotated[Name, Query(alias="userId")]
PersonaId = Annotated[Name | None, Query(alias="personaId")]
Limit = Annotated[int, Query(ge=1, le=200)]


class SessionOut(ApiModel):
    """A session; `endedAt` is null while it is open."""

    id: str
    user_id: str
    persona_id: str | None
    started_at: Instant
    last_activity_at: Instant
    ended_at: Instant | None
    turn_count: int
    resumed_from: str | None
    summary: SessionSummary | None

    @classmethod
    def from_session(cls, session: Session, now: datetime, boundary: SessionBoundary) -> Self:
        """Return the response for a session; `now` and the boundary decide whether it has ended."""
        return cls(
            id=session.id,
            user_id=session.user_name,
            persona_id=session.persona_id,
            started_at=session.started_at,
            last_activity_at=session.last_activity_at,
            ended_at=session_end(session, boundary) if has_ended(session, now, boundary) else session.ended_at,
            turn_count=session.turn_count,
            resumed_from=session.resumed_from,
            summary=session.summary,
        )


class SessionMessageOut(MessageOut):
    """A message with its place in the session."""

    turn_id: str
    seq: int
    place: int

    @classmethod
    def from_stored_message(cls, stored: StoredMessage) -> Self:
        """Return the response for a stored message with its place in the session."""
        said = stored.said
        return cls(
            id=said.message_id,
            role=said.role,
            content=said.content,
            name=said.name,
            at=said.at,
            turn_id=stored.turn_id,
            seq=stored.seq,
            place=stored.place,
        )


class CuratorOut(ApiModel):
    """When the curator last ran."""

    last_run_at: Instant | None
    last_memory_count_at_run: int | None


class RollingErrorOut(ApiModel):
    """Why the last rolling summary could not be made."""

    reason: str
    detail: str | None = None


class StateOut(ApiModel):
    """Counters and times of a person and a persona."""

    message_count: int
    last_interaction: Instant | None
    last_user_message: str
    curator: CuratorOut
    last_rolling_attempt_at: Instant | None
    last_rolling_success_at: Instant | None
    last_rolling_error: RollingErrorOut | None


class SessionStateOut(ApiModel):
    """The state of a person and a persona across sessions."""

    state: StateOut
    rolling_summary: str

    @classmethod
    def from_state(cls, kept: SessionState) -> Self:
        """Return the response for the state of a person and a persona across sessions."""
        error = kept.last_rolling_error
        return cls(
            state=StateOut(
                message_count=kept.message_count,
                last_interaction=kept.last_interaction,
                last_user_message=kept.last_user_message,
                curator=CuratorOut(
                    last_run_at=kept.curator.last_run_at,
                    last_memory_count_at_run=kept.curator.last_memory_count_at_run,
                ),
                last_rolling_attempt_at=kept.last_rolling_attempt_at,
                last_rolling_success_at=kept.last_rolling_success_at,
                last_rolling_error=RollingErrorOut(reason=error.reason, detail=error.detail) if error else None,
            ),
            rolling_summary=kept.rolling_summary,
        )


class RollingSummaryOut(ApiModel):
    """A version of the rolling summary; `carried` lists open points that the text dropped."""

    message_count: int
    text: str
    carried: list[str]
    turn_id: str
    at: Instant

    @classmethod
    def from_summary(cls, version: RollingSummary) -> Self:
        """Return the response for a stored version of the rolling summary."""
        return cls(
            message_count=version.message_count,
            text=version.text,
            carried=list(version.carried),
            turn_id=version.turn_id,
            at=version.at,
        )


@router.get("/sessions", responses=responses_for(SessionOut, page=True))
async def list_sessions(
    door: ReadDoor, user_id: UserId, persona_id: PersonaId = None, limit: Limit = 50, cursor: str | None = None
) -> Response:
    """List the person's sessions with this persona, or without one, newest first."""
    before = _parse_time_cursor(cursor)
    async with door.tx() as tx:
        scope = door.person_scope(user_id, persona_id)
        found = await store.list_sessions(tx, scope, most=limit + 1, before=before)
        shown = [SessionOut.from_session(one, tx.now, boundary_from_settings(door.services.settings)) for one in found]
    return door.page(shown, limit=limit, position=lambda one: f"{format_time(one.started_at)} {one.id}")


@router.get("/sessions/{session_id}", responses=responses_for(SessionOut))
async def get_session(session_id: SessionId, door: ReadDoor) -> Response:
    """Return a session, with its summary once it is written."""
    async with door.tx() as tx:
        session, _ = await _find_session(tx, door, session_id)
        shown = SessionOut.from_session(session, tx.now, boundary_from_settings(door.services.settings))
    return door.reply(shown)


@router.get("/sessions/{session_id}/messages", responses=responses_for(SessionMessageOut, page=True))
async def list_messages(
    session_id: SessionId, door: ReadDoor, limit: Limit = 50, cursor: str | None = None
) -> Response:
    """List the session's messages, oldest first."""
    after = _parse_place_cursor(cursor)
    async with door.tx() as tx:
        _, scope = await _find_session(tx, door, session_id)
        found = await messages.list_session_messages(tx, scope, session_id, most=limit + 1, after=after)
    shown = [SessionMessageOut.from_stored_message(one) for one in found]
    return door.page(shown, limit=limit, position=lambda one: f"{one.seq} {one.place}")


@router.post("/sessions/{session_id}/close", responses=write_responses(SessionOut))
async def close(session_id: SessionId, door: Annotated[Door, needs(Grant.CHAT)]) -> Response:
    """End a session and queue its summary; a key without `memory:read` gets no summary in the response."""
    boundary = boundary_from_settings(door.services.settings)

    async def end_session(tx: Tx) -> tuple[Session, datetime]:
        """End the session and return it with the time; without its summary for a key that may not read it."""
        closed = await close_session(tx, door.visible_scope, session_id, boundary)
        return closed if door.has_grant(Grant.MEMORY_READ) else replace(closed, summary=None), tx.now

    return await door.write(end_session, lambda made: SessionOut.from_session(made[0], made[1], boundary))


@router.get("/session-state", responses=responses_for(SessionStateOut, also=(404,)))
async def get_session_state(door: ReadDoor, user_id: UserId, persona_id: PersonaId = None) -> Response:
    """Return the state of this person and persona across sessions."""
    async with door.tx() as tx:
        kept = await state.load_session_state(tx, door.person_scope(user_id, persona_id))
    if kept is None:
        raise NotFound("session state")
    return door.reply(SessionStateOut.from_state(kept))


@router.get("/session-state/rolling-summaries", responses=responses_for(RollingSummaryOut, page=True))
async def list_rolling_summaries(
    door: ReadDoor, user_id: UserId, persona_id: PersonaId = None, limit: Limit = 50, cursor: str | None = None
) -> Response:
    """List every version of the rolling summary, newest first."""
    before = _parse_count_cursor(cursor)
    async with door.tx() as tx:
        scope = door.person_scope(user_id, persona_id)
        found = await state.list_rolling_summaries(tx, scope, most=limit + 1, before=before)
    shown = [RollingSummaryOut.from_summary(one) for one in found]
    return door.page(shown, limit=limit, position=lambda one: str(one.message_count))


async def _find_session(tx: Tx, door: Door, session_id: str) -> tuple[Session, Scope]:
    """Return the session and its person's scope; raise NotFound where the key cannot see it."""
    found = await store.find_session(tx, door.visible_scope, session_id)
    if found is None:
        raise NotFound("session")
    return found


def _parse_time_cursor(cursor: str | None) -> tuple[datetime, str] | None:
    """Return the time and id that a cursor of the session list holds; None without a cursor."""
    position = decode_cursor(cursor)
    return None if position is None else _parse_position(position, lambda at, id_: (parse_time(at), id_))


def _parse_place_cursor(cursor: str | None) -> tuple[int, int]:
    """Return the turn number and message place that a cursor holds; the place before the first without one."""
    position = decode_cursor(cursor)
    return (
        (0, -1)
        if position is None
        else _parse_position(position, lambda seq, place: (_parse_small_int(seq), _parse_small_int(place)))
    )


def _parse_count_cursor(cursor: str | None) -> int | None:
    """Return the version number that a cursor of rolling summaries holds; None without a cursor."""
    position = decode_cursor(cursor)
    # This cursor has one word; the dot is the second that the parser expects.
    return None if position is None else _parse_position(f"{position} .", lambda number, _: _parse_small_int(number))


def _parse_small_int(text: str) -> int:
    """Return the number in the text; raise ValueError where PostgreSQL's integer cannot hold it."""
    number = int(text)
    if not -(2**31) < number < 2**31:
        raise ValueError("no such place")
    return number


def _parse_position(position: str, reading: Any) -> Any:
    """Return the result of `reading` for the two words of a cursor's position; raise Malformed if it fails."""
    try:
        return reading(*position.split(" ", 1))
    # TypeError: another number of words; OverflowError: a time beyond what a datetime holds.
    except (TypeError, ValueError, OverflowError):
        raise Malformed("The cursor is invalid. Take it unchanged from `meta.nextCursor`.", code="bad_cursor") from None
