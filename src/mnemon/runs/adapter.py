"""The one seam between a run and what thinks for it: a task in, events out, an outcome or RunFailed at the end."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from mnemon.errors import MnemonError
from mnemon.llm.protocol import LlmMessage
from mnemon.runs.active_memory import MemoryAccess
from mnemon.runs.agent import Agent
from mnemon.runs.card import CardDefinition
from mnemon.runs.run import RunUsage


class RunEventType(StrEnum):
    """What can be seen of a run while it goes on."""

    STATUS = "status"
    SESSION = "session"
    """Which session it resumes, that it starts fresh although one was wanted, or that its own was not kept."""
    CONSULTATION = "consultation"
    """A specialist was asked, or has answered."""
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    DELTA = "delta"
    """A piece of the reply."""
    MESSAGE = "message"
    """A whole message of the model."""
    REVIEW = "review"
    """Said when an agent that should begin with its decisions did not look at them."""
    CARD = "card"
    SKIPPED = "skipped"
    """Slots of the schedule that this run stands for."""


@dataclass(frozen=True, kw_only=True)
class RunEvent:
    """One thing that happened."""

    type: RunEventType
    data: dict[str, Any]


EmitEvent = Callable[[RunEvent], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class DecisionReview:
    """The agent's own decisions, within its reach for this task."""

    read: Callable[[], Awaitable[str]]
    """The decisions as the tool answers them."""
    token: str
    """The run's own credential, for an adapter that asks over MCP; it dies with the run."""


@dataclass(frozen=True, kw_only=True)
class AgentTask:
    """Everything an adapter may know."""

    org_id: str
    agent: Agent
    system: str
    prompt: str
    card: CardDefinition | None
    """The card to fill; None asks for a plain reply."""
    access: MemoryAccess = MemoryAccess.NONE
    session_id: str | None = None
    """The session to carry on; None begins one."""
    fresh_session_id: str = ""
    """The id a new session gets, where the adapter does not choose its own."""
    history: tuple[LlmMessage, ...] = ()
    """What that session holds, where its transcript is in our store."""
    review: DecisionReview | None = None
    """None: reviewing decisions is not offered."""
    convene: Callable[[], Awaitable[str]] | None = None
    """For a lead: the prompt with what the council reports; asked for once, after the review."""
    blind: bool = False
    """A consultation during a re-examination: no session, no decision and no file may be within reach."""


@dataclass(frozen=True, kw_only=True)
class TaskOutcome:
    """How a task ended well."""

    reply: str
    answer: dict[str, Any] | None
    """The card as the model filled it, not yet checked; None when none was asked for."""
    session_id: str | None
    """The session that now holds this task too; None when none was kept."""
    transcript: tuple[LlmMessage, ...]
    """What to add to our store's transcript of that session; empty where the adapter keeps its own."""
    usage: RunUsage


class RunFailed(MnemonError):
    """The task did not end well; the detail says why, and what it cost is kept."""

    code = "run_failed"

    def __init__(self, detail: str, *, usage: RunUsage | None = None) -> None:
        super().__init__(detail)
        self.usage = usage or RunUsage()


class AgentDriver(Protocol):
    """What drives agents of one adapter. Being cancelled, it leaves nothing running."""

    async def perform_task(self, task: AgentTask, emit: EmitEvent) -> TaskOutcome: ...
