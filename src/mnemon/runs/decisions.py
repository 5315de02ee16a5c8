"""An agent's own decisions, one line each: `2d ago · LONG BTC-USD · breakout → stop_loss · conviction 40`.

The tool `get_my_decisions` and the API return them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mnemon.db.rows import from_row
from mnemon.db.tx import Row, Tx
from mnemon.runs.card import HEADLINE_SEPARATOR, CardDefinition, CardTypes, SlotValue, SlotValues
from mnemon.runs.store import SQL
from mnemon.scope import Scope

REVIEWED_DECISIONS = 5
"""Number of decisions that the tool returns."""
REVIEW_TOOL = "get_my_decisions"
REVIEW_DESCRIPTION = "Your own last decisions, newest first, one line each. Nobody else's."


_MAX_SUBJECT_CHARS = 60


@dataclass(frozen=True, kw_only=True)
class MadeDecision:
    """What is stored of a decision: a card that a run of the agent filled, and what came of it."""

    run_id: str
    finished_at: datetime
    headline: str | None
    card_type: str
    result: dict[str, SlotValue] | None
    outcome: str | None
    conviction: int | None
    """The score of its last re-examination; None without one."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """An agent's decision as it is shown."""

    run_id: str
    at: datetime
    headline: str
    subject: str | None
    """What it is about: `BTC-USD`."""
    outcome: str | None
    conviction: int | None
    text: str
    """`LONG BTC-USD · breakout → stop_loss · conviction 40`."""
    line: str
    """The same with the decision's age before it."""


def decision_as_of(made: MadeDecision, card: CardDefinition | None, now: datetime) -> Decision:
    """Return an agent's decision with its line as of `now`; without its card type, nothing says what it is about."""
    subject = card_subject(card, made.result or {})
    text = format_decision(made.headline or "", subject, made.outcome, made.conviction)
    return Decision(
        run_id=made.run_id,
        at=made.finished_at,
        headline=made.headline or "",
        subject=subject,
        outcome=made.outcome,
        conviction=made.conviction,
        text=text,
        line=f"{format_ago(now - made.finished_at)}{HEADLINE_SEPARATOR}{text}",
    )


def card_subject(card: CardDefinition | None, values: SlotValues) -> str | None:
    """Return what a card's decision is about; None where it says nothing."""
    given = values.get(card.subject) if card and card.subject else None
    return given.strip() if isinstance(given, str) and given.strip() else None


def format_decision(headline: str, subject: str | None, outcome: str | None, conviction: int | None) -> str:
    """Return a decision in one line: verdict and subject, why, what came of it, how it stood when looked at again."""
    verdict, *why = headline.split(HEADLINE_SEPARATOR)
    if subject and subject.casefold() not in headline.casefold():
        short = subject if len(subject) <= _MAX_SUBJECT_CHARS else f"{subject[: _MAX_SUBJECT_CHARS - 1]}…"
        verdict = f"{verdict} {short}".strip()
    line = HEADLINE_SEPARATOR.join([verdict, *why])
    if outcome:
        line = f"{line} → {outcome}"
    return line if conviction is None else f"{line}{HEADLINE_SEPARATOR}conviction {conviction}"


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
    """Return an agent's decisions as the output of its tool `get_my_decisions`: one line each."""
    return "\n".join(entry.line for entry in decisions) or "No decisions yet."


async def list_agent_decisions(
    tx: Tx, scope: Scope, agent_id: str, cards: CardTypes, *, limit: int = REVIEWED_DECISIONS
) -> tuple[Decision, ...]:
    """Return the last decisions of this agent only, newest first, aged at the transaction's time."""
    rows = await tx.fetch_all(SQL["decisions"], org_id=scope.org_id, agent_id=agent_id, most=limit)
    made = (_made_from_row(row) for row in rows)
    return tuple(decision_as_of(one, cards.get(one.card_type), tx.now) for one in made)


async def last_decision_by_agent(
    tx: Tx, scope: Scope, agent_ids: Sequence[str], cards: CardTypes
) -> dict[str, Decision]:
    """Return each agent's last decision, aged at the transaction's time; agents without one are left out."""
    rows = await tx.fetch_all(SQL["last_decisions"], org_id=scope.org_id, agent_ids=list(agent_ids))
    made = {row["agent_id"]: _made_from_row(row) for row in rows}
    return {key: decision_as_of(one, cards.get(one.card_type), tx.now) for key, one in made.items()}


def _made_from_row(row: Row) -> MadeDecision:
    """Return the decision of a row; a conviction that is no whole number is left out."""
    score = row["conviction"]
    return from_row(MadeDecision, row, conviction=score if isinstance(score, int) else None)
