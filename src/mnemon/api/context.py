"""`/api/context`: exactly what a chat turn would be given."""

from typing import Annotated, Any, Self

import numpy as np
from fastapi import APIRouter, Response
from pydantic import Field

from mnemon.access.grants import Grant
from mnemon.agentstate import store as agentstate
from mnemon.api.agentstate import document
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.wire import Name, Wire, Words
from mnemon.context.assemble import Context, given
from mnemon.db.tx import Tx
from mnemon.memory.recall.prepare import prepare_query
from mnemon.scope import Scope
from mnemon.sessions.record import named_session

router = APIRouter(prefix="/api/context", tags=["turns"], route_class=JsonRoute)


class ContextIn(Wire):
    """What a message would be answered with."""

    user_id: Name
    persona_id: Name | None = None
    session_id: Name | None = None
    query: Words
    budget_tokens: Annotated[int, Field(ge=200, le=200_000)] | None = None


class LayerOut(Wire):
    name: str
    title: str
    text: str
    tokens: int
    sources: list[str]


class LeftOutOut(Wire):
    layer: str
    sources: list[str]
    tokens: int
    why: str


class MessageOut(Wire):
    role: str
    content: str


class ContextOut(Wire):
    """The system prompt, how it was made, and the messages that follow it."""

    system: str
    tokens: int
    layers: list[LayerOut]
    left_out: list[LeftOutOut]
    messages: list[MessageOut]
    agent_state: dict[str, Any] | None = None

    @classmethod
    def of(cls, context: Context, agent_state: dict[str, Any] | None) -> Self:
        pack = context.pack
        return cls(
            system=pack.system,
            tokens=pack.tokens,
            layers=[
                LayerOut(name=one.name, title=one.title, text=one.text, tokens=one.tokens, sources=list(one.sources))
                for one in pack.layers
            ],
            left_out=[
                LeftOutOut(layer=one.layer, sources=list(one.sources), tokens=one.tokens, why=one.why)
                for one in pack.left_out
            ],
            messages=[MessageOut(role=one.role.value, content=one.content) for one in context.recent],
            agent_state=agent_state,
        )


@router.post("", responses=documented(ContextOut))
async def get_context(body: ContextIn, door: Annotated[Door, needs(Grant.CHAT)]) -> Response:
    """The context for this message. Nothing is written."""
    whose, ranking = door.person(body.user_id, body.persona_id), door.basement.settings.chat_ranking
    vector = await prepare_query(door.basement, whose, body.query, ranking=ranking)
    async with door.tx() as tx:
        scope, _ = await named_session(tx, whose, body.session_id)
        context = await _context(tx, door, body, scope, vector)
        held = await _agent_state(tx, door, scope, context)
    return door.reply(ContextOut.of(context, held))


async def _context(tx: Tx, door: Door, body: ContextIn, scope: Scope, vector: np.ndarray | None) -> Context:
    return await given(
        tx,
        door.basement,
        scope,
        body.query,
        vector,
        sees_agent_state=door.may(Grant.AGENT_STATE_READ),
        sees_engagement=door.may(Grant.ENGAGEMENT_READ),
        session_id=body.session_id,
        budget=body.budget_tokens,
    )


async def _agent_state(tx: Tx, door: Door, scope: Scope, context: Context) -> dict[str, Any] | None:
    """The running session's agent state, for a key that may see it."""
    if context.session_id is None or not door.may(Grant.AGENT_STATE_READ):
        return None
    return document(await agentstate.read(tx, scope, context.session_id))
