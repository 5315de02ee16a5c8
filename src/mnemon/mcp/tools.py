"""The tools that an MCP caller is offered, and running one: the same tools that chat and runs have."""

import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types
import numpy as np
from pydantic import ValidationError

from mnemon.access.audit import record_write
from mnemon.access.idempotency import IdempotencyKey, StoredReply, load_reply, request_fingerprint, store_reply
from mnemon.clock import format_time
from mnemon.context.assemble import preview_context
from mnemon.custody.forget_memory import forget_memory
from mnemon.db.tx import Tx
from mnemon.errors import Conflict, MnemonError
from mnemon.input_checks import check_json, describe_validation_error
from mnemon.logs import note_error
from mnemon.mcp.caller import McpCaller, as_tool_caller
from mnemon.memory.recall.search import prepare_query
from mnemon.runs.card import load_cards
from mnemon.services import Services
from mnemon.tool import Caller, Tool
from mnemon.tools.context import GetMyDecisions
from mnemon.tools.registry import all_tools, run_tool
from mnemon.tools.server_memory import server_memory_tools

READ_TOOLS = frozenset(
    {"recall", "get_context", "get_state", "get_engagement", "list_todos", "get_my_decisions"}
    | {"read_graph", "search_nodes", "open_nodes"}
)
DESTRUCTIVE_TOOLS = frozenset({"forget", "delete_entities", "delete_observations", "delete_relations"})


class McpTools:
    """Every tool of Mnemon, as MCP offers and calls it."""

    def __init__(self, services: Services) -> None:
        """Make the MCP tools: Mnemon's own and those of the reference `server-memory`."""
        self._services = services
        self._tools = all_tools(
            context=self._read_context, forget=_forget_memory, cards=load_cards(services.settings.cards_dir)
        )
        self._server_memory = server_memory_tools(_forget_memory)

    def tools_for(self, caller: McpCaller) -> Mapping[str, Tool]:
        """Return the tools this MCP caller may call; a run gets its decisions only, if its agent reviews them."""
        if caller.agent_id is not None:
            return {GetMyDecisions.name: self._tools[GetMyDecisions.name]} if caller.reviews else {}
        offered = self._server_memory if caller.server_memory else self._tools
        return {name: tool for name, tool in offered.items() if tool.needs in caller.grants}

    def list_tools(self, caller: McpCaller) -> list[types.Tool]:
        """Return the tools that are of use to this MCP caller as `tools/list` describes them."""
        return [
            types.Tool(
                name=tool.name,
                description=tool.description,
                input_schema=_input_schema(tool),
                annotations=types.ToolAnnotations(
                    read_only_hint=tool.name in READ_TOOLS,
                    destructive_hint=tool.name in DESTRUCTIVE_TOOLS,
                    open_world_hint=False,
                ),
            )
            for tool in self.tools_for(caller).values()
            # A key may call it and is told why not; only a run has decisions of its own.
            if caller.agent_id is not None or tool.name != GetMyDecisions.name
        ]

    async def call_tool(
        self, caller: McpCaller, name: str, given: Mapping[str, Any], call_id: str
    ) -> types.CallToolResult:
        """Run a tool in one transaction and return its result; an error becomes a result that a model can read."""
        tool = self.tools_for(caller).get(name)
        if tool is None:
            message = f"There is no tool {name!r} for this key. `tools/list` tells which there are."
            return error_result(message, code="no_such_tool")
        try:
            # Ahead of the validation, which would wrap the error and lose its code.
            arguments = tool.arguments.model_validate(check_json(dict(given)))
            text = tool.text_to_embed(arguments)
            tool_caller = as_tool_caller(caller, self._services)
            # Before the transaction: embedding and indexing take long and must hold no connection.
            vector = None if text is None else await prepare_query(self._services, tool_caller.scope, text)
            slot = None if name in READ_TOOLS else _reply_slot(caller, name, given)
            async with self._services.db.tx(caller.org_id) as tx:
                if slot is not None and (kept := await load_reply(tx, caller.scope, slot)) is not None:
                    return _content_result(_kept_content(kept))
                ran = await run_tool(tx, tool, tool_caller, arguments, vector, call_id=call_id)
                if name not in READ_TOOLS or ran.updates:  # a read may still change the session's agent state
                    targets = (tool_caller.session_id, *(ran.reply.ids or ()), tool_caller.scope.user_id)
                    record_write(tx, tool_caller.scope, actor=caller.actor, action=f"mcp {name}", targets=targets)
                if slot is not None:
                    body = json.dumps({"content": ran.reply.content}).encode()
                    concerns = {caller.scope.user}
                    await store_reply(tx, caller.scope, slot, status=200, body=body, concerns=concerns)
        except ValidationError as error:
            return error_result(
                f"The arguments do not fit: {describe_validation_error(error)}.", code="invalid_arguments"
            )
        except MnemonError as error:
            # Over HTTP this is a 200, so only this puts the error's code on the request's log line.
            note_error(error)
            return error_result(error.detail, code=error.code)
        return _content_result(ran.reply.content)

    async def _read_context(
        self, tx: Tx, caller: Caller, query: str, vector: np.ndarray | None, budget: int | None
    ) -> dict[str, Any]:
        """Return the prompt's context for a query as the tool `get_context` shows it."""
        made = await preview_context(
            tx,
            self._services,
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


def _content_result(content: dict[str, Any]) -> types.CallToolResult:
    """Return what a tool replied, structured and repeated as text."""
    text = json.dumps(content, ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=content)


def _reply_slot(caller: McpCaller, name: str, given: Mapping[str, Any]) -> IdempotencyKey | None:
    """Return the Idempotency-Key of a tool call, with a fingerprint of tool, arguments and person; None without one.

    Not of the message's `id`: a client that repeats a call numbers it anew.
    """
    if caller.idempotency_key is None:
        return None
    whom = json.dumps([caller.user_name, caller.persona_id, caller.session_id])
    fingerprint = request_fingerprint("MCP", name, whom, json.dumps(given, sort_keys=True).encode())
    return IdempotencyKey(caller=caller.actor, key=caller.idempotency_key, fingerprint=fingerprint)


def _kept_content(kept: StoredReply) -> dict[str, Any]:
    """Return what the tool replied the first time; raise Conflict when the person was forgotten since."""
    content = json.loads(kept.body or b"{}").get("content")
    if not isinstance(content, dict):
        raise Conflict(
            "What this call replied was about a person who was forgotten. Call the tool again under a new key.",
            code="reply_forgotten",
        )
    return content


def error_result(message: str, *, code: str) -> types.CallToolResult:
    """Return a tool error in words a model can act on, with its code at the end."""
    return types.CallToolResult(content=[types.TextContent(text=f"{message} ({code})")], is_error=True)


async def _forget_memory(tx: Tx, caller: Caller, memory_id: str) -> dict[str, Any]:
    """Forget a memory for the tool `forget`; return the receipt as JSON."""
    receipt = await forget_memory(tx, caller.scope, memory_id)
    return {"id": receipt.id, "at": format_time(receipt.at), "removed": receipt.removed, "redacted": receipt.redacted}


def _input_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments without the title that pydantic adds."""
    schema = tool.arguments.model_json_schema()
    schema.pop("title", None)
    # A tool without arguments still has to describe an object.
    schema.setdefault("properties", {})
    return schema
