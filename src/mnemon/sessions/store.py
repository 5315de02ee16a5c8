"""The `sessions` table."""

from dataclasses import dataclass
from datetime import datetime

from psycopg.types.json import Jsonb

from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.scope import Scope
from mnemon.sessions.boundary import SessionBoundary
from mnemon.sessions.session import EndedBy, Session
from mnemon.sessions.summary import SessionSummary

SQL = load_statements("mnemon.sessions")
_LAST_MESSAGE_CHARS = 200


async def list_sessions_around(tx: Tx, scope: Scope, at: datetime, boundary: SessionBoundary) -> list[Session]:
    """The sessions of this person and persona that a message of this time may belong to or follow."""
    rows = await tx.fetch_all(
        SQL["sessions_around"],
        org_id=scope.org_id,
        user_id=scope.user,
        persona_id=scope.persona_id,
        before=at + boundary.idle,
    )
    return [session_from_row(row) for row in rows]


async def find_session(tx: Tx, scope: Scope, session_id: str) -> tuple[Session, Scope] | None:
    """The session and whose it is; looked for among the scope's person, where it names one."""
    row = await tx.fetch_one_or_none(SQL["session"], org_id=scope.org_id, user_id=scope.user_id, id=session_id)
    if row is None:
        return None
    owner = Scope(org_id=scope.org_id, user_id=row["user_id"], persona_id=row["persona_id"])
    return session_from_row(row), owner


async def list_sessions(
    tx: Tx,
    scope: Scope,
    *,
    most: int,
    before: tuple[datetime, str] | None = None,
    any_persona: bool = False,
) -> list[Session]:
    """The person's sessions with the scope's persona, newest first."""
    rows = await tx.fetch_all(
        SQL["list_sessions"],
        org_id=scope.org_id,
        user_id=scope.user,
        persona_id=scope.persona_id,
        any_persona=any_persona,
        before=before[0] if before else None,
        before_id=before[1] if before else "",
        most=most,
    )
    return [session_from_row(row) for row in rows]


@dataclass(frozen=True, kw_only=True)
class TurnArrival:
    """What a new turn brings to its session."""

    at: datetime
    """When it happened."""
    until: datetime
    """When its last message came."""
    said: tuple[str, ...]
    """The person's messages."""


@dataclass(frozen=True, kw_only=True)
class EnteredSession:
    """A session with one turn more."""

    session: Session
    seq: int
    """The turn's place in it."""
    message_count: int
    """The person's messages to this persona, ever."""


async def begin_session(tx: Tx, scope: Scope, occasion: TurnArrival, *, resumed_from: str | None) -> EnteredSession:
    """A session has begun with its first turn."""
    row = await tx.fetch_one(
        SQL["begin_session"],
        **_arrival_params(scope, occasion),
        id=tx.new_id("ses"),
        resumed_from=resumed_from,
    )
    return _entered_from_row(row)


async def continue_session(tx: Tx, scope: Scope, session_id: str, occasion: TurnArrival) -> EnteredSession:
    """The session has one turn more."""
    return _entered_from_row(
        await tx.fetch_one(SQL["continue_session"], **_arrival_params(scope, occasion), id=session_id)
    )


def _arrival_params(scope: Scope, occasion: TurnArrival) -> dict[str, object]:
    return {
        "org_id": scope.org_id,
        "user_id": scope.user,
        "persona_id": scope.persona_id,
        "at": occasion.at,
        "until": occasion.until,
        "said": len(occasion.said),
        "last": occasion.said[-1][:_LAST_MESSAGE_CHARS] if occasion.said else "",
    }


def _entered_from_row(row: Row) -> EnteredSession:
    return EnteredSession(session=session_from_row(row), seq=int(row["seq"]), message_count=int(row["message_count"]))


def touch_session(tx: Tx, scope: Scope, session_id: str, *, at: datetime, said: int = 0) -> None:
    """Something was said at this time in a turn that the session counts already; written with the next statement."""
    tx.defer(SQL["touch_session"], org_id=scope.org_id, user_id=scope.user, id=session_id, at=at, said=said)


async def end_session(tx: Tx, scope: Scope, session_id: str, ended_at: datetime, by: EndedBy) -> bool:
    """Whether the session was running and has ended now."""
    return (
        await tx.execute(
            SQL["end_session"],
            org_id=scope.org_id,
            user_id=scope.user,
            id=session_id,
            ended_at=ended_at,
            ended_by=by,
        )
        > 0
    )


async def lock_session(tx: Tx, scope: Scope, session_id: str) -> tuple[Session, int, int] | None:
    """The session, its last turn's place and the place its summary reaches to; nobody changes it meanwhile."""
    row = await tx.fetch_one_or_none(SQL["lock_session"], org_id=scope.org_id, user_id=scope.user, id=session_id)
    return None if row is None else (session_from_row(row), int(row["seq"]), int(row["summarized_seq"]))


async def store_summary(
    tx: Tx,
    scope: Scope,
    session_id: str,
    summary: SessionSummary,
    *,
    seq: int,
    by: str,
    sources: list[str],
) -> bool:
    """Whether the summary was kept; one that reaches less far than the kept one is not."""
    return (
        await tx.execute(
            SQL["summarize_session"],
            org_id=scope.org_id,
            user_id=scope.user,
            id=session_id,
            summary=Jsonb(summary.model_dump(mode="json")),
            seq=seq,
            by=by,
            sources=sources,
        )
        > 0
    )


@dataclass(frozen=True, kw_only=True)
class ConversationSummary:
    """What is summarized of the conversation with one persona."""

    rolling: str
    latest: SessionSummary | None
    """Of the newest session that has one, apart from the running one."""
    latest_id: str | None


async def load_conversation_summary(tx: Tx, scope: Scope, apart_from: str | None) -> ConversationSummary:
    """The rolling summary and the newest session summary of this person and persona."""
    row = await tx.fetch_one(
        SQL["so_far"],
        org_id=scope.org_id,
        user_id=scope.user,
        persona_id=scope.persona_id,
        **{"except": apart_from or ""},
    )
    latest = SessionSummary.model_validate(row["summary"]) if row["summary"] else None
    return ConversationSummary(rolling=row["rolling"] or "", latest=latest, latest_id=row["id"])


def session_from_row(row: Row) -> Session:
    """The row as a session."""
    return Session(
        id=row["id"],
        persona_id=row["persona_id"],
        started_at=row["started_at"],
        last_activity_at=row["last_activity_at"],
        ended_at=row["ended_at"],
        ended_by=EndedBy(row["ended_by"]) if row["ended_by"] else None,
        turn_count=row["turn_count"],
        resumed_from=row["resumed_from"],
        summary=SessionSummary.model_validate(row["summary"]) if row["summary"] else None,
        user_name=row.get("user_name") or "",
    )
