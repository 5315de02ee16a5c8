"""Where one session ends and the next begins: decided by the times of the messages alone.

A message belongs to the session whose span it falls into; the span ends a boundary after the last activity. So the
same messages make the same sessions whether they are said live, loaded later, or arrive out of order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mnemon.sessions.session import EndedBy, Session


@dataclass(frozen=True, kw_only=True)
class Boundary:
    """The two distances that matter."""

    idle: timedelta = timedelta(minutes=30)
    """Silence that ends a session."""
    resume: timedelta = timedelta(hours=6)
    """How soon after its end a session is taken up again."""


@dataclass(frozen=True, kw_only=True)
class Continue:
    """The message belongs to this session."""

    session: Session


@dataclass(frozen=True, kw_only=True)
class Begin:
    """The message begins a session."""

    resumed_from: str | None
    """The session it takes up."""


Placement = Continue | Begin


def end_of(session: Session, boundary: Boundary) -> datetime:
    """The moment from which a message no longer belongs to the session."""
    return session.ended_at or session.last_activity_at + boundary.idle


def has_ended(session: Session, at: datetime, boundary: Boundary) -> bool:
    """Whether the session is over at this time, marked or not."""
    return at >= end_of(session, boundary)


def ending_by_request(session: Session, now: datetime, boundary: Boundary) -> tuple[datetime, EndedBy]:
    """When and why a session that is being closed ended: it may have gone stale before."""
    stale_from = session.last_activity_at + boundary.idle
    return (stale_from, EndedBy.IDLE) if now >= stale_from else (now, EndedBy.REQUEST)


def takes(session: Session, at: datetime, boundary: Boundary) -> bool:
    """Whether a message of this time falls into the session's span."""
    return session.started_at - boundary.idle < at < end_of(session, boundary)


def place(at: datetime, known: Sequence[Session], boundary: Boundary, named: Session | None = None) -> Placement:
    """Where a message of this time belongs, given the sessions of its person and persona around it.

    A named session that has ended continues as a new one, however long ago that was.
    """
    if named is not None:
        return Begin(resumed_from=named.id) if has_ended(named, at, boundary) else Continue(session=named)
    newest_first = sorted(known, key=lambda session: (session.started_at, session.id), reverse=True)
    for session in newest_first:
        if takes(session, at, boundary):
            return Continue(session=session)
    return Begin(resumed_from=_taken_up(at, newest_first, boundary))


def _taken_up(at: datetime, newest_first: Sequence[Session], boundary: Boundary) -> str | None:
    """The last session that had ended before, if it ended shortly before."""
    for session in newest_first:
        gap = at - end_of(session, boundary)
        if timedelta(0) <= gap <= boundary.resume:
            return session.id
        if gap > boundary.resume:
            return None
    return None
