"""What a caller wants answered, the prompt made from it, and the turn once it is stored.

An OpenAI client sends the whole conversation every time: `split_conversation` finds what follows the last reply.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mnemon.context.assemble import AssembledContext
from mnemon.errors import Invalid
from mnemon.llm.protocol import Json, LlmMessage, ToolSpec, Usage
from mnemon.scope import Scope
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.turns import TurnOrigin
from mnemon.turn import Role, Turn


@dataclass(frozen=True, kw_only=True)
class TurnRequest:
    """A message, or tool results, to be answered."""

    scope: Scope
    user_name: str
    messages: tuple[NewMessage, ...]
    """The new messages: one of the person, or the results of tools that the caller ran."""
    session_id: str | None = None
    vector: np.ndarray | None = None
    """The message's embedding, made before the transaction."""
    embedder: str = ""
    """The embedding model that made `vector`."""
    sees_agent_state: bool
    """Whether the caller's key has `agent-state:read`; without it the prompt leaves the agent state out, too."""
    sees_engagement: bool
    """The same for `engagement:read`."""
    retries: str | None = None
    """The id of a failed turn that is to be answered again."""
    origin: TurnOrigin = TurnOrigin.CHAT
    instructions: str | None = None
    """The calling program's own system prompt."""
    resent: tuple[LlmMessage, ...] | None = None
    """The conversation as the caller sent it; None to use the session's recent messages."""
    tools: tuple[ToolSpec, ...] = ()
    """The caller's tools, which the caller runs."""
    options: Json = field(default_factory=dict)
    """Sampling options, passed to the model."""

    @property
    def query(self) -> str:
        """Return the text that memories are searched for: the request's last message."""
        return self.messages[-1].content if self.messages else ""


@dataclass(frozen=True, kw_only=True)
class TurnPrompt:
    """What the model is given for a request."""

    request: TurnRequest
    context: AssembledContext
    conversation: tuple[LlmMessage, ...]
    """The messages that follow the system prompt."""

    @property
    def system(self) -> str:
        """Return the system prompt: the context, then the calling program's instructions, which are never cut."""
        instructions = self.request.instructions
        system = self.context.pack.system
        return f"{system}\n\n## Instructions of the application\n{instructions}" if instructions else system


@dataclass(frozen=True, kw_only=True)
class StartedTurn:
    """A turn that is stored and is being answered."""

    prompt: TurnPrompt
    turn: Turn
    spent: Usage | None = None
    """The usage of earlier attempts, for a turn that is continued or answered again."""

    def cost_with(self, usage: Usage) -> Usage:
        """Return the token usage of the whole turn, earlier requests included, with this usage added."""
        return usage if self.spent is None else self.spent.plus(usage)


@dataclass(frozen=True, kw_only=True)
class ResentConversation:
    """A conversation split into instructions, history and new messages."""

    instructions: str
    """The calling program's system and developer messages."""
    conversation: tuple[LlmMessage, ...]
    """All other messages, as the caller sent them."""
    new: tuple[NewMessage, ...]
    """The messages after the last reply."""
    tells_history: bool
    """Whether the caller sent earlier replies; otherwise the session's recent messages are used."""


def split_conversation(messages: Sequence[LlmMessage]) -> ResentConversation:
    """Split a conversation into instructions, history and new messages; raise Invalid if nothing is new."""
    instructions = [one.content for one in messages if one.role in ("system", "developer") and one.content]
    conversation = tuple(one for one in messages if one.role not in ("system", "developer"))
    replies = [place for place, one in enumerate(conversation) if one.role == "assistant"]
    following = conversation[replies[-1] + 1 :] if replies else conversation
    if not following:
        raise Invalid(
            "There is nothing new to answer: the last message is the assistant's. Append a user or tool message.",
            code="nothing_to_answer",
        )
    # A tool message carries only the id of its call; the name is in the assistant's message before it.
    names = {call.id: call.name for one in conversation for call in one.tool_requests}
    return ResentConversation(
        instructions="\n\n".join(instructions),
        conversation=conversation,
        new=tuple(_new_message(one, names) for one in following),
        tells_history=bool(replies),
    )


def _new_message(message: LlmMessage, names: dict[str, str]) -> NewMessage:
    """Return the message to store; a tool's message without a name gets it from its call."""
    called = names.get(message.tool_id or "")
    return NewMessage(
        role=Role(message.role),
        content=message.content,
        name=message.tool_name or called,
        tool_id=message.tool_id,
    )
