"""The interface between a run and what performs it: a task in, events meanwhile, an outcome or RunFailed at the end."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from mnemon.errors import Conflict, MnemonError
from mnemon.llm.protocol import Llm, LlmMessage
from mnemon.runs.active_memory import MemoryAccess
from mnemon.runs.agent import Adapter, Agent
from mnemon.runs.card import CardDefinition
from mnemon.runs.run import RunUsage


class RunEventType(StrEnum):
    """The kinds of events that a run or chat turn emits."""

    STATUS = "status"
    SESSION = "session"
    """A session was lost and a fresh one begun, or the run's session was not kept."""
    CONSULTATION = "consultation"
    """A specialist was asked, reported or failed."""
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    DELTA = "delta"
    """A piece of the reply."""
    MESSAGE = "message"
    """A complete message of the model."""
    REVIEW = "review"
    """Emitted when an agent that should begin by reading its decisions did not."""
    CARD = "card"
    SKIPPED = "skipped"
    """Missed slots of the schedule that get no run of their own."""


@dataclass(frozen=True, kw_only=True)
class RunEvent:
    """One event of a run or chat turn."""

    type: RunEventType
    data: dict[str, Any]


EmitEvent = Callable[[RunEvent], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class DecisionReview:
    """Access to the agent's own decisions during one task."""

    read: Callable[[], Awaitable[str]]
    """Returns the decisions as the tool's output."""
    token: str
    """The run's own credential, for an adapter that reads over MCP; it ends with the run."""


@dataclass(frozen=True, kw_only=True)
class AgentTask:
    """Everything an adapter is told of a task."""

    org_id: str
    agent: Agent
    system: str
    prompt: str
    card: CardDefinition | None
    """The card to fill; None for a plain reply."""
    access: MemoryAccess = MemoryAccess.NONE
    session_id: str | None = None
    """The session to resume; None starts one."""
    fresh_session_id: str = ""
    """The id of a new session, for an adapter that does not choose its own."""
    history: tuple[LlmMessage, ...] = ()
    """The session's messages, where its transcript is stored by Mnemon."""
    review: DecisionReview | None = None
    """Access to the agent's decisions; None when the task must not offer it."""
    convene: Callable[[], Awaitable[str]] | None = None
    """For a lead: consults the council and returns the prompt with its reports. Called once, after the review."""
    blind: bool = False
    """Whether this is a consultation during a re-examination: no session, decision or file may be accessible."""


@dataclass(frozen=True, kw_only=True)
class TaskOutcome:
    """The result of a task that succeeded."""

    reply: str
    answer: dict[str, Any] | None
    """The card as the model filled it, not yet checked; None when no card was asked for."""
    session_id: str | None
    """The session that now contains this task; None when it was not kept."""
    transcript: tuple[LlmMessage, ...]
    """Messages to append to the stored transcript; empty where the adapter stores its sessions itself."""
    usage: RunUsage


class RunFailed(MnemonError):
    """The task failed; the detail says why, and `usage` what it cost until then."""

    code = "run_failed"

    def __init__(self, detail: str, *, usage: RunUsage | None = None) -> None:
        """Keep why an agent's task failed and what it cost until then."""
        super().__init__(detail)
        self.usage = usage or RunUsage()


class ModelRequired(Conflict):
    """The agent's decision needs a language model, and none is set."""

    code = "model_required"

    def __init__(self, name: str) -> None:
        """Name the agent and the setting that gives it a model."""
        super().__init__(
            f"{name} cannot decide anything: no language model is set. Name one in MNEMON_MODEL, as docs/models.md "
            "says, and start the server again."
        )


def has_model(agent: Agent, llm: Llm) -> bool:
    """Say whether a model can decide for the agent: its adapter's own, or the server's unless that is `offline`."""
    return agent.adapter is not Adapter.MODEL or not llm.offline


def require_model(agent: Agent, llm: Llm) -> None:
    """Raise ModelRequired when no model can decide for the agent."""
    # Rules may extract and summarize, but a decision that no model made would count in calibration as one.
    if not has_model(agent, llm):
        raise ModelRequired(agent.name)


class AgentDriver(Protocol):
    """Performs the tasks of agents with one adapter. When cancelled it stops every process it started."""

    async def perform_task(self, task: AgentTask, emit: EmitEvent) -> TaskOutcome:
        """Perform an agent's task, emit its events, and return the outcome; raise RunFailed when it fails."""
