"""An agent's own decisions, one line each: `2d ago · WAIT · range unresolved`."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from mnemon.runs.card import SEPARATOR

REVIEWED = 5
REVIEW_TOOL = "get_my_decisions"
REVIEW_DESCRIPTION = "Your own last decisions, newest first, one line each. Nobody else's."


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A card that a run of the agent filled."""

    run_id: str
    at: datetime
    headline: str
    line: str


def decision(*, run_id: str, at: datetime, headline: str, now: datetime) -> Decision:
    """The decision with its line as of now."""
    return Decision(run_id=run_id, at=at, headline=headline, line=f"{ago(now - at)}{SEPARATOR}{headline}")


def ago(age: timedelta) -> str:
    """An age in its largest unit: `2d ago`, `3h ago`, `15m ago`, `just now`."""
    minutes = int(age.total_seconds() // 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes}m ago"
    if minutes < 24 * 60:
        return f"{minutes // 60}h ago"
    return f"{minutes // (24 * 60)}d ago"


def review_text(decisions: tuple[Decision, ...]) -> str:
    """What the tool answers."""
    return "\n".join(entry.line for entry in decisions) or "No decisions yet."
