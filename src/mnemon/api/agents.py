"""`/api/agents`: who they are, what they carry, talking to them and sending them to work."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Response
from starlette.responses import StreamingResponse

from mnemon.access import replies
from mnemon.access.grants import Grant
from mnemon.api.agent_shapes import (
    AgentChatIn,
    AgentIn,
    AgentOut,
    AgentPatch,
    AgentReplyOut,
    ChatMessageOut,
    MemoryOut,
    RunIn,
)
from mnemon.api.chat_events import HEADERS
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.run_lines import EVENT_STREAM, chat_end, chat_lines
from mnemon.api.run_shapes import DecisionOut, RunOut
from mnemon.api.runs import cards_of, page_of_runs, place_of, rendered
from mnemon.api.wire import Envelope, position_of
from mnemon.db.tx import Tx
from mnemon.errors import Conflict
from mnemon.runs import agent_store, agents
from mnemon.runs.agent import Agent
from mnemon.runs.ask import ask_chat, ask_run
from mnemon.runs.decisions import decisions_for
from mnemon.runs.store import RunFilter
from mnemon.runs.watching import watch_chat

router = APIRouter(prefix="/api/agents", tags=["agents"], route_class=JsonRoute)
Reading = Annotated[Door, needs(Grant.AGENTS_READ)]
Writing = Annotated[Door, needs(Grant.AGENTS_WRITE)]
Limit = Annotated[int, Query(ge=1, le=200)]


@router.post("", status_code=201, responses=documented(AgentOut, status=201))
async def create_agent(body: AgentIn, door: Writing) -> Response:
    """The agent exists."""
    draft = body.draft()

    async def effect(tx: Tx) -> AgentOut:
        return await _shown(door, tx, await agents.create_agent(tx, door.org, draft, cards_of(door)))

    return await door.write(effect, status=201)


@router.get("", responses=documented(AgentOut, page=True))
async def list_agents(door: Reading, limit: Limit = 50, cursor: str | None = None) -> Response:
    """Agents, oldest first."""
    async with door.tx() as tx:
        found = await agent_store.agents(door.org, tx, after=position_of(cursor) or "", most=limit + 1)
        panels = await agents.panels(tx, door.org, found)
    shown = [AgentOut.of(agent, panels[agent.id], tx.now) for agent in found]
    return door.page(shown, limit=limit, position=lambda agent: agent.id)


@router.get("/{agent_id}", responses=documented(AgentOut))
async def read_agent(agent_id: str, door: Reading) -> Response:
    """The agent."""
    async with door.tx() as tx:
        shown = await _shown(door, tx, await agents.get_agent(tx, door.org, agent_id))
    return door.reply(shown)


@router.patch("/{agent_id}", responses=documented(AgentOut))
async def edit_agent(agent_id: str, body: AgentPatch, door: Writing) -> Response:
    """The agent is changed; enabling its memory is a fresh start."""

    async def effect(tx: Tx) -> AgentOut:
        draft = body.applied(await agents.get_agent(tx, door.org, agent_id, locked=True))
        return await _shown(door, tx, await agents.edit_agent(tx, door.org, agent_id, draft, cards_of(door)))

    return await door.write(effect)


@router.delete("/{agent_id}", responses=documented(dict))
async def delete_agent(agent_id: str, door: Writing) -> Response:
    """The agent is gone, with its runs and its chat."""

    async def effect(tx: Tx) -> dict[str, object]:
        await agents.delete_agent(tx, door.org, agent_id)
        return {"id": agent_id, "deleted": True}

    return await door.write(effect)


@router.get("/{agent_id}/memory", responses=documented(MemoryOut))
async def read_memory(agent_id: str, door: Reading) -> Response:
    """What the agent carries."""
    async with door.tx() as tx:
        shown = await _shown(door, tx, await agents.get_agent(tx, door.org, agent_id))
    return door.reply(shown.memory)


@router.post("/{agent_id}/memory/reset", responses=documented(MemoryOut))
async def reset_memory(agent_id: str, door: Writing) -> Response:
    """The agent carries nothing any more; its chat stays visible."""

    async def effect(tx: Tx) -> MemoryOut:
        return (await _shown(door, tx, await agents.reset_memory(tx, door.org, agent_id))).memory

    return await door.write(effect)


@router.get("/{agent_id}/messages", responses=documented(ChatMessageOut, page=True))
async def list_messages(agent_id: str, door: Reading, limit: Limit = 50, cursor: str | None = None) -> Response:
    """What was said in the agent's chat, oldest first."""
    after = place_of(position_of(cursor))
    async with door.tx() as tx:
        await agents.get_agent(tx, door.org, agent_id)
        found = await agent_store.messages(door.org, tx, agent_id, after=after, most=limit + 1)
    places = {message.id: str(message.seq) for message in found}
    shown = [ChatMessageOut.of(message) for message in found]
    return door.page(shown, limit=limit, position=lambda message: places[message.id])


