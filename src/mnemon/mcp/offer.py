"""The tools a visitor is offered, and running one: the same tools that chat and runs have."""

import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types
import numpy as np
from pydantic import ValidationError

from mnemon.access.audit import record_write
from mnemon.basement import Basement
from mnemon.clock import iso
from mnemon.context.assemble import given
from mnemon.custody.forget_memory import forget_memory
from mnemon.db.tx import Tx
from mnemon.engagement.reading import shown_to
from mnemon.errors import MnemonError
from mnemon.faults import in_words
from mnemon.logs import note_error
from mnemon.mcp.caller import Visitor, as_caller
from mnemon.memory.recall.prepare import prepare_query
from mnemon.tool import Caller, Tool
from mnemon.tools.decisions import GetMyDecisions
from mnemon.tools.offered import all_tools, run_tool
from mnemon.tools.server_memory import server_memory_tools

READS = frozenset(
    {"recall", "get_context", "get_engagement", "list_todos", "get_my_decisions"}
    | {"read_graph", "search_nodes", "open_nodes"}
)
DESTROYS = frozenset({"forget", "delete_entities", "delete_observations", "delete_relations"})


class Offer:
    """Every tool of the house over one basement."""

    def __init__(self, basement: Basement) -> None:
        self._basement = basement
        self._tools = all_tools(context=self._context, forget=_forget, engagement=_engagement)
        self._server_memory = server_memory_tools(_forget)

    def to(self, visitor: Visitor) -> Mapping[str, Tool]:
        """What this visitor may call; a run is offered its decisions alone, and only if its agent reviews them."""
        if visitor.agent_id is not None:
            return {GetMyDecisions.name: self._tools[GetMyDecisions.name]} if visitor.reviews else {}
        offered = self._server_memory if visitor.server_memory else self._tools
        return {name: tool for name, tool in offered.items() if tool.needs in visitor.grants}

    def listed(self, visitor: Visitor) -> list[types.Tool]:
        """The same as MCP describes tools."""
        return [
            types.Tool(
                name=tool.name,
                description=tool.description,
                input_schema=_schema(tool),
                annotations=types.ToolAnnotations(
                    read_only_hint=tool.name in READS, destructive_hint=tool.name in DESTROYS, open_world_hint=False
                ),
            )
            for tool in self.to(visitor).values()
        ]

    async def call(self, visitor: Visitor, name: str, given: Mapping[str, Any], call_id: str) -> types.CallToolResult:
        """What the tool gave back; what went wrong is said to the model, so that it can do better."""
        tool = self.to(visitor).get(name)
        if tool is None:
            said = f"There is no tool {name!r} for this key. `tools/list` tells which there are."
            return failed(said, code="no_such_tool")
        try:
            arguments = tool.arguments.model_validate(given)
            text = tool.text_to_embed(arguments)
            caller = as_caller(visitor, self._basement)
            vector = None if text is None else await prepare_query(self._basement, caller.scope, text)
            async with self._basement.db.tx(visitor.org_id) as tx:
                ran = await run_tool(tx, tool, caller, arguments, vector, call_id=call_id)
                if name not in READS or ran.updates:  # what reads may still change the session's agent state
                    targets = (caller.session_id, *(ran.reply.ids or ()), caller.scope.user_id)
                    record_write(tx, caller.scope, actor=visitor.actor, action=f"mcp {name}", targets=targets)
        except ValidationError as error:
            return failed(f"The arguments do not fit: {in_words(error)}.", code="invalid_arguments")
        except MnemonError as error:
            note_error(error)
            return failed(error.detail, code=error.code)
        return types.CallToolResult(
            content=[types.TextContent(text=json.dumps(ran.reply.content, ensure_ascii=False))],
            structured_content=ran.reply.content,
        )

    async def _context(
        self, tx: Tx, caller: Caller, query: str, vector: np.ndarray | None, budget: int | None
    ) -> dict[str, Any]:
        made = await given(
            tx,
            self._basement,
            caller.scope,
            query,
            vector,
            sees_agent_state=caller.may("agent-state:read"),
            sees_engagement=caller.may("engagement:read"),
            session_id=caller.session_id,
            budget=budget,
        )
        pack = made.pack
        return {"system": pack.system, "tokens": pack.tokens, "leftOut": len(pack.left_out)}


def failed(words: str, *, code: str) -> types.CallToolResult:
    """A tool error in words a model can act on, with its code at the end."""
    return types.CallToolResult(content=[types.TextContent(text=f"{words} ({code})")], is_error=True)


async def _forget(tx: Tx, caller: Caller, memory_id: str) -> dict[str, Any]:
    receipt = await forget_memory(tx, caller.scope, memory_id)
    return {"id": receipt.id, "at": iso(receipt.at), "removed": receipt.removed, "redacted": receipt.redacted}


async def _engagement(tx: Tx, caller: Caller) -> dict[str, Any] | None:
    return await shown_to(tx, caller.scope)


def _schema(tool: Tool) -> dict[str, Any]:
    schema = tool.arguments.model_json_schema()
    schema.pop("title", None)
    schema.setdefault("properties", {})
    return schema
