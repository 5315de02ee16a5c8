"""What a listener of a turn hears, in order."""

from dataclasses import dataclass

from mnemon.agentstate.journal import StateUpdate
from mnemon.llm.protocol import Json, ToolRequest, Usage


@dataclass(frozen=True, kw_only=True)
class TurnStarted:
    """The turn is stored."""

    turn_id: str
    session_id: str


@dataclass(frozen=True, kw_only=True)
class ReplyDelta:
    """A piece of the reply."""

    text: str


@dataclass(frozen=True, kw_only=True)
class ToolCalled:
    """The model calls a tool; of ours, or of the caller's."""

    request: ToolRequest


@dataclass(frozen=True, kw_only=True)
class ToolReturned:
    """A tool of ours gave this back."""

    id: str
    name: str
    content: Json


@dataclass(frozen=True, kw_only=True)
class AgentStateChanged:
    """The session's agent state changed."""

    update: StateUpdate


@dataclass(frozen=True, kw_only=True)
class ReplyDone:
    """The reply is complete and sealed; with `tool_calls` the caller runs the calls and comes back."""

    turn_id: str
    session_id: str
    message_id: str | None
    """None when there was nothing to say but calls."""
    reply: str
    usage: Usage
    reason: str
    """`stop`, `length`, `tool_calls` or `content_filter`."""


@dataclass(frozen=True, kw_only=True)
class ReplyFailed:
    """There is no complete reply; what was said so far is kept."""

    turn_id: str
    code: str
    detail: str


ChatEvent = TurnStarted | ReplyDelta | ToolCalled | ToolReturned | AgentStateChanged | ReplyDone | ReplyFailed
