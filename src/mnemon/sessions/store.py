"""The `sessions` table."""

from dataclasses import dataclass
from datetime import datetime

from psycopg.types.json import Jsonb

from mnemon.db.statements import statements
from mnemon.db.tx import Row, Tx
from mnemon.scope import Scope
from mnemon.sessions.boundary import Boundary
from mnemon.sessions.session import EndedBy, Session
from mnemon.sessions.summary import SessionSummary

SQL = statements("mnemon.sessions")
_LAST_MESSAGE = 200


async def around(tx: Tx, scope: Scope, at: datetime, boundary: Boundary) -> list[Session]:
    """The sessions of this person and persona that a message of this time may belong to or follow."""
    rows = await tx.all(
        SQL["sessions_around"],
        org_id=scope.org_id,
        user_id=scope.user,
        persona_id=scope.persona_id,
        before=at + boundary.idle,
    )
    return [session_of(row) for row in rows]


async def find(tx: Tx, scope: Scope, session_id: str) -> tuple[Session, Scope] | None:
    """The session and whose it is; looked for among the scope's person, where it names one."""
    row = await tx.maybe(SQL["session"], org_id=scope.org_id, user_id=scope.user_id, id=session_id)
    if row is None:
        return None
    owner = Scope(org_id=scope.org_id, user_id=row["user_id"], persona_id=row["persona_id"])
    return session_of(row), owner


async def listed(
    tx: Tx,
    scope: Scope,
    *,
    most: int,
    before: tuple[datetime, str] | None = None,
    any_persona: bool = False,
) -> list[Session]:
    """The person's sessions with the scope's persona, newest first."""
    rows = await tx.all(
        SQL["list_sessions"],
        org_id=scope.org_id,
        user_id=scope.user,
        persona_id=scope.persona_id,
        any_persona=any_persona,
        before=before[0] if before else None,
        before_id=before[1] if before else "",
        most=most,
    )
    return [session_of(row) for row in rows]


@dataclass(frozen=True, kw_only=True)
class Occasion:
    """What a new turn brings to its session."""

    at: datetime
    """When it happened."""
    until: datetime
    """When its last message came."""
    said: tuple[str, ...]
    """The person's messages."""


@dataclass(frozen=True, kw_only=True)
class Entered:
    """A session with one turn more."""

    session: Session
    seq: int
    """The turn's place in it."""
    message_count: int
    """The person's messages to this persona, ever."""


async def begin(tx: Tx, scope: Scope, occasion: Occasion, *, resumed_from: str | None) -> Entered:
    """A session has begun with its first turn."""
    row = await tx.one(
        SQL["begin_session"],
        **_entering(scope, occasion),
        id=tx.new_id("ses"),
        resumed_from=resumed_from,
    )
    return _entered(row)


async def proceed(tx: Tx, scope: Scope, session_id: str, occasion: Occasion) -> Entered:
    """The session has one turn more."""
    return _entered(await tx.one(SQL["continue_session"], **_entering(scope, occasion), id=session_id))


def _entering(scope: Scope, occasion: Occasion) -> dict[str, object]:
    return {
        "org_id": scope.org_id,
        "user_id": scope.user,
        "persona_id": scope.persona_id,
        "at": occasion.at,
        "until": occasion.until,
        "said": len(occasion.said),
        "last": occasion.said[-1][:_LAST_MESSAGE] if occasion.said else "",
    }


def _entered(row: Row) -> Entered:
    return Entered(session=session_of(row), seq=int(row["seq"]), message_count=int(row["message_count"]))


def touch(tx: Tx, scope: Scope, session_id: str, *, at: datetime, said: int = 0) -> None:
    """Something was said at this time in a turn that the session counts already; written with the next statement."""
    tx.later(SQL["touch_session"], org_id=scope.org_id, user_id=scope.user, id=session_id, at=at, said=said)


async def end(tx: Tx, scope: Scope, session_id: str, ended_at: datetime, by: EndedBy) -> bool:
    """Whether the session was running and has ended now."""
    return (
        await tx.run(
            SQL["end_session"],
            org_id=scope.org_id,
            user_id=scope.user,
            id=session_id,
            ended_at=ended_at,
            ended_by=by,
        )
        > 0
    )


async def lock(tx: Tx, scope: Scope, session_id: str) -> tuple[Session, int, int] | None:
    """The session, its last turn's place and the place its summary reaches to; nobody changes it meanwhile."""
    row = await tx.maybe(SQL["lock_session"], org_id=scope.org_id, user_id=scope.user, id=session_id)
    return None if row is None else (session_of(row), int(row["seq"]), int(row["summarized_seq"]))


async def summarize(
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
        await tx.run(
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
class SoFar:
    """What is summarized of the conversation with one persona."""

    rolling: str
    latest: SessionSummary | None
    """Of the newest session that has one, apart from the running one."""
    latest_id: str | None


async def so_far(tx: Tx, scope: Scope, apart_from: str | None) -> SoFar:
    """The rolling summary and the newest session summary of this person and persona."""
    row = await tx.one(
        SQL["so_far"],
        org_id=scope.org_id,
        user_id=scope.user,
        persona_id=scope.persona_id,
        **{"except": apart_from or ""},
    )
    latest = SessionSummary.model_validate(row["summary"]) if row["summary"] else None
    return SoFar(rolling=row["rolling"] or "", latest=latest, latest_id=row["id"])


def session_of(row: Row) -> Session:
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
