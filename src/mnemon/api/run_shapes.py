"""The JSON shapes of runs, decisions and re-examinations."""

from collections.abc import Sequence
from typing import Any, Self

from pydantic import Field

from mnemon.api.models import ApiModel, Instant
from mnemon.runs import re_examination
from mnemon.runs.card import CardTypes
from mnemon.runs.decisions import Decision
from mnemon.runs.run import ResolutionStatus, Run, RunKind, RunStatus, RunUsage


class RunUsageOut(ApiModel):
    """Tokens, time and cost of a run, its council included."""

    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    latency_ms: float
    cost_usd: float | None
    model: str

    @classmethod
    def from_usage(cls, usage: RunUsage) -> Self:
        """Return the response for a run's tokens, time and cost."""
        return cls(
            calls=usage.calls,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            latency_ms=round(usage.latency_ms, 1),
            cost_usd=usage.cost_usd,
            model=usage.model,
        )


class RunOut(ApiModel):
    """A run of an agent."""

    id: str
    agent_id: str
    kind: RunKind
    status: RunStatus
    prompt: str
    slot: Instant | None
    session_id_before: str | None
    session_id_after: str | None
    parent_run_id: str | None
    card_type: str
    result_json: dict[str, Any] | None
    headline: str | None
    tone: str | None
    resolution_status: ResolutionStatus | None
    outcome: str | None
    resolved_at: Instant | None
    resolution_note: str | None
    re_examinable: bool
    conviction: int | None
    """The score of the latest re-examination; null without one."""
    usage: RunUsageOut
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    error: str | None

    @classmethod
    def from_run(cls, run: Run, cards: CardTypes, again: Sequence[Run] = ()) -> Self:
        """Return the response for a run; its conviction is taken from its re-examinations among `again`."""
        return cls(**run_fields(run, cards, again))


class ReExaminationOut(RunOut):
    """A re-examination with the fields of its card, in the card's spelling."""

    conviction_score: int | None = Field(alias="conviction_score")
    notes: str | None
    suggested_action: str | None = Field(alias="suggested_action")

    @classmethod
    def from_run(cls, run: Run, cards: CardTypes, again: Sequence[Run] = ()) -> Self:
        """Return the response for the run of a re-examination, with its card's fields."""
        values = run.result or {}
        named = {name: values.get(name) for name in ("conviction_score", "notes", "suggested_action")}
        return cls(**run_fields(run, cards, again), **named)


class DecisionOut(ApiModel):
    """A decision in one line."""

    run_id: str
    at: Instant
    headline: str
    subject: str | None
    """What it is about."""
    outcome: str | None
    """How it came out; null while it is open."""
    conviction: int | None
    """The score of its last re-examination."""
    line: str
    """`2d ago · LONG BTC-USD · breakout → stop_loss · conviction 40`."""

    @classmethod
    def from_decision(cls, decision: Decision) -> Self:
        """Return the response for a decision, in one line."""
        return cls(
            run_id=decision.run_id,
            at=decision.at,
            headline=decision.headline,
            subject=decision.subject,
            outcome=decision.outcome,
            conviction=decision.conviction,
            line=decision.line,
        )


def run_fields(run: Run, cards: CardTypes, again: Sequence[Run]) -> dict[str, Any]:
    """Return the fields of RunOut for a run; its conviction comes from its re-examinations in `again`."""
    card = cards.get(run.card_type)
    scores = [(r.result or {}).get("conviction_score") for r in again if r.parent_run_id == run.id]
    known = [score for score in scores if isinstance(score, int)]
    return {
        "id": run.id,
        "agent_id": run.agent_id,
        "kind": run.kind,
        "status": run.status,
        "prompt": run.prompt,
        "slot": run.slot,
        "session_id_before": run.session_id_before,
        "session_id_after": run.session_id_after,
        "parent_run_id": run.parent_run_id,
        "card_type": run.card_type,
        "result_json": card.order_values(run.result) if card and run.result is not None else run.result,
        "headline": run.headline,
        "tone": card.tone_of(run.result) if card and run.result is not None else None,
        "resolution_status": run.resolution_status,
        "outcome": run.outcome,
        "resolved_at": run.resolved_at,
        "resolution_note": run.resolution_note,
        "re_examinable": re_examination.not_re_examinable_reason(run, card) is None,
        "conviction": known[-1] if known else None,
        "usage": RunUsageOut.from_usage(run.usage),
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "error": run.error,
    }
