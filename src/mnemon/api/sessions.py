"""`/api/sessions` and `/api/session-state`: what was said, when it ended, and what stays of it."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, Path, Query, Response

from mnemon.access.grants import Grant
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.turn_shapes import MessageOut
from mnemon.api.wire import Instant, Name, Wire, position_of
from mnemon.clock import iso, parse_time
from mnemon.db.tx import Tx
from mnemon.errors import Malformed, NotFound
from mnemon.scope import Scope
from mnemon.sessions import messages, state, store
from mnemon.sessions.boundary import Boundary, end_of, has_ended
from mnemon.sessions.close import boundary_of, close_session
from mnemon.sessions.messages import StoredMessage
from mnemon.sessions.session import RollingSummary, Session, SessionState
from mnemon.sessions.summary import SessionSummary

router = APIRouter(prefix="/api", tags=["sessions"], route_class=JsonRoute)

SessionId = Annotated[str, Path(max_length=200)]
Reads = Annotated[Door, needs(Grant.MEMORY_READ)]
UserId = Annotated[Name, Query(alias="userId")]
PersonaId = Annotated[Name | None, Query(alias="personaId")]
Limit = Annotated[int, Query(ge=1, le=200)]


class SessionOut(Wire):
    """A session; `endedAt` is null while it runs."""

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
    def of(cls, session: Session, now: datetime, boundary: Boundary) -> Self:
        return cls(
            id=session.id,
            user_id=session.user_name,
            persona_id=session.persona_id,
            started_at=session.started_at,
            last_activity_at=session.last_activity_at,
            ended_at=end_of(session, boundary) if has_ended(session, now, boundary) else session.ended_at,
            turn_count=session.turn_count,
            resumed_from=session.resumed_from,
            summary=session.summary,
        )


class SessionMessageOut(MessageOut):
    turn_id: str
    seq: int
    place: int

    @classmethod
    def at_place(cls, stored: StoredMessage) -> Self:
        return cls(
            **MessageOut.of(stored.said).model_dump(by_alias=False, exclude={"at"}),
            at=stored.said.at,
            turn_id=stored.turn_id,
            seq=stored.seq,
            place=stored.place,
        )


class CuratorOut(Wire):
    last_run_at: Instant | None
    last_memory_count_at_run: int | None


class RollingErrorOut(Wire):
    reason: str
    detail: str | None = None


class StateOut(Wire):
    message_count: int
    last_interaction: Instant | None
    last_user_message: str
    curator: CuratorOut
    last_rolling_attempt_at: Instant | None
    last_rolling_success_at: Instant | None
    last_rolling_error: RollingErrorOut | None


class SessionStateOut(Wire):
    """What is kept for a person and a persona across sessions."""

    state: StateOut
    rolling_summary: str

    @classmethod
    def of(cls, kept: SessionState) -> Self:
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


class RollingSummaryOut(Wire):
    """One version of the rolling summary; `carried` is what it dropped and is still open."""

    message_count: int
    text: str
    carried: list[str]
    turn_id: str
    at: Instant

    @classmethod
    def of(cls, version: RollingSummary) -> Self:
        return cls(
            message_count=version.message_count,
            text=version.text,
            carried=list(version.carried),
            turn_id=version.turn_id,
            at=version.at,
        )


@router.get("/sessions", responses=documented(SessionOut, page=True))
async def list_sessions(
    door: Reads, user_id: UserId, persona_id: PersonaId = None, limit: Limit = 50, cursor: str | None = None
) -> Response:
    """The person's sessions with this persona, or with none; newest first."""
    before = _moment(cursor)
    async with door.tx() as tx:
        scope = door.person(user_id, persona_id)
        found = await store.listed(tx, scope, most=limit + 1, before=before)
        shown = [SessionOut.of(one, tx.now, boundary_of(door.basement.settings)) for one in found]
    return door.page(shown, limit=limit, position=lambda one: f"{iso(one.started_at)} {one.id}")


