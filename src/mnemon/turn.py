"""A turn as the rooms see it: its messages, the results of tools, and what was expected of them."""

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from mnemon.scope import Scope


class Role(StrEnum):
    """Who a message is from."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


OFFLINE_OPENING = "No language model is connected, so this is memory alone"
"""How every reply without a model begins. Such a reply is nothing that was said: recall does not find it."""


def speaker_of(role: Role, name: str | None) -> str:
    """Return a label for a speaker; only the person's messages have a bare name, so that nobody poses as them."""
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
        """Return the label for who spoke this message."""
        return speaker_of(self.role, self.name)


@dataclass(frozen=True, kw_only=True)
class EntityPatch:
    """An entity that a tool result names."""

    id: str
    kind: str
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class DependencyPatch:
    """A relation that a tool result names; identified by all three fields."""

    source: str
    target: str
    rel: str | None = None


@dataclass(frozen=True, kw_only=True)
class ToolOutcome:
    """The result of a tool. A structured field that is None was not given; an empty one and 0 are values."""

    id: str
    action: str
    ids: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    count: int | None = None
    entities: tuple[EntityPatch, ...] = ()
    dependencies: tuple[DependencyPatch, ...] = ()
    output: Any = None
    """Anything else it returned, as JSON; text in it is a source of lower trust."""
    error: str | None = None
    """What went wrong, where the action failed."""
    expectation_id: str | None = None
    """The expectation that it is the result for, where the caller says so."""
    tool_call_id: str | None = None
    """The model's call that it answers."""
    key: str | None = None
    """What tells it from every other result of the session, where `id` does not: models number calls anew each turn."""


def error_text(error: Any) -> str | None:
    """Return the text of a result's `error`; None for null, false and empty values."""
    if not error:
        return None
    if isinstance(error, str):
        return error
    if isinstance(error, dict) and isinstance(error.get("message"), str) and error["message"]:
        return str(error["message"])
    return "error" if error is True else json.dumps(error, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class Intent:
    """What the planner expects an action to do."""

    action: str
    expected_outcome: str
    expected_ids: tuple[str, ...] | None = None
    expected_type: str | None = None
    expected_count: int | None = None
    invariant: str | None = None
    tool_call_id: str | None = None
    """The call that will do it, where it is known."""


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
    """The application's name for the person, for attribution."""
    at: datetime
    """When it happened: governs validity, recency and the journals, also when it is loaded or reflected later."""
    messages: tuple[TurnMessage, ...]
    """In order: the person's, the tools', the assistant's."""
    tool_results: tuple[ToolOutcome, ...] = ()
    intents: tuple[Intent, ...] = ()
    message_count: int = 0
    """SessionState.messageCount after this turn."""
    said_before: tuple[str, ...] = ()
    """The person's latest messages in the session before this turn, oldest first; read for a confidence announced."""
    carries_from: str | None = None
    """The ended session whose agent state goes on in this turn's session; only where the turn began that."""

    @property
    def size(self) -> int:
        """Return about how many characters the turn has; a tool result that is not text counts as 10,000."""
        # An estimate is enough: it decides whether the turn is read in a thread (`run_off_loop`).
        given = (
            len(one.output) if isinstance(one.output, str) else _NON_TEXT_CHARS
            for one in self.tool_results
            if one.output
        )
        return sum(len(message.content) for message in self.messages) + sum(given)

    @property
    def user_text(self) -> str:
        """Return the person's messages of this turn, joined by a blank line."""
        return "\n\n".join(message.content for message in self.messages if message.role is Role.USER)

    @property
    def reply(self) -> str:
        """Return the assistant's messages of this turn, joined by a blank line."""
        return "\n\n".join(message.content for message in self.messages if message.role is Role.ASSISTANT)
