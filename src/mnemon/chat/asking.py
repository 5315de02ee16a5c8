"""What a caller wants answered, and what became of it once it is stored."""

from dataclasses import dataclass, field

import numpy as np

from mnemon.context.assemble import Context
from mnemon.llm.protocol import Json, Message, ToolSpec, Usage
from mnemon.scope import Scope
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.turns import Origin
from mnemon.turn import Turn


@dataclass(frozen=True, kw_only=True)
class Asking:
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
    origin: Origin = Origin.CHAT
    instructions: str | None = None
    """The calling program's own system prompt."""
    resent: tuple[Message, ...] | None = None
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
class Prompt:
    """What the model is given for it."""

    asking: Asking
    context: Context
    conversation: tuple[Message, ...]
    """What follows the system prompt."""

    @property
    def system(self) -> str:
        """The context, then what the calling program tells the model: its own words are never cut to a budget."""
        told = self.asking.instructions
        system = self.context.pack.system
        return f"{system}\n\n## Instructions of the application\n{told}" if told else system


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A turn that is stored and is being answered."""

    prompt: Prompt
    turn: Turn
    spent: Usage | None = None
    """What the turn cost before: one that is continued, or answered again."""

    def cost_with(self, usage: Usage) -> Usage:
        """What the whole turn has cost once this comes on top."""
        return usage if self.spent is None else self.spent.plus(usage)
