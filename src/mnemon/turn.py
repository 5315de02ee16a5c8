"""A turn as the rooms see it: what was said, what tools gave back, and what was expected of them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from mnemon.scope import Scope


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


def speaker_of(role: Role, name: str | None) -> str:
    """Who spoke, for a reader: only the person's messages go by their name alone, so that nobody passes for them."""
    if role is Role.USER:
        return name or role.value
    return f"{role.value} ({name})" if name else role.value


@dataclass(frozen=True, kw_only=True)
class TurnMessage:
    """One stored message."""

    message_id: str
    role: Role
    content: str
    name: str | None
    """Who spoke, where the application says so; for a tool message the tool."""
    at: datetime

    @property
    def speaker(self) -> str:
        """Who spoke, for a reader."""
        return speaker_of(self.role, self.name)


@dataclass(frozen=True, kw_only=True)
class EntityPatch:
    """An entity that a tool result names."""

    id: str
    kind: str
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class DependencyPatch:
    """A relation that a tool result names; identified by all three."""

    source: str
    target: str
    rel: str | None = None


@dataclass(frozen=True, kw_only=True)
class ToolOutcome:
    """What a tool gave back. A structured field that is None was not given; an empty one and 0 are values."""

    id: str
    action: str
    ids: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    count: int | None = None
    entities: tuple[EntityPatch, ...] = ()
    dependencies: tuple[DependencyPatch, ...] = ()
    output: Any = None
    """Whatever else it said, as JSON; text in it is a source of lower trust."""


@dataclass(frozen=True, kw_only=True)
class Intent:
    """What the planner expects an action to do."""

    action: str
    expected_outcome: str
    expected_ids: tuple[str, ...] | None = None
    expected_type: str | None = None
    expected_count: int | None = None
    invariant: str | None = None


_NON_TEXT_CHARS = 10_000


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One exchange, stored and sealed."""

    id: str
    session_id: str
    seq: int
    """Its place within the session; reflections apply in this order."""
    scope: Scope
    """Organization, person and persona it belongs to."""
    user_name: str
    """The name the application calls the person by, for attribution."""
    at: datetime
    """When it happened: governs validity, recency and the journals, also when it is loaded or reflected later."""
    messages: tuple[TurnMessage, ...]
    """In order: the person's, the tools', the assistant's."""
    tool_results: tuple[ToolOutcome, ...] = ()
    intents: tuple[Intent, ...] = ()
    message_count: int = 0
    """SessionState.messageCount after this turn."""

    @property
    def size(self) -> int:
        """About how many characters it has: what tools gave back counts as long where it is no text."""
        given = (
            len(one.output) if isinstance(one.output, str) else _NON_TEXT_CHARS
            for one in self.tool_results
            if one.output
        )
        return sum(len(said.content) for said in self.messages) + sum(given)

    @property
    def user_text(self) -> str:
        """What the person said, messages joined by a blank line."""
        return "\n\n".join(said.content for said in self.messages if said.role is Role.USER)

    @property
    def reply(self) -> str:
        """What the assistant said."""
        return "\n\n".join(said.content for said in self.messages if said.role is Role.ASSISTANT)
