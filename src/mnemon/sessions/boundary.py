"""Where one session ends and the next begins: decided by the times of the messages alone.

A message belongs to the session whose span it falls into; the span ends a boundary after the last activity. So the
same messages make the same sessions whether they are said live, loaded later, or arrive out of order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mnemon.sessions.session import EndedBy, Session


@dataclass(frozen=True, kw_only=True)
class SessionBoundary:
    """The two distances that matter."""

    idle: timedelta = timedelta(minutes=30)
    """Silence that ends a session."""
    resume: timedelta = timedelta(hours=6)
    """How soon after its end a session is taken up again."""


@dataclass(frozen=True, kw_only=True)
class ContinueSession:
    """The message belongs to this session."""

    session: Session


@dataclass(frozen=True, kw_only=True)
class BeginSession:
    """The message begins a session."""

    resumed_from: str | None
    """The session it takes up."""


Placement = ContinueSession | BeginSession


def session_end(session: Session, boundary: SessionBoundary) -> datetime:
    """The moment from which a message no longer belongs to the session."""
    return session.ended_at or session.last_activity_at + boundary.idle


def has_ended(session: Session, at: datetime, boundary: SessionBoundary) -> bool:
    """Whether the session is over at this time, marked or not."""
    return at >= session_end(session, boundary)


def ending_by_request(session: Session, now: datetime, boundary: SessionBoundary) -> tuple[datetime, EndedBy]:
    """When and why a session that is being closed ended: it may have gone stale before."""
    stale_from = session.last_activity_at + boundary.idle
    return (stale_from, EndedBy.IDLE) if now >= stale_from else (now, EndedBy.REQUEST)


def is_in_span(session: Session, at: datetime, boundary: SessionBoundary) -> bool:
    """Whether a message of this time falls into the session's span."""
    return session.started_at - boundary.idle < at < session_end(session, boundary)


def place_message(
    at: datetime, known: Sequence[Session], boundary: SessionBoundary, named: Session | None = None
) -> Placement:
    """Where a message of this time belongs, given the sessions of its person and persona around it.

    A named session that has ended continues as a new one, however long ago that was.
    """
    if named is not None:
        return BeginSession(resumed_from=named.id) if has_ended(named, at, boundary) else ContinueSession(session=named)
    newest_first = sorted(known, key=lambda session: (session.started_at, session.id), reverse=True)
    for session in newest_first:
        if is_in_span(session, at, boundary):
            return ContinueSession(session=session)
    return BeginSession(resumed_from=_session_to_resume(at, newest_first, boundary))


def _session_to_resume(at: datetime, newest_first: Sequence[Session], boundary: SessionBoundary) -> str | None:
    """The last session that had ended before, if it ended shortly before."""
    for session in newest_first:
        gap = at - session_end(session, boundary)
        if timedelta(0) <= gap <= boundary.resume:
            return session.id
        if gap > boundary.resume:
            return None
    return None
