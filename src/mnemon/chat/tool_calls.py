"""Calls of Mnemon's tools by the chat model: a call's result and its changes of the agent state commit together."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from pydantic import ValidationError

from mnemon.agentstate.journal import StateUpdate
from mnemon.chat.request import StartedTurn
from mnemon.errors import MnemonError
from mnemon.input_checks import describe_validation_error
from mnemon.llm.protocol import Json, ToolRequest, ToolSpec
from mnemon.services import Services
from mnemon.sessions import turns
from mnemon.sessions.people import lock_person
from mnemon.tool import Arguments, Caller, Tool
from mnemon.tools.registry import run_tool
from mnemon.vectors.text_vectors import embed_query

ToolsByName = Mapping[str, Tool]


@dataclass(frozen=True, kw_only=True)
class ToolCallResult:
    """The result of a call."""

    content: Json
    """For the model; an `error` in it says what to do differently."""
    updates: tuple[StateUpdate, ...] = ()

    @property
    def text(self) -> str:
        """Return the tool's result as JSON text for the model."""
        return json.dumps(self.content, ensure_ascii=False)


def tool_specs(tools: ToolsByName) -> tuple[ToolSpec, ...]:
    """Return the definitions (name, description, schema) of Mnemon's tools to offer to the model."""
    return tuple(
        ToolSpec(name=tool.name, description=tool.description, schema=_arguments_schema(tool.arguments))
        for tool in tools.values()
    )


async def call_tool(
    services: Services, started: StartedTurn, tools: ToolsByName, request: ToolRequest
) -> ToolCallResult:
    """Run the tool and return its result; an error becomes a result that tells the model what to change."""
    tool = tools.get(request.name)
    if tool is None:
        offered = f"Use one of these: {', '.join(tools)}." if tools else "No tools are offered in this chat."
        return ToolCallResult(content={"error": f"There is no tool {request.name}. {offered}"})
    try:
        arguments = tool.arguments.model_validate(request.arguments)
    except ValidationError as error:
        return ToolCallResult(content={"error": f"The arguments cannot be used: {describe_validation_error(error)}."})
    text = tool.text_to_embed(arguments)
    # Before the transaction: no connection or lock is held while the embedder works.
    vector = None if text is None else await embed_query(services.embedder, text)
    turn = started.turn
    caller = Caller(
        scope=turn.scope,
        user_name=turn.user_name,
        session_id=turn.session_id,
        turn_id=turn.id,
        embedder=services.embedder.model,
    )
    try:
        async with services.db.tx(turn.scope.org_id) as tx:
            # The person's row before the turn's. The lock keeps the person from being forgotten before the commit.
            _, status = await tx.gather(lock_person(tx, turn.scope), turns.lock_turn_status(tx, turn.scope, turn.id))
            if status is None:
                return ToolCallResult(
                    content={"error": "The person was forgotten meanwhile; nothing is looked up or kept."}
                )
            ran = await run_tool(tx, tool, caller, arguments, vector, call_id=request.id)
            await turns.add_tool_results(tx, turn.scope, turn.id, (ran.outcome,), ran.reply.intents)
    except MnemonError as error:
        return ToolCallResult(content={"error": error.detail})
    return ToolCallResult(content=ran.reply.content, updates=ran.updates)


@cache
def _arguments_schema(arguments: type[Arguments]) -> Json:
    """Return the JSON schema of a tool's arguments, cached: building one takes longer than all queries of a turn."""
    return arguments.model_json_schema()
