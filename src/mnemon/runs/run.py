"""A run: one execution of an agent, from the request to the filled card.

    queued ──► running ──► succeeded
      │  ▲        ├──────► failed
      │  └────────┤        (its worker died: queued again, or failed after too many attempts)
      └───────────┴──────► cancelled

The decision of a succeeded run has a status of its own:

    open ──► resolved | expired        none: the card has nothing that could come true
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from mnemon.errors import Conflict
from mnemon.llm.protocol import Usage
from mnemon.runs.card import SlotValue


class RunKind(StrEnum):
    """What started the run."""

    HEARTBEAT = "heartbeat"
    MANUAL = "manual"
    RE_EXAMINATION = "re-examination"


class RunStatus(StrEnum):
    """Where a run is in its life."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ResolutionStatus(StrEnum):
    """Whether a decision still waits for its outcome."""

    OPEN = "open"
    RESOLVED = "resolved"
    EXPIRED = "expired"


_NEXT_STATUSES: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.QUEUED: frozenset({RunStatus.RUNNING, RunStatus.CANCELLED, RunStatus.FAILED}),
    # Back to queued when its worker stops: another one starts the run again.
    RunStatus.RUNNING: frozenset({RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.QUEUED}),
    RunStatus.SUCCEEDED: frozenset(),
    RunStatus.FAILED: frozenset(),
    RunStatus.CANCELLED: frozenset(),
}
"""The statuses that may follow each status."""

FINAL_STATUSES = frozenset(status for status, following in _NEXT_STATUSES.items() if not following)


@dataclass(frozen=True, kw_only=True)
class RunUsage:
    """What a run cost, its council included."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    latency_ms: float = 0.0
    cost_usd: float | None = None
    """None when no price is known for any of its models."""
    model: str = ""

    def plus(self, other: "RunUsage") -> "RunUsage":
        """Return the sum of both usages; an unknown cost counts as nothing unless both are unknown."""
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return RunUsage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            latency_ms=self.latency_ms + other.latency_ms,
            cost_usd=sum(costs) if costs else None,
            model=self.model or other.model,
        )

    def plus_call(self, usage: Usage, cost_usd: float | None = None) -> "RunUsage":
        """Return the run's usage with the tokens, time and cost of one more model call added."""
        return self.plus(
            RunUsage(
                calls=usage.calls,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cached_tokens=usage.cached_tokens,
                latency_ms=usage.latency_ms,
                cost_usd=cost_usd,
                model=usage.model,
            )
        )


@dataclass(frozen=True, kw_only=True)
class TaskRecord:
    """What is stored of every task that an agent performs, a run or a chat turn."""

    id: str
    agent_id: str
    status: RunStatus
    session_id_before: str | None = None
    session_id_after: str | None = None
    memory_generation: int | None = None
    """The generation of Active Memory it started in; None when memory was off."""
    usage: RunUsage = field(default_factory=RunUsage)
    finished_at: datetime | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Run(TaskRecord):
    """A run as stored."""

    kind: RunKind
    prompt: str
    slot: datetime | None = None
    """The scheduled time that a heartbeat's run belongs to."""
    parent_run_id: str | None = None
    """The run whose decision this one re-examines."""
    card_type: str
    result: dict[str, SlotValue] | None = None
    headline: str | None = None
    resolution_status: ResolutionStatus | None = None
    outcome: str | None = None
    resolved_at: datetime | None = None
    resolution_note: str | None = None
    created_at: datetime
    started_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ChatExchange(TaskRecord):
    """One message to an agent and the state of its reply, as stored; its id is the turn's."""


def require_transition(run_id: str, current: RunStatus, to: RunStatus) -> RunStatus:
    """Return a run's new status; raise Conflict when it cannot follow the current one."""
    if to not in _NEXT_STATUSES[current]:
        raise Conflict(f"Run {run_id} is {current} and cannot become {to}.", code="run_over")
    return to
