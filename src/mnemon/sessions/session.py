"""A session and the state that outlives it, with the field names of the seed."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from mnemon.sessions.summary import SessionSummary


class EndedBy(StrEnum):
    """Why a session ended."""

    IDLE = "idle"
    """Nothing was said for as long as the boundary."""
    REQUEST = "request"
    """A caller closed it."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """A continuous conversation between a person and a persona."""

    id: str
    persona_id: str | None
    started_at: datetime
    last_activity_at: datetime
    ended_at: datetime | None
    """Last activity plus the boundary, or when it was closed; None while it is not marked as ended."""
    ended_by: EndedBy | None
    turn_count: int
    """The number of the person's messages in it."""
    resumed_from: str | None
    """The session it resumes: one that had ended shortly before, or that was named."""
    summary: SessionSummary | None = None
    """Made after it ended."""
    user_name: str = ""
    """The name the application uses for the person."""


@dataclass(frozen=True, kw_only=True)
class CuratorState:
    """When the curator last processed the person's memories."""

    last_run_at: datetime | None = None
    last_memory_count_at_run: int | None = None


@dataclass(frozen=True, kw_only=True)
class RollingError:
    """Why the last rolling summary could not be made."""

    reason: str
    detail: str | None = None


@dataclass(frozen=True, kw_only=True)
class SessionState:
    """The state kept per person and persona across sessions."""

    message_count: int = 0
    """The number of messages the person has ever sent to this persona."""
    last_interaction: datetime | None = None
    last_user_message: str = ""
    """Truncated."""
    curator: CuratorState = field(default_factory=CuratorState)
    last_rolling_attempt_at: datetime | None = None
    last_rolling_success_at: datetime | None = None
    last_rolling_error: RollingError | None = None
    rolling_summary: str = ""


@dataclass(frozen=True, kw_only=True)
class RollingSummary:
    """One version of the rolling summary; versions are never overwritten."""

    message_count: int
    """The number of the person's messages that it covers."""
    text: str
    carried: tuple[str, ...]
    """The lines of the text that an earlier version had, the model's new one dropped, and that are still open."""
    turn_id: str
    at: datetime
    sources: tuple[str, ...] = ()
    """Ids of the messages it was made from."""
