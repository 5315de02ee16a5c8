"""Decide where one session ends and the next begins, from the times of the messages alone.

A message belongs to the session whose span it falls into; the span ends one boundary after the last activity. So the
same messages make the same sessions whether they are sent live, imported later, or arrive out of order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mnemon.sessions.session import EndedBy, Session
from mnemon.settings import Settings


@dataclass(frozen=True, kw_only=True)
class SessionBoundary:
    """The two time limits that separate sessions."""

    idle: timedelta = timedelta(minutes=30)
    """How long a session may be idle before it ends."""
    resume: timedelta = timedelta(hours=6)
    """How soon after its end a session may be resumed."""
    carry: timedelta = timedelta(days=7)
    """How soon after its end a session must be resumed to hand on its agent state."""


def boundary_from_settings(settings: Settings) -> SessionBoundary:
    """Return the session boundary that the settings configure."""
    return SessionBoundary(
        idle=settings.session_boundary, resume=settings.resume_window, carry=settings.agent_state_window
    )


@dataclass(frozen=True, kw_only=True)
class ContinueSession:
    """A placement: the message belongs to an existing session."""

    session: Session


@dataclass(frozen=True, kw_only=True)
class BeginSession:
    """A placement: the message begins a new session."""

    resumed_from: str | None
    """The id of the session it resumes; None when it resumes none."""
    carries_from: str | None = None
    """That id again where the session's agent state goes on in the new one; None where it ended too long ago."""


Placement = ContinueSession | BeginSession


def session_end(session: Session, boundary: SessionBoundary) -> datetime:
    """Return the time from which a message no longer belongs to the session, whether or not it has ended."""
    return session.ended_at or session.last_activity_at + boundary.idle


def has_ended(session: Session, at: datetime, boundary: SessionBoundary) -> bool:
    """Say whether the session is over at this time, whether or not its row says so yet."""
    return at >= session_end(session, boundary)


def ending_by_request(session: Session, now: datetime, boundary: SessionBoundary) -> tuple[datetime, EndedBy]:
    """Return when and by whom a session that a caller closes ended; idle time may have ended it earlier."""
    # Closing late must not lengthen a session: one that had gone idle before ended then, as the job would have marked
    # it.
    stale_from = session.last_activity_at + boundary.idle
    return (stale_from, EndedBy.IDLE) if now >= stale_from else (now, EndedBy.REQUEST)


def is_in_span(session: Session, at: datetime, boundary: SessionBoundary) -> bool:
    """Say whether a message of this time belongs to the session, which reaches one idle period before its start."""
    # The span also reaches back one idle period, so that history imported out of order joins the session it precedes.
    return session.started_at - boundary.idle < at < session_end(session, boundary)


def place_message(
    at: datetime, known: Sequence[Session], boundary: SessionBoundary, named: Session | None = None
) -> Placement:
    """Return the session to which a message of this time belongs, or that it begins a new one.

    A message to a named session that has ended begins a new session that resumes it, however long ago it ended.
    """
    if named is not None:
        return (
            _resume_session(named, at, boundary) if has_ended(named, at, boundary) else ContinueSession(session=named)
        )
    # Spans may overlap, since they reach back; the later session then gets the message.
    newest_first = sorted(known, key=lambda session: (session.started_at, session.id), reverse=True)
    for session in newest_first:
        if is_in_span(session, at, boundary):
            return ContinueSession(session=session)
    ended = _session_to_resume(at, newest_first, boundary)
    return _resume_session(ended, at, boundary) if ended else BeginSession(resumed_from=None)


def _resume_session(ended: Session, at: datetime, boundary: SessionBoundary) -> BeginSession:
    """Return the placement in a new session that resumes this one, with its agent state if it ended lately."""
    return BeginSession(resumed_from=ended.id, carries_from=ended.id if hands_on_state(ended, at, boundary) else None)


def hands_on_state(earlier: Session, at: datetime, boundary: SessionBoundary) -> bool:
    """Say whether a session that begins at this time takes over the agent state of the earlier one."""
    return at - session_end(earlier, boundary) < boundary.carry


def _session_to_resume(at: datetime, newest_first: Sequence[Session], boundary: SessionBoundary) -> Session | None:
    """Return the last session that ended before this time, within the resume window; else None."""
    for session in newest_first:
        gap = at - session_end(session, boundary)
        # A negative gap belongs to a session that began after this time: history is being imported.
        if timedelta(0) <= gap <= boundary.resume:
            return session
        if gap > boundary.resume:
            return None
    return None
