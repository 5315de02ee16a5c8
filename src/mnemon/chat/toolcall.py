"""A tool of ours called by the chat model: its result and what it changes in the agent state commit together."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from pydantic import ValidationError

from mnemon.agentstate.journal import Update
from mnemon.basement import Basement
from mnemon.chat.asking import Begun
from mnemon.errors import MnemonError
from mnemon.faults import in_words
from mnemon.llm.protocol import Json, ToolRequest, ToolSpec
from mnemon.sessions import turns
from mnemon.sessions.people import hold_person
from mnemon.tool import Arguments, Caller, Tool
from mnemon.tools.offered import run_tool
from mnemon.vectors.embed import embed_query

Tools = Mapping[str, Tool]


@dataclass(frozen=True, kw_only=True)
class Called:
    """What came of a call."""

    content: Json
    """For the model; an `error` in it says what to do differently."""
    updates: tuple[Update, ...] = ()

    @property
    def text(self) -> str:
        return json.dumps(self.content, ensure_ascii=False)


def specs(tools: Tools) -> tuple[ToolSpec, ...]:
    """The tools as the model is offered them."""
    return tuple(
        ToolSpec(name=tool.name, description=tool.description, schema=_schema(tool.arguments))
        for tool in tools.values()
    )


async def call(basement: Basement, begun: Begun, tools: Tools, request: ToolRequest) -> Called:
    """The tool has run, or the model is told why it could not."""
    tool = tools.get(request.name)
    if tool is None:
        offered = f"Use one of these: {', '.join(tools)}." if tools else "No tools are offered in this chat."
        return Called(content={"error": f"There is no tool {request.name}. {offered}"})
    try:
        arguments = tool.arguments.model_validate(request.arguments)
    except ValidationError as error:
        return Called(content={"error": f"The arguments cannot be used: {in_words(error)}."})
    text = tool.text_to_embed(arguments)
    vector = None if text is None else await embed_query(basement.embedder, text)
    turn = begun.turn
    caller = Caller(
        scope=turn.scope,
        user_name=turn.user_name,
        session_id=turn.session_id,
        turn_id=turn.id,
        embedder=basement.embedder.model,
    )
    try:
        async with basement.db.tx(turn.scope.org_id) as tx:
            # The person's row before the turn's; nobody forgets the person between this look and the commit.
            _, status = await tx.together(hold_person(tx, turn.scope), turns.locked_status(tx, turn.scope, turn.id))
            if status is None:
                return Called(content={"error": "The person was forgotten meanwhile; nothing is looked up or kept."})
            ran = await run_tool(tx, tool, caller, arguments, vector, call_id=request.id)
            await turns.add_tool_results(tx, turn.scope, turn.id, (ran.outcome,), ran.reply.intents)
    except MnemonError as error:
        return Called(content={"error": error.detail})
    return Called(content=ran.reply.content, updates=ran.updates)


@cache
def _schema(arguments: type[Arguments]) -> Json:
    """Made once: writing out a schema takes longer than all of the turn's queries."""
    return arguments.model_json_schema()
