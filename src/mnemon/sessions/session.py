"""A session and the state that outlives it, as the seed names their fields."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from mnemon.sessions.summary import SessionSummary


class EndedBy(StrEnum):
    """Why a session is over."""

    IDLE = "idle"
    """Nothing was said for as long as the boundary."""
    REQUEST = "request"
    """Somebody closed it."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """One stretch of conversation between a person and a persona."""

    id: str
    persona_id: str | None
    started_at: datetime
    last_activity_at: datetime
    ended_at: datetime | None
    """Last activity plus the boundary, or when it was closed; None while it runs."""
    ended_by: EndedBy | None
    turn_count: int
    """Messages of the person in it."""
    resumed_from: str | None
    """The session it takes up, when that one had ended shortly before or was named."""
    summary: SessionSummary | None = None
    """Made after it ended."""
    user_name: str = ""
    """The name the application calls the person by."""


@dataclass(frozen=True, kw_only=True)
class CuratorState:
    """When the curator last went over the person's memories."""

    last_run_at: datetime | None = None
    last_memory_count_at_run: int | None = None


@dataclass(frozen=True, kw_only=True)
class RollingError:
    """Why the last rolling summary could not be made."""

    reason: str
    detail: str | None = None


@dataclass(frozen=True, kw_only=True)
class SessionState:
    """What is kept per person and persona across sessions."""

    message_count: int = 0
    """Messages of the person to this persona, ever."""
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
    """One version of the rolling summary; none is overwritten."""

    message_count: int
    """The person's messages up to which it tells."""
    text: str
    carried: tuple[str, ...]
    """Of the text, what an earlier version said, the model's new one dropped, and is still open."""
    turn_id: str
    at: datetime
    sources: tuple[str, ...] = ()
    """The messages it was made from."""
