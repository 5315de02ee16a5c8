"""A tool that an agent can call: defined once, served by chat, runs and MCP alike."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict, model_validator

from mnemon.db.tx import Tx
from mnemon.input_checks import check_json_texts
from mnemon.scope import Scope
from mnemon.turn import EntityPatch, Intent


class Arguments(BaseModel):
    """What a tool is called with: nothing it does not know, and only text that can be stored."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _check_storable(cls, given: Any) -> Any:
        return check_json_texts(given)


class NoArguments(Arguments):
    """Nothing is needed."""


@dataclass(frozen=True, kw_only=True)
class Caller:
    """On whose behalf a tool is called."""

    scope: Scope
    """The organization, and the person and persona where the call concerns one."""
    user_name: str = ""
    """The name the application calls the person by."""
    session_id: str | None = None
    turn_id: str | None = None
    agent_id: str | None = None
    """The agent whose run's token made the call: whose decisions are its own."""
    embedder: str = ""
    """The model that made the vector a tool is given."""
    may: Callable[[str], bool] = field(default=lambda grant: True)
    """Whether the caller's key has this scope."""


@dataclass(frozen=True, kw_only=True)
class ToolReply:
    """What a tool gives back."""

    content: dict[str, Any]
    """For the model, as JSON."""
    action: str | None = None
    """The action it is the result of, where that is not the tool itself."""
    ids: tuple[str, ...] | None = None
    """What it made, changed or found: what an expectation is checked against."""
    types: tuple[str, ...] | None = None
    count: int | None = None
    entities: tuple[EntityPatch, ...] = ()
    intents: tuple[Intent, ...] = ()
    """Expectations to be held: only `expect` has any."""
    reports: bool = True
    """Whether it is the result of an action that expectations may be about."""


class Tool(Protocol):
    """Reads its arguments, works in one transaction, and says what came of it. Raises MnemonError when it cannot."""

    name: str
    description: str
    """For a model: when to call it and what it gives."""
    arguments: type[Arguments]
    needs: str
    """The scope a key must have."""

    def text_to_embed(self, arguments: Arguments) -> str | None:
        """What must be embedded before the transaction begins."""
        ...

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply: ...