@router.get("/sessions/{session_id}", responses=documented(SessionOut))
async def get_session(session_id: SessionId, door: Reads) -> Response:
    """The session, with its summary once that is made."""
    async with door.tx() as tx:
        session, _ = await _found(tx, door, session_id)
        shown = SessionOut.of(session, tx.now, boundary_of(door.basement.settings))
    return door.reply(shown)


@router.get("/sessions/{session_id}/messages", responses=documented(SessionMessageOut, page=True))
async def list_messages(session_id: SessionId, door: Reads, limit: Limit = 50, cursor: str | None = None) -> Response:
    """What was said, in order."""
    after = _place(cursor)
    async with door.tx() as tx:
        _, scope = await _found(tx, door, session_id)
        found = await messages.of_session(tx, scope, session_id, most=limit + 1, after=after)
    shown = [SessionMessageOut.at_place(one) for one in found]
    return door.page(shown, limit=limit, position=lambda one: f"{one.seq} {one.place}")


@router.post("/sessions/{session_id}/close", responses=documented(SessionOut))
async def close(session_id: SessionId, door: Annotated[Door, needs(Grant.CHAT)]) -> Response:
    """The session has ended, and its summary is on the way; a key without `memory:read` is given no summary."""
    boundary = boundary_of(door.basement.settings)

    async def effect(tx: Tx) -> tuple[Session, datetime]:
        closed = await close_session(tx, _scope(door), session_id, boundary)
        return closed if door.may(Grant.MEMORY_READ) else replace(closed, summary=None), tx.now

    return await door.write(effect, lambda made: SessionOut.of(made[0], made[1], boundary))


@router.get("/session-state", responses=documented(SessionStateOut))
async def get_session_state(door: Reads, user_id: UserId, persona_id: PersonaId = None) -> Response:
    """The state of this person and persona."""
    async with door.tx() as tx:
        kept = await state.session_state(tx, door.person(user_id, persona_id))
    if kept is None:
        raise NotFound("session state")
    return door.reply(SessionStateOut.of(kept))


@router.get("/session-state/rolling-summaries", responses=documented(RollingSummaryOut, page=True))
async def list_rolling_summaries(
    door: Reads, user_id: UserId, persona_id: PersonaId = None, limit: Limit = 50, cursor: str | None = None
) -> Response:
    """Every version of the rolling summary, newest first."""
    before = _number(cursor)
    async with door.tx() as tx:
        scope = door.person(user_id, persona_id)
        found = await state.rolling_summaries(tx, scope, most=limit + 1, before=before)
    shown = [RollingSummaryOut.of(one) for one in found]
    return door.page(shown, limit=limit, position=lambda one: str(one.message_count))


async def _found(tx: Tx, door: Door, session_id: str) -> tuple[Session, Scope]:
    found = await store.find(tx, _scope(door), session_id)
    if found is None:
        raise NotFound("session")
    return found


def _scope(door: Door) -> Scope:
    return Scope(org_id=door.org.org_id, user_id=door.bound_user_id)


def _moment(cursor: str | None) -> tuple[datetime, str] | None:
    position = position_of(cursor)
    return None if position is None else _read(position, lambda at, id_: (parse_time(at), id_))


def _place(cursor: str | None) -> tuple[int, int]:
    position = position_of(cursor)
    return (0, -1) if position is None else _read(position, lambda seq, place: (_small(seq), _small(place)))


def _number(cursor: str | None) -> int | None:
    position = position_of(cursor)
    return None if position is None else _read(f"{position} .", lambda number, _: _small(number))


def _small(text: str) -> int:
    number = int(text)
    if not -(2**31) < number < 2**31:
        raise ValueError("no such place")
    return number


def _read(position: str, reading: Any) -> Any:
    try:
        return reading(*position.split(" ", 1))
    except (TypeError, ValueError, OverflowError):
        raise Malformed(
            "The cursor is not one of ours. Take it unchanged from `meta.nextCursor`.", code="bad_cursor"
        ) from None
