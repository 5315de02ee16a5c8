"""The `sessions` table."""

from dataclasses import dataclass
from datetime import datetime

from psycopg.types.json import Jsonb

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.scope import Scope
from mnemon.sessions.boundary import BeginSession, SessionBoundary, hands_on_state, has_ended
from mnemon.sessions.session import EndedBy, Session
from mnemon.sessions.summary import SessionSummary

SQL = load_statements("mnemon.sessions")
_LAST_MESSAGE_CHARS = 200


async def list_sessions_around(tx: Tx, scope: Scope, at: datetime, boundary: SessionBoundary) -> list[Session]:
    """Return the sessions of this person and persona that a message of this time may belong to or follow."""
    rows = await tx.fetch_all(
        SQL["sessions_around"],
        org_id=scope.org_id,
        user_id=scope.user,
        persona_id=scope.persona_id,
        before=at + boundary.idle,
    )
    return [session_from_row(row) for row in rows]


async def find_session(tx: Tx, scope: Scope, session_id: str) -> tuple[Session, Scope] | None:
    """Return the session and its owner's scope, or None; searched among the scope's person where it names one."""
    # `user_id` may be None, for a caller that knows only the session; `scope.user` would raise.
    row = await tx.fetch_one_or_none(SQL["session"], org_id=scope.org_id, user_id=scope.user_id, id=session_id)
    if row is None:
        return None
    owner = Scope(org_id=scope.org_id, user_id=row["user_id"], persona_id=row["persona_id"])
    return session_from_row(row), owner


async def follow_conversation(tx: Tx, scope: Scope, named: Session, at: datetime, boundary: SessionBoundary) -> Session:
    """Return the session in which the named one's conversation is at this time: itself until it ends, then its heir."""
    if not has_ended(named, at, boundary):
        return named
    row = await _heir_row(tx, scope, named.id, before=at + boundary.idle)
    return named if row is None else session_from_row(row)


async def find_state_source(
    tx: Tx, scope: Scope, placed: BeginSession, named: Session | None, at: datetime, boundary: SessionBoundary
) -> str | None:
    """Return the session whose agent state a new session takes over; None for none.

    That is the one it resumes. A caller may go on naming an ended session, though, and begin a new one with each
    message: then it is the latest of those.
    """
    if named is None:
        return placed.carries_from
    latest = await follow_conversation(tx, scope, named, at, boundary)
    return latest.id if hands_on_state(latest, at, boundary) else None


async def find_heir(tx: Tx, scope: Scope, session_id: str) -> str | None:
    """Return the id of the latest session that resumed this one, directly or by others; None where none did."""
    row = await _heir_row(tx, scope, session_id, before=None)
    return None if row is None else str(row["id"])


async def _heir_row(tx: Tx, scope: Scope, session_id: str, *, before: datetime | None) -> Row | None:
    """Return the row of the latest session that resumed this one and began before a time; None where none did."""
    return await tx.fetch_one_or_none(
        SQL["heir"], org_id=scope.org_id, user_id=scope.user, id=session_id, before=before
    )


async def list_sessions(
    tx: Tx,
    scope: Scope,
    *,
    most: int,
    before: tuple[datetime, str] | None = None,
    any_persona: bool = False,
) -> list[Session]:
    """Return the person's sessions with the scope's persona, or with any, newest first.

    `before` is the `(started_at, id)` of the last session of the previous page.
    """
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
    """What a new turn contributes to its session's row."""

    at: datetime
    """When the turn happened."""
    until: datetime
    """When its last message came."""
    said: tuple[str, ...]
    """The person's messages."""


@dataclass(frozen=True, kw_only=True)
class EnteredSession:
    """A session after a turn was added to it."""

    session: Session
    seq: int
    """The turn's position in it."""
    message_count: int
    """The number of messages the person has ever sent to this persona."""
    carries_from: str | None = None
    """The ended session whose agent state goes on in this one, which the turn began; None otherwise."""


async def begin_session(tx: Tx, scope: Scope, arrival: TurnArrival, *, resumed_from: str | None) -> EnteredSession:
    """Insert a session with its first turn's counts; return it."""
    row = await tx.fetch_one(
        SQL["begin_session"],
        **_arrival_params(scope, arrival),
        id=tx.new_id("ses"),
        resumed_from=resumed_from,
    )
    return _entered_from_row(row)


async def continue_session(tx: Tx, scope: Scope, session_id: str, arrival: TurnArrival) -> EnteredSession:
    """Count one more turn in the session's row; return the session and the turn's position."""
    return _entered_from_row(
        await tx.fetch_one(SQL["continue_session"], **_arrival_params(scope, arrival), id=session_id)
    )


def _arrival_params(scope: Scope, arrival: TurnArrival) -> dict[str, object]:
    """Return the parameters that both statements which add a turn to a session take."""
    return {
        "org_id": scope.org_id,
        "user_id": scope.user,
        "persona_id": scope.persona_id,
        "at": arrival.at,
        "until": arrival.until,
        "said": len(arrival.said),
        "last": arrival.said[-1][:_LAST_MESSAGE_CHARS] if arrival.said else "",
    }


def _entered_from_row(row: Row) -> EnteredSession:
    """Return the row of a session that a turn was added to as an EnteredSession."""
    return EnteredSession(session=session_from_row(row), seq=int(row["seq"]), message_count=int(row["message_count"]))


def touch_session(tx: Tx, scope: Scope, session_id: str, *, at: datetime, said: int = 0) -> None:
    """Record activity in a turn that is already counted, with `said` more messages of the person.

    Written with the next statement.
    """
    # The caller holds the lock on the person, which guards the session: deferring changes no lock order.
    tx.defer(SQL["touch_session"], org_id=scope.org_id, user_id=scope.user, id=session_id, at=at, said=said)


async def end_session(tx: Tx, scope: Scope, session_id: str, ended_at: datetime, by: EndedBy) -> bool:
    """Mark the session as ended at this time; return False when it had ended before."""
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
    """Lock the session's row; return the session, its last turn's `seq` and the `seq` its summary covers, or None."""
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
    """Store a session's summary; return False, storing nothing, when the stored one covers more turns."""
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
    """The summaries of the conversation with one persona."""

    rolling: str
    latest: SessionSummary | None
    """The summary of the newest session that has one, not counting the running session."""
    latest_id: str | None


async def load_conversation_summary(tx: Tx, scope: Scope, apart_from: str | None) -> ConversationSummary:
    """Return the rolling summary of this person and persona, and their newest session summary but `apart_from`'s."""
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
    """Return a row of `sessions` as a Session."""
    summary = SessionSummary.model_validate(row["summary"]) if row["summary"] else None
    # Only statements that join `users` select the name.
    return from_row(Session, row, summary=summary, user_name=row.get("user_name") or "")
