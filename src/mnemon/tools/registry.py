"""Which tools are served where, and running one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mnemon.agentstate.journal import RecordedResults, StateUpdate, record_intents, record_tool_results
from mnemon.agentstate.settlement import verdict_json
from mnemon.db.tx import Tx
from mnemon.errors import NotAllowed
from mnemon.runs.card import CardTypes
from mnemon.tool import Arguments, Caller, Tool, ToolReply
from mnemon.tools.context import (
    Forget,
    ForgetMemory,
    GetContext,
    GetEngagement,
    GetMyDecisions,
    GetState,
    ReadContext,
)
from mnemon.tools.expectations import Expect, ReportResult
from mnemon.tools.memory import ListTodos, Recall, Remember
from mnemon.turn import ToolOutcome

_CHAT_TOOLS: tuple[Tool, ...] = (
    Expect(),
    Recall(),
    Remember(),
    ListTodos(),
    GetState(),
    GetEngagement(),
)


@dataclass(frozen=True, kw_only=True)
class ToolRun:
    """What a tool returned and what it changed in the agent state."""

    reply: ToolReply
    outcome: ToolOutcome
    updates: tuple[StateUpdate, ...]


def chat_tools(grants: Collection[str]) -> Mapping[str, Tool]:
    """Return the tools a chat model may call for a key with these scopes, by name."""
    return {tool.name: tool for tool in _CHAT_TOOLS if tool.needs in grants}


def expect_beside(callers: Collection[str]) -> Mapping[str, Tool]:
    """Return `expect`, to be offered beside a caller's own tools of these names; nothing if one has its name."""
    expect = Expect()
    return {} if not callers or expect.name in callers else {expect.name: expect}


def all_tools(*, context: ReadContext, forget: ForgetMemory, cards: CardTypes) -> Mapping[str, Tool]:
    """Return every tool by name, for servers such as MCP; two need functions of other packages, given here."""
    tools: tuple[Tool, ...] = (
        *_CHAT_TOOLS,
        ReportResult(),
        GetMyDecisions(cards),
        GetContext(context),
        Forget(forget),
    )
    return {tool.name: tool for tool in tools}


async def run_tool(
    tx: Tx, tool: Tool, caller: Caller, arguments: Arguments, vector: np.ndarray | None, *, call_id: str
) -> ToolRun:
    """Run the tool and record its expectations and its result in the session's agent state, all in `tx`.

    Raises NotAllowed when the caller lacks the tool's scope. Without a session nothing is recorded. A reply whose
    result settled an expectation tells which, and how.
    """
    # Checked again, although a caller is offered only what it may call.
    if not caller.may(tool.needs):
        raise NotAllowed(
            f"This key lacks the scope `{tool.needs}`, which {tool.name} needs. Use a key that has it.",
            code="missing_scope",
        )
    reply = await tool.run(tx, caller, arguments, vector)
    outcome = ToolOutcome(
        id=call_id,
        action=reply.action or tool.name,
        ids=reply.ids,
        types=reply.types,
        count=reply.count,
        entities=reply.entities,
        dependencies=reply.dependencies,
        output=reply.content if reply.action is None else reply.output,
        error=reply.error,
        expectation_id=reply.expectation_id,
        tool_call_id=reply.tool_call_id,
        # A model numbers its calls anew in each turn, and an MCP client in each connection.
        key=reply.tool_call_id or tx.new_id("res"),
    )
    if caller.session_id is None:
        return ToolRun(reply=reply, outcome=outcome, updates=())
    scope, session, turn_id = caller.scope, caller.session_id, caller.turn_id
    planned = await record_intents(tx, scope, session, reply.intents, turn_id=turn_id, at=tx.now)
    recorded = RecordedResults()
    if reply.reports:
        recorded = await record_tool_results(tx, scope, session, (outcome,), turn_id=turn_id, at=tx.now)
    reply = replace(reply, content=reply.content | _new_expectation(planned) | _verdict_entries(recorded))
    updates = tuple(update for update in (planned, recorded.update) if update is not None)
    return ToolRun(reply=reply, outcome=outcome, updates=updates)


def _new_expectation(planned: StateUpdate | None) -> dict[str, Any]:
    """Return the id of the expectation just added, as an entry of the tool's reply; empty without one."""
    added = () if planned is None else planned.change.expectations or ()
    return {"expectation_id": added[-1].id} if added else {}


def _verdict_entries(recorded: RecordedResults) -> dict[str, Any]:
    """Return, as entries of the tool's reply, how the result settled an expectation; empty if it settled none."""
    told = [verdict_json(settlement) for settlement in recorded.settlements]
    # A call has one result.
    return {} if not told or told[0] == {"expectation": None} else told[0]
