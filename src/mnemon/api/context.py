"""`/api/context`: the context that a chat turn would be given, as a preview."""

from typing import Annotated, Any, Self

import numpy as np
from fastapi import APIRouter, Response
from pydantic import Field

from mnemon.access.grants import Grant
from mnemon.agentstate import store as agentstate
from mnemon.api.agentstate import state_document
from mnemon.api.door import Door, JsonRoute, needs, responses_for
from mnemon.api.models import ApiModel, Name, NonEmptyText
from mnemon.context.assemble import AssembledContext, preview_context
from mnemon.db.tx import Tx
from mnemon.memory.recall.search import prepare_query
from mnemon.scope import Scope
from mnemon.sessions.record import find_named_session

router = APIRouter(prefix="/api/context", tags=["turns"], route_class=JsonRoute)


class ContextIn(ApiModel):
    """A message whose context is wanted."""

    user_id: Name
    persona_id: Name | None = None
    session_id: Name | None = None
    query: NonEmptyText
    budget_tokens: Annotated[int, Field(ge=200, le=200_000)] | None = None


class LayerOut(ApiModel):
    """One layer of the system prompt with the ids of what it was made from."""

    name: str
    title: str
    text: str
    tokens: int
    sources: list[str]


class LeftOutOut(ApiModel):
    """Something that was left out of the prompt, and why."""

    layer: str
    sources: list[str]
    tokens: int
    why: str


class ContextMessageOut(ApiModel):
    """A recent message that follows the system prompt."""

    role: str
    content: str


class ContextOut(ApiModel):
    """The system prompt, how it was composed, and the messages that follow it."""

    system: str
    tokens: int
    layers: list[LayerOut]
    left_out: list[LeftOutOut]
    messages: list[ContextMessageOut]
    agent_state: dict[str, Any] | None = None

    @classmethod
    def from_context(cls, context: AssembledContext, agent_state: dict[str, Any] | None) -> Self:
        """Return the response for an assembled context: prompt, layers, what was left out, messages."""
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
            messages=[ContextMessageOut(role=one.role.value, content=one.content) for one in context.recent],
            agent_state=agent_state,
        )


@router.post("", responses=responses_for(ContextOut, also=(404,)))
async def get_context(body: ContextIn, door: Annotated[Door, needs(Grant.CHAT)]) -> Response:
    """Return the context that a chat turn with this message would get. Nothing is stored."""
    person, ranking = door.person_scope(body.user_id, body.persona_id), door.services.settings.chat_ranking
    # Before the transaction: no connection is held while the embedder works.
    vector = await prepare_query(door.services, person, body.query, ranking=ranking)
    async with door.tx() as tx:
        scope, _ = await find_named_session(tx, person, body.session_id)
        context = await _read_context(tx, door, body, scope, vector)
        held = await _read_agent_state(tx, door, scope, context)
    return door.reply(ContextOut.from_context(context, held))


async def _read_context(
    tx: Tx, door: Door, body: ContextIn, scope: Scope, vector: np.ndarray | None
) -> AssembledContext:
    """Return the context a chat turn with this message would get, limited to what the key may see."""
    return await preview_context(
        tx,
        door.services,
        scope,
        body.query,
        vector,
        sees_agent_state=door.has_grant(Grant.AGENT_STATE_READ),
        sees_engagement=door.has_grant(Grant.ENGAGEMENT_READ),
        session_id=body.session_id,
        budget=body.budget_tokens,
    )


async def _read_agent_state(tx: Tx, door: Door, scope: Scope, context: AssembledContext) -> dict[str, Any] | None:
    """Return the agent state that L7 is made of; None without one or for a key that may not see it."""
    if context.state_of is None or not door.has_grant(Grant.AGENT_STATE_READ):
        return None
    return state_document(await agentstate.load_state(tx, scope, context.state_of))
