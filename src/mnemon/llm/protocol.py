"""What Mnemon asks of a language model: one reply, streamed, or one structured answer."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

Json = dict[str, Any]


class Purpose(StrEnum):
    """What a call was for; usage is summed and metered by it."""

    CHAT = "chat"
    REFLECTION = "reflection"
    SUMMARY = "summary"
    SPINE = "spine"
    CURATOR = "curator"
    RUN = "run"


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What one call, or several together, cost."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Of the input, read from the provider's cache."""
    latency_ms: float = 0.0
    calls: int = 1
    model: str = ""

    def plus(self, other: "Usage") -> "Usage":
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
    """A structured answer is wanted."""

    title: str
    """The schema's title: `Reflection`, `SessionSummary`, `Spine`, `CuratorPlan`, `Card`."""
    schema: Json
    """A JSON schema of an object, with that title."""
    system: str
    prompt: str
    purpose: Purpose
    by_rule: Callable[[], Json]
    """The answer rules give, for offline mode."""


@dataclass(frozen=True, kw_only=True)
class LlmAnswer:
    """What came back: the object as parsed, not yet validated beyond being an object."""

    value: Json
    text: str
    """The raw answer, kept before anything is applied."""
    usage: Usage


@dataclass(frozen=True, kw_only=True)
class ToolRequest:
    """The model wants a tool called."""

    id: str
    name: str
    arguments: Json


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
    """A tool offered to the model."""

    name: str
    description: str
    schema: Json
    """JSON schema of its arguments."""


@dataclass(frozen=True, kw_only=True)
class LlmChatRequest:
    """A reply is wanted: one model request, no tool loop."""

    system: str
    messages: tuple[LlmMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    purpose: Purpose = Purpose.CHAT
    by_rule: Callable[[], str]
    """The reply rules give, for offline mode."""
    options: Json = field(default_factory=dict)
    """Passed on from the caller where the wire allows it: temperature, max_tokens, tool_choice, stop, …"""


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
    """Whether it was longer than we take, and was cut."""


ChatEvent = TextPiece | ToolRequest | ReplyFinished


class Llm(Protocol):
    """A model. Raises `mnemon.errors.ModelDown` when it does not answer, or not usably, within its bounds."""

    name: str
    """As named in the settings, `openai:gpt-…` or `offline`."""
    offline: bool

    async def answer(self, question: LlmQuestion) -> LlmAnswer: ...

    def chat(self, request: LlmChatRequest) -> AsyncGenerator[ChatEvent, None]: ...

    async def close(self) -> None:
        """Its connections are closed; at the end of the process."""
        ...
