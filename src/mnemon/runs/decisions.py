"""An agent's own decisions, one line each: `2d ago · WAIT · range unresolved`.

The tool `get_my_decisions` and the API return them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mnemon.db.tx import Tx
from mnemon.runs import store
from mnemon.runs.card import HEADLINE_SEPARATOR
from mnemon.scope import Scope

REVIEWED_DECISIONS = 5
"""Number of decisions that the tool returns."""
REVIEW_TOOL = "get_my_decisions"
REVIEW_DESCRIPTION = "Your own last decisions, newest first, one line each. Nobody else's."


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A card that a run of the agent filled."""

    run_id: str
    at: datetime
    headline: str
    line: str


def decision_as_of(*, run_id: str, at: datetime, headline: str, now: datetime) -> Decision:
    """Return an agent's decision with its line, whose age is measured at `now`."""
    return Decision(
        run_id=run_id, at=at, headline=headline, line=f"{format_ago(now - at)}{HEADLINE_SEPARATOR}{headline}"
    )


def format_ago(age: timedelta) -> str:
    """Return an age in its largest unit: `2d ago`, `3h ago`, `15m ago`, `just now`."""
    minutes = int(age.total_seconds() // 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes}m ago"
    if minutes < 24 * 60:
        return f"{minutes // 60}h ago"
    return f"{minutes // (24 * 60)}d ago"


def format_review(decisions: tuple[Decision, ...]) -> str:
    """Return the output of the tool `get_my_decisions`: a line per decision."""
    return "\n".join(entry.line for entry in decisions) or "No decisions yet."


async def list_agent_decisions(
    tx: Tx, scope: Scope, agent_id: str, *, limit: int = REVIEWED_DECISIONS
) -> tuple[Decision, ...]:
    """Return the last decisions of this agent only, newest first, aged at the transaction's time."""
    found = await store.list_decisions(tx, scope, agent_id, most=limit)
    return tuple(decision_as_of(run_id=run_id, at=at, headline=text, now=tx.now) for run_id, at, text in found)


async def last_decision_by_agent(tx: Tx, scope: Scope, agent_ids: Sequence[str]) -> dict[str, Decision]:
    """Return each agent's last decision, aged at the transaction's time; agents without one are left out."""
    found = await store.list_last_decisions(tx, scope, agent_ids)
    return {
        agent_id: decision_as_of(run_id=run_id, at=at, headline=text, now=tx.now)
        for agent_id, (run_id, at, text) in found.items()
    }