@router.post(
    "/{agent_id}/chat",
    response_model=None,
    responses={**documented(AgentReplyOut, content=EVENT_STREAM), 202: {"model": Envelope[AgentReplyOut]}},
)
async def chat(agent_id: str, body: AgentChatIn, door: Writing) -> Response:
    """The agent's reply: Server-Sent Events, or one JSON with `stream: false`."""
    turn_id, session_id = await _asked(door, agent_id, body.message)
    if body.stream:
        return StreamingResponse(
            _chat_lines(door, turn_id, session_id), media_type="text/event-stream", headers=HEADERS
        )
    async for _ in watch_chat(door.basement.db, door.org, turn_id, until=door.request.app.state.closing):
        pass
    reply = await _whole(door, turn_id)
    return door.reply(reply, status=202 if reply.reply is None else 200)


@router.post("/{agent_id}/runs", status_code=202, responses=documented(RunOut, status=202))
async def start_run(agent_id: str, door: Writing, body: RunIn | None = None) -> Response:
    """A run is queued."""
    prompt = body.prompt if body else None
    return await door.write(lambda tx: ask_run(tx, door.org, agent_id, prompt), rendered(door), status=202)


@router.get("/{agent_id}/runs", responses=documented(RunOut, page=True))
async def list_agent_runs(agent_id: str, door: Reading, limit: Limit = 50, cursor: str | None = None) -> Response:
    """The agent's runs, newest first."""
    async with door.tx() as tx:
        await agents.get_agent(tx, door.org, agent_id)
    return await page_of_runs(door, RunFilter(agent_id=agent_id), limit, cursor)


@router.get("/{agent_id}/decisions", responses=documented(DecisionOut, page=True))
async def list_decisions(agent_id: str, door: Reading, limit: Annotated[int, Query(ge=1, le=100)] = 5) -> Response:
    """The agent's last decisions, newest first."""
    async with door.tx() as tx:
        await agents.get_agent(tx, door.org, agent_id)
        found = await decisions_for(tx, door.org, agent_id, limit=limit)
    return door.page([DecisionOut.of(one) for one in found], limit=limit, position=lambda one: one.run_id)


async def _shown(door: Door, tx: Tx, agent: Agent) -> AgentOut:
    panels = await agents.panels(tx, door.org, [agent])
    return AgentOut.of(agent, panels[agent.id], tx.now)


async def _asked(door: Door, agent_id: str, message: str) -> tuple[str, str | None]:
    """The turn to follow and the session it carries on; a retry with the same Idempotency-Key follows the first."""
    slot = await door.slot()
    async with door.tx() as tx:
        kept = await replies.earlier(tx, door.org, slot) if slot else None
        turn_id = kept.subject if kept else None
        if turn_id is None:
            turn_id = await ask_chat(tx, door.org, agent_id, message)
            if slot:
                await replies.keep(tx, door.org, slot, subject=turn_id)
            door.audit(tx, turn_id)
        agent = await agents.get_agent(tx, door.org, agent_id)
        memory, _ = (await agent_store.memories(door.org, tx, [agent]))[agent.id]
    return turn_id, memory.session_id if memory.enabled else None


async def _chat_lines(door: Door, turn_id: str, session_id: str | None) -> AsyncIterator[str]:
    """The turn's events while the key is good; the reply is made and kept in any case."""
    async with door.while_key_is_good() as over:
        async for text in chat_lines(door.basement.db, door.org, turn_id, session_id, over):
            yield text


async def _whole(door: Door, turn_id: str) -> AgentReplyOut:
    """The turn as one JSON, without a reply while no worker has taken it up. Raises Conflict when it failed.

    A failed turn is final and its message kept, so the same request again would not help: no 503, which invites one.
    """
    ended = await chat_end(door.basement.db, door.org, turn_id)
    if ended.get("code") == "chat_waiting":
        return AgentReplyOut(turn_id=turn_id)
    if "code" in ended:
        raise Conflict(ended["detail"], code=ended["code"])
    async with door.tx() as tx:
        reply = await agent_store.message_of_turn(door.org, tx, turn_id, "assistant")
    return AgentReplyOut(**ended, reply=reply.content if reply else None)
