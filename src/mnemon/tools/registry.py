"""Which tools are served where, and running one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mnemon.agentstate.journal import StateUpdate, record_intents, record_tool_results
from mnemon.db.tx import Tx
from mnemon.errors import NotAllowed
from mnemon.tool import Arguments, Caller, Tool, ToolReply
from mnemon.tools.context import (
    Forget,
    ForgetMemory,
    GetContext,
    GetEngagement,
    GetMyDecisions,
    ReadContext,
    ReadEngagement,
)
from mnemon.tools.expectations import Expect, ReportResult
from mnemon.tools.memory import ListTodos, Recall, Remember
from mnemon.turn import ToolOutcome

_CHAT_TOOLS: tuple[Tool, ...] = (Expect(), Recall(), Remember(), ListTodos())


@dataclass(frozen=True, kw_only=True)
class ToolRun:
    """What a tool returned and what it changed in the agent state."""

    reply: ToolReply
    outcome: ToolOutcome
    updates: tuple[StateUpdate, ...]


def chat_tools(grants: Collection[str]) -> Mapping[str, Tool]:
    """Return the tools a chat model may call for a key with these scopes, by name."""
    return {tool.name: tool for tool in _CHAT_TOOLS if tool.needs in grants}


def all_tools(*, context: ReadContext, forget: ForgetMemory, engagement: ReadEngagement) -> Mapping[str, Tool]:
    """Return every tool by name, for servers such as MCP; three need functions of other packages, given here."""
    tools: tuple[Tool, ...] = (
        *_CHAT_TOOLS,
        ReportResult(),
        GetMyDecisions(),
        GetContext(context),
        Forget(forget),
        GetEngagement(engagement),
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
        output=reply.content if reply.action is None else reply.output,
    )
    if caller.session_id is None:
        return ToolRun(reply=reply, outcome=outcome, updates=())
    scope, session, turn_id = caller.scope, caller.session_id, caller.turn_id
    planned = await record_intents(tx, scope, session, reply.intents, turn_id=turn_id, at=tx.now)
    settled = None
    if reply.reports:
        settled = await record_tool_results(tx, scope, session, (outcome,), turn_id=turn_id, at=tx.now)
        reply = replace(reply, content=reply.content | _settled_expectation(settled))
    updates = tuple(update for update in (planned, settled) if update is not None)
    return ToolRun(reply=reply, outcome=outcome, updates=updates)


def _settled_expectation(update: StateUpdate | None) -> dict[str, Any]:
    """Return the expectation that a result settled as an entry of the tool's reply; empty when it settled none."""
    changed = () if update is None else update.change.expectations or ()
    # A result settles one at most.
    for one in changed:
        return {"expectation": {"id": one.id, "expected": one.expected_outcome, "status": one.status.value}}
    return {}
