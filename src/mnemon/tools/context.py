"""`get_context`, `forget`, `get_state`, `get_engagement` and `get_my_decisions`.

The first two do their work in packages that this one may not import, so the function they call is passed in where
they are served.
"""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from pydantic import Field

from mnemon.agentstate.state import STATE_ADAPTER
from mnemon.agentstate.store import load_state
from mnemon.clock import format_time
from mnemon.db.tx import Tx
from mnemon.engagement.reading import load_tool_view
from mnemon.errors import Invalid, NotAllowed
from mnemon.runs.card import CardTypes
from mnemon.runs.decisions import list_agent_decisions
from mnemon.tool import Arguments, Caller, NoArguments, ToolReply
from mnemon.tools.expectations import NAME_SESSION

ReadContext = Callable[[Tx, Caller, str, np.ndarray | None, int | None], Awaitable[dict[str, Any]]]
"""Returns the context pack for a query as JSON; takes transaction, caller, query, its vector, budget in tokens."""
ForgetMemory = Callable[[Tx, Caller, str], Awaitable[dict[str, Any]]]
"""Forgets a memory and returns the receipt as JSON; takes transaction, caller, memory id."""


class GetContextArguments(Arguments):
    """What a context is wanted for."""

    query: str = Field(min_length=1, max_length=20_000, description="The message to be answered.")
    budget_tokens: int | None = Field(None, ge=200, le=200_000)


class GetContext:
    """The tool that returns what a chat turn would be given."""

    name = "get_context"
    description = "Everything that is known and may matter for answering a message, as a system prompt."
    arguments: type[Arguments] = GetContextArguments
    needs = "chat"

    def __init__(self, read: ReadContext) -> None:
        """Make the tool `get_context` with the function that puts a context together."""
        self._read = read

    def text_to_embed(self, arguments: Arguments) -> str | None:
        """Return the query of `get_context`, whose embedding finds the memories."""
        assert isinstance(arguments, GetContextArguments)
        return arguments.query

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """Return for the tool `get_context` the context (the prompt's layers) of a chat turn with this query."""
        assert isinstance(arguments, GetContextArguments)
        given = await self._read(tx, caller, arguments.query, vector, arguments.budget_tokens)
        # Not the result of an action: no expectation of the session is checked against it.
        return ToolReply(content=given, reports=False)


class ForgetArguments(Arguments):
    """A memory by its id."""

    id: str = Field(min_length=1, max_length=200, description="The memory's id, as `recall` gives it.")


class Forget:
    """The tool that forgets a memory."""

    name = "forget"
    description = "Forget one memory for good, wherever it stands. Only when the person asks for it."
    arguments: type[Arguments] = ForgetArguments
    needs = "custody"

    def __init__(self, forget: ForgetMemory) -> None:
        """Make the tool `forget` with the function that forgets a memory."""
        self._forget = forget

    def text_to_embed(self, arguments: Arguments) -> str | None:
        """Return None: the tool `forget` needs no embedding."""
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """Forget the memory of this id for good; return the receipt, which counts what was removed."""
        assert isinstance(arguments, ForgetArguments)
        receipt = await self._forget(tx, caller, arguments.id)
        return ToolReply(content=receipt, ids=(arguments.id,), types=("memory",), count=1)


class GetState:
    """The tool that returns the session's agent state."""

    name = "get_state"
    description = (
        "All of your agent state in this session: what you expect of actions and how they came out, open questions and "
        "tasks, assumptions, known entities. Your instructions show the most pressing part of it."
    )
    arguments: type[Arguments] = NoArguments
    needs = "agent-state:read"

    def text_to_embed(self, arguments: Arguments) -> str | None:
        """Return None: the tool `get_state` needs no embedding."""
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """Return the agent state of the session as JSON; raise Invalid without a session."""
        if caller.session_id is None:
            raise Invalid(f"Agent state belongs to a session. {NAME_SESSION}", code="no_session")
        held = await load_state(tx, caller.scope, caller.session_id)
        state = STATE_ADAPTER.dump_python(held.state, mode="json", by_alias=True, exclude_none=True)
        return ToolReply(content={"agent_state": state}, reports=False)


class GetEngagement:
    """The tool that returns the beliefs about the organization."""

    name = "get_engagement"
    description = "The engagement: its week, hypotheses with confidence and evidence, unknowns, findings."
    arguments: type[Arguments] = NoArguments
    needs = "engagement:read"

    def text_to_embed(self, arguments: Arguments) -> str | None:
        """Return None: the tool `get_engagement` needs no embedding."""
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """Return the organization's current engagement as JSON."""
        return ToolReply(content={"engagement": await load_tool_view(tx, caller.scope)}, reports=False)


class GetMyDecisionsArguments(Arguments):
    """How far to look back."""

    limit: int = Field(5, ge=1, le=50)


class GetMyDecisions:
    """The tool that returns the calling agent's own decisions."""

    name = "get_my_decisions"
    description = "Your own last decisions, newest first, each in one line: when, what, and why."
    arguments: type[Arguments] = GetMyDecisionsArguments
    needs = "agents:read"

    def __init__(self, cards: CardTypes) -> None:
        """Make the tool `get_my_decisions` with the card types, which say what a decision is about."""
        self._cards = cards

    def text_to_embed(self, arguments: Arguments) -> str | None:
        """Return None: the tool `get_my_decisions` needs no embedding."""
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """Return the last decisions of the agent whose run calls; raise NotAllowed for any other caller."""
        assert isinstance(arguments, GetMyDecisionsArguments)
        if caller.agent_id is None:
            raise NotAllowed(
                "Only an agent's own run can ask for its decisions: use the token of the run.", code="not_an_agent"
            )
        found = await list_agent_decisions(tx, caller.scope, caller.agent_id, self._cards, limit=arguments.limit)
        shown = [{**asdict(one), "at": format_time(one.at)} for one in found]
        return ToolReply(content={"decisions": shown}, count=len(shown), ids=tuple(one.run_id for one in found))
