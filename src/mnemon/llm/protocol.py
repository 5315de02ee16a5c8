"""What Mnemon needs of a language model: a streamed reply, or a structured answer."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

Json = dict[str, Any]


class Purpose(StrEnum):
    """What a call is for; usage is summed and metered by it."""

    CHAT = "chat"
    REFLECTION = "reflection"
    SUMMARY = "summary"
    SPINE = "spine"
    CURATOR = "curator"
    RUN = "run"


MOST_TOKENS = 1_000_000_000
"""The most tokens that one call may count; more is a broken server's number, and sums of it would overflow."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What one call, or several together, cost."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Input tokens that were read from the provider's cache."""
    latency_ms: float = 0.0
    calls: int = 1
    model: str = ""

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum of both usages: tokens, calls and time."""
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            latency_ms=self.latency_ms + other.latency_ms,
            calls=self.calls + other.calls,
            model=self.model or other.model,
        )


@dataclass(frozen=True, kw_only=True)
class LlmQuestion:
    """A request for a structured answer."""

    title: str
    """The schema's title: `Reflection`, `SessionSummary`, `Spine`, `CuratorPlan`, `Card`."""
    schema: Json
    """The JSON schema of an object, with that title."""
    system: str
    prompt: str
    purpose: Purpose
    by_rule: Callable[[], Json]
    """Returns the answer in offline mode."""
    max_tokens: int | None = None
    """The most tokens that a sensible answer takes: a runaway one is cut there. None: the server's own limit."""
    temperature: float | None = None
    """How freely the answer is chosen; 0 for the likeliest words. None: the server's own."""


@dataclass(frozen=True, kw_only=True)
class LlmAnswer:
    """A structured answer: the parsed object, not validated against the schema."""

    value: Json
    text: str
    """The raw answer, stored before anything is applied."""
    usage: Usage


@dataclass(frozen=True, kw_only=True)
class ToolRequest:
    """A tool call that the model requests."""

    id: str
    name: str
    arguments: Json


MAX_TOOL_CALLS = 32
"""Most tool calls of one model reply that are run; each takes a transaction, and a reply may ask for thousands."""
CALL_NOT_RUN = (
    f"This call was not run: Mnemon runs at most {MAX_TOOL_CALLS} tool calls of one reply. Go on with the results of "
    "the others, or make the call again in your next reply."
)
"""The result of a call beyond MAX_TOOL_CALLS, for the model."""


@dataclass(frozen=True, kw_only=True)
class LlmMessage:
    """One message of a conversation with a model."""

    role: str
    """`user`, `assistant` or `tool`."""
    content: str = ""
    tool_requests: tuple[ToolRequest, ...] = ()
    """On an assistant message: the calls it made."""
    tool_id: str | None = None
    """On a tool message: the call it answers."""
    tool_name: str | None = None


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A tool that is offered to the model."""

    name: str
    description: str
    schema: Json
    """JSON schema of its arguments."""


@dataclass(frozen=True, kw_only=True)
class LlmChatRequest:
    """A request for one reply; tool calls in it are not executed here."""

    system: str
    messages: tuple[LlmMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    purpose: Purpose = Purpose.CHAT
    by_rule: Callable[[], str]
    """Returns the reply in offline mode."""
    options: Json = field(default_factory=dict)
    """The caller's options, passed on where the vendor supports them: temperature, max_tokens, tool_choice, stop, …"""


@dataclass(frozen=True, kw_only=True)
class TextPiece:
    """A piece of the reply."""

    text: str


@dataclass(frozen=True, kw_only=True)
class ReplyFinished:
    """The reply is complete."""

    usage: Usage
    reason: str = "stop"
    """`stop`, `length`, `tool_calls` or `content_filter`."""
    cut: bool = False
    """Whether the reply was longer than the limit and was cut."""


ChatEvent = TextPiece | ToolRequest | ReplyFinished


class Llm(Protocol):
    """A model. Raises `mnemon.errors.ModelDown` when it gives no usable answer within its time and tries."""

    name: str
    """The model as the settings name it: `openai:gpt-…` or `offline`."""
    offline: bool

    async def answer(self, question: LlmQuestion) -> LlmAnswer:
        """Return the model's answer to a question, a JSON object that should fit the question's schema."""

    def chat(self, request: LlmChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """Yield the model's reply to a conversation piece by piece; `ReplyFinished` comes last."""

    async def close(self) -> None:
        """Close the model's connections, at the end of the process."""
        ...
