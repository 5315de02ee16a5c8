"""A tool that an agent can call: defined once, offered by chat and MCP alike."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict, model_validator

from mnemon.db.tx import Tx
from mnemon.input_checks import check_json_texts
from mnemon.scope import Scope
from mnemon.turn import DependencyPatch, EntityPatch, Intent


class Arguments(BaseModel):
    """What a tool is called with: nothing it does not know, and only text that can be stored."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _check_storable(cls, given: Any) -> Any:
        """Return a tool's arguments unchanged; raise ValueError for text or numbers that cannot be stored."""
        return check_json_texts(given)


class NoArguments(Arguments):
    """Nothing is needed."""


@dataclass(frozen=True, kw_only=True)
class Caller:
    """On whose behalf a tool is called."""

    scope: Scope
    """The organization, and the person and persona where the call concerns one."""
    user_name: str = ""
    """The application's name for the person."""
    session_id: str | None = None
    turn_id: str | None = None
    agent_id: str | None = None
    """The agent whose run's token made the call; decisions that it makes are this agent's."""
    embedder: str = ""
    """The embedding model that made the vector."""
    may: Callable[[str], bool] = field(default=lambda grant: True)
    """Whether the caller's key has this scope."""


@dataclass(frozen=True, kw_only=True)
class ToolReply:
    """The result of a tool."""

    content: dict[str, Any]
    """For the model, as JSON."""
    action: str | None = None
    """The action it is the result of, where that is not the tool itself."""
    output: str | None = None
    """What that action said. The content of the reply is the output only of the tool's own action."""
    ids: tuple[str, ...] | None = None
    """Ids of what it made, changed or found, which expectations are checked against."""
    types: tuple[str, ...] | None = None
    count: int | None = None
    entities: tuple[EntityPatch, ...] = ()
    dependencies: tuple[DependencyPatch, ...] = ()
    error: str | None = None
    """What went wrong, where that action failed."""
    expectation_id: str | None = None
    """The expectation that it is the result for, where the caller says so."""
    tool_call_id: str | None = None
    """The call of the caller's own that it answers."""
    intents: tuple[Intent, ...] = ()
    """Expectations to record: only the tool `expect` has any."""
    reports: bool = True
    """Whether it is the result of an action that expectations may be about."""


class Tool(Protocol):
    """A tool works in one transaction and returns what came of it; it raises MnemonError when it cannot."""

    name: str
    description: str
    """For the model: when to call it and what it returns."""
    arguments: type[Arguments]
    needs: str
    """The scope a key must have."""

    def text_to_embed(self, arguments: Arguments) -> str | None:
        """Return the text that must be embedded before the transaction begins; None if there is none."""
        ...

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """Run the tool in the transaction; `vector` is the embedding of `text_to_embed`, None without one."""
        ...
