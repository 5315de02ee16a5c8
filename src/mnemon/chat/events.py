"""The events of a chat turn, in the order in which a client receives them."""

from dataclasses import dataclass

from mnemon.agentstate.journal import StateUpdate
from mnemon.errors import Conflict, MnemonError, ModelDown
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
    """The model calls a tool of Mnemon's or of the caller's."""

    request: ToolRequest


@dataclass(frozen=True, kw_only=True)
class ToolReturned:
    """A tool of Mnemon's returned this."""

    id: str
    name: str
    content: Json


@dataclass(frozen=True, kw_only=True)
class AgentStateChanged:
    """The session's agent state changed."""

    update: StateUpdate


@dataclass(frozen=True, kw_only=True)
class ReplyDone:
    """The reply is complete and sealed; with reason `tool_calls` the caller runs the calls and sends their results."""

    turn_id: str
    session_id: str
    message_id: str | None
    """None when the reply has no text, so that there is no message."""
    reply: str
    usage: Usage
    reason: str
    """`stop`, `length`, `tool_calls` or `content_filter`."""


@dataclass(frozen=True, kw_only=True)
class ReplyFailed:
    """There is no complete reply; the text so far is kept, unless the person was forgotten meanwhile."""

    turn_id: str
    code: str
    detail: str

    def to_error(self) -> MnemonError:
        """Return the error to raise for a caller who gets no events."""
        if self.code == "reply_forgotten":
            return Conflict(self.detail, code=self.code)
        return ModelDown(self.detail, code=self.code)


ChatEvent = TurnStarted | ReplyDelta | ToolCalled | ToolReturned | AgentStateChanged | ReplyDone | ReplyFailed
