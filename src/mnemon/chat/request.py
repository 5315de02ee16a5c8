"""A caller of the OpenAI wire sends the whole conversation every time: only what follows the last reply is new.

What a caller wants answered, and what became of it once it is stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mnemon.context.assemble import AssembledContext
from mnemon.errors import Invalid
from mnemon.input_checks import parse_json
from mnemon.llm.protocol import Json, LlmMessage, ToolSpec, Usage
from mnemon.scope import Scope
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.turns import TurnOrigin
from mnemon.turn import Role, ToolOutcome, Turn


@dataclass(frozen=True, kw_only=True)
class TurnRequest:
    """A message that wants a reply."""

    scope: Scope
    user_name: str
    messages: tuple[NewMessage, ...]
    """What is new: one message of the person, or the results of tools that the caller ran."""
    session_id: str | None = None
    vector: np.ndarray | None = None
    """The message's embedding, made before the transaction."""
    embedder: str = ""
    """The model that made it."""
    sees_agent_state: bool
    """Whether the caller's key has `agent-state:read`: without it the model is not told either."""
    sees_engagement: bool
    """The same for `engagement:read`."""
    retries: str | None = None
    """A turn that failed and is to be answered again."""
    origin: TurnOrigin = TurnOrigin.CHAT
    instructions: str | None = None
    """The calling program's own system prompt."""
    resent: tuple[LlmMessage, ...] | None = None
    """The conversation as the caller tells it; None when we are to tell it."""
    tools: tuple[ToolSpec, ...] = ()
    """The caller's tools, which the caller runs."""
    options: Json = field(default_factory=dict)
    """Passed to the model."""

    @property
    def query(self) -> str:
        """What the context is sought for: the last thing said."""
        return self.messages[-1].content if self.messages else ""


@dataclass(frozen=True, kw_only=True)
class TurnPrompt:
    """What the model is given for it."""

    asking: TurnRequest
    context: AssembledContext
    conversation: tuple[LlmMessage, ...]
    """What follows the system prompt."""

    @property
    def system(self) -> str:
        """The context, then what the calling program tells the model: its own words are never cut to a budget."""
        told = self.asking.instructions
        system = self.context.pack.system
        return f"{system}\n\n## Instructions of the application\n{told}" if told else system


@dataclass(frozen=True, kw_only=True)
class StartedTurn:
    """A turn that is stored and is being answered."""

    prompt: TurnPrompt
    turn: Turn
    spent: Usage | None = None
    """What the turn cost before: one that is continued, or answered again."""

    def cost_with(self, usage: Usage) -> Usage:
        """What the whole turn has cost once this comes on top."""
        return usage if self.spent is None else self.spent.plus(usage)


@dataclass(frozen=True, kw_only=True)
class ResentConversation:
    """A conversation taken apart."""

    instructions: str
    """What the calling program tells the model, from its system and developer messages."""
    conversation: tuple[LlmMessage, ...]
    """Everything else, as the caller tells it."""
    new: tuple[NewMessage, ...]
    """What we have not heard before."""
    tells_history: bool
    """Whether the caller told of earlier replies; otherwise the telling is left to us."""


def split_conversation(messages: Sequence[LlmMessage]) -> ResentConversation:
    """The conversation with what is new in it."""
    instructions = [one.content for one in messages if one.role in ("system", "developer") and one.content]
    spoken = tuple(one for one in messages if one.role not in ("system", "developer"))
    replies = [place for place, one in enumerate(spoken) if one.role == "assistant"]
    following = spoken[replies[-1] + 1 :] if replies else spoken
    if not following:
        raise Invalid(
            "There is nothing new to answer: the last message is the assistant's. Append a user or tool message.",
            code="nothing_to_answer",
        )
    names = {call.id: call.name for one in spoken for call in one.tool_requests}
    return ResentConversation(
        instructions="\n\n".join(instructions),
        conversation=spoken,
        new=tuple(_new_message(one, names) for one in following),
        tells_history=bool(replies),
    )


def tool_outcomes(messages: Sequence[NewMessage]) -> tuple[ToolOutcome, ...]:
    """The tool results among new messages. Where one is a JSON object, its `ids`, `types` and `count` can be verified.

    What it says stands in its message, so the outcome does not say it again.
    """
    return tuple(_tool_outcome(one) for one in messages if one.role is Role.TOOL)


def _tool_outcome(message: NewMessage) -> ToolOutcome:
    given = _parse_object(message.content)
    count = given.get("count")
    return ToolOutcome(
        id=message.tool_id or message.name or "tool",
        action=message.name or "tool",
        ids=_text_tuple(given.get("ids")),
        types=_text_tuple(given.get("types")),
        count=count if isinstance(count, int) and not isinstance(count, bool) else None,
    )


def _new_message(message: LlmMessage, names: dict[str, str]) -> NewMessage:
    called = names.get(message.tool_id or "")
    return NewMessage(
        role=Role(message.role),
        content=message.content,
        name=message.tool_name or called,
        tool_id=message.tool_id,
    )


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except Invalid:
        return {}
    return value if isinstance(value, dict) else {}


def _text_tuple(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    return tuple(value)
