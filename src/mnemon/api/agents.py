"""`/api/agents`: agents, the memory they carry between runs, their chat and their runs."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Response
from starlette.responses import StreamingResponse

from mnemon.access import idempotency
from mnemon.access.grants import Grant
from mnemon.api.agent_shapes import (
    AgentChatIn,
    AgentIn,
    AgentMemoryOut,
    AgentOut,
    AgentPatch,
    AgentReplyOut,
    ChatMessageOut,
    RunIn,
)
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.models import Envelope, decode_cursor
from mnemon.api.run_shapes import DecisionOut, RunOut
from mnemon.api.runs import cards_of, page_of_runs, parse_seq, run_renderer
from mnemon.api.sse import EVENT_STREAM, SSE_HEADERS, chat_outcome, stream_chat_turn
from mnemon.db.tx import Tx
from mnemon.errors import Conflict
from mnemon.runs import agent_store, agents
from mnemon.runs.agent import Agent
from mnemon.runs.decisions import list_agent_decisions
from mnemon.runs.run_events import watch_chat
from mnemon.runs.run_requests import request_chat_reply, request_run
from mnemon.runs.store import RunFilter

router = APIRouter(prefix="/api/agents", tags=["agents"], route_class=JsonRoute)
ReadDoor = Annotated[Door, needs(Grant.AGENTS_READ)]
WriteDoor = Annotated[Door, needs(Grant.AGENTS_WRITE)]
Limit = Annotated[int, Query(ge=1, le=200)]


@router.post("", status_code=201, responses=write_responses(AgentOut, status=201))
async def create_agent(body: AgentIn, door: WriteDoor) -> Response:
    """Create an agent."""
    draft = body.as_draft()

    async def store_agent(tx: Tx) -> AgentOut:
        """Insert the agent and return it as its response."""
        return await _agent_out(door, tx, await agents.create_agent(tx, door.org, draft, cards_of(door)))

    return await door.write(store_agent, status=201)


@router.get("", responses=responses_for(AgentOut, page=True))
async def list_agents(door: ReadDoor, limit: Limit = 50, cursor: str | None = None) -> Response:
    """List agents, oldest first."""
    async with door.tx() as tx:
        found = await agent_store.list_agents(tx, door.org, after=decode_cursor(cursor) or "", most=limit + 1)
        panels = await agents.list_memory_panels(tx, door.org, found)
    shown = [AgentOut.from_agent(agent, panels[agent.id], tx.now) for agent in found]
    return door.page(shown, limit=limit, position=lambda agent: agent.id)


@router.get("/{agent_id}", responses=responses_for(AgentOut))
async def read_agent(agent_id: str, door: ReadDoor) -> Response:
    """Return an agent."""
    async with door.tx() as tx:
        shown = await _agent_out(door, tx, await agents.get_agent(tx, door.org, agent_id))
    return door.reply(shown)


@router.patch("/{agent_id}", responses=write_responses(AgentOut))
async def edit_agent(agent_id: str, body: AgentPatch, door: WriteDoor) -> Response:
    """Change an agent; fields that are left out stay. Enabling its memory starts with an empty one."""

    async def store_changes(tx: Tx) -> AgentOut:
        """Merge the patch into the stored agent, which is locked, and return it as its response."""
        # Locked, because the patch is merged with what is stored: two of them must not overlap.
        draft = body.apply_to(await agents.get_agent(tx, door.org, agent_id, locked=True))
        return await _agent_out(door, tx, await agents.edit_agent(tx, door.org, agent_id, draft, cards_of(door)))

    return await door.write(store_changes)


@router.delete("/{agent_id}", responses=write_responses(dict))
async def delete_agent(agent_id: str, door: WriteDoor) -> Response:
    """Delete an agent with its runs and its chat."""

    async def remove_agent(tx: Tx) -> dict[str, object]:
        """Delete the agent with its runs and its chat; return the confirmation."""
        await agents.delete_agent(tx, door.org, agent_id)
        return {"id": agent_id, "deleted": True}

    return await door.write(remove_agent)


@router.get("/{agent_id}/memory", responses=responses_for(AgentMemoryOut))
async def read_memory(agent_id: str, door: ReadDoor) -> Response:
    """Return the state of the memory that the agent carries between runs."""
    async with door.tx() as tx:
        shown = await _agent_out(door, tx, await agents.get_agent(tx, door.org, agent_id))
    return door.reply(shown.memory)


@router.post("/{agent_id}/memory/reset", responses=write_responses(AgentMemoryOut))
async def reset_memory(agent_id: str, door: WriteDoor) -> Response:
    """Clear the memory that the agent carries between runs; its chat stays visible."""

    async def clear_memory(tx: Tx) -> AgentMemoryOut:
        """Empty the agent's Active Memory and return its new panel."""
        return (await _agent_out(door, tx, await agents.reset_memory(tx, door.org, agent_id))).memory

    return await door.write(clear_memory)


@router.get("/{agent_id}/messages", responses=responses_for(ChatMessageOut, page=True))
async def list_messages(agent_id: str, door: ReadDoor, limit: Limit = 50, cursor: str | None = None) -> Response:
    """List the messages of the agent's chat, oldest first."""
    after = parse_seq(decode_cursor(cursor))
    async with door.tx() as tx:
        await agents.get_agent(tx, door.org, agent_id)
        found = await agent_store.list_messages(tx, door.org, agent_id, after=after, most=limit + 1)
    # A cursor carries the sequence number, which the response does not show.
    places = {message.id: str(message.seq) for message in found}
    shown = [ChatMessageOut.from_message(message) for message in found]
    return door.page(shown, limit=limit, position=lambda message: places[message.id])


@router.post(
    "/{agent_id}/chat",
    response_model=None,
    responses={**write_responses(AgentReplyOut, content=EVENT_STREAM), 202: {"model": Envelope[AgentReplyOut]}},
)
async def chat(agent_id: str, body: AgentChatIn, door: WriteDoor) -> Response:
    """Send the agent a message; return its reply as Server-Sent Events, or as one JSON object with `stream: false`.

    The answer is 202 without a reply while no worker has taken the message up.
    """
    turn_id, session_id = await _queue_chat_turn(door, agent_id, body.message)
    if body.stream:
        return StreamingResponse(
            _stream_chat(door, turn_id, session_id), media_type="text/event-stream", headers=SSE_HEADERS
        )
    # Wait for the end of the turn; its result is read from the database afterwards.
    async for _ in watch_chat(door.services.db, door.org, turn_id, until=door.request.app.state.closing):
        pass
    reply = await _complete_reply(door, turn_id)
    return door.reply(reply, status=202 if reply.reply is None else 200)


@router.post("/{agent_id}/runs", status_code=202, responses=write_responses(RunOut, status=202))
async def start_run(agent_id: str, door: WriteDoor, body: RunIn | None = None) -> Response:
    """Queue a run of the agent; 409 `model_required` where no language model is set that could decide."""
    prompt, llm = body.prompt if body else None, door.services.llm
    return await door.write(lambda tx: request_run(tx, door.org, agent_id, prompt, llm), run_renderer(door), status=202)


@router.get("/{agent_id}/runs", responses=responses_for(RunOut, page=True))
async def list_agent_runs(agent_id: str, door: ReadDoor, limit: Limit = 50, cursor: str | None = None) -> Response:
    """List the agent's runs, newest first."""
    async with door.tx() as tx:
        await agents.get_agent(tx, door.org, agent_id)
    return await page_of_runs(door, RunFilter(agent_id=agent_id), limit, cursor)


@router.get("/{agent_id}/decisions", responses=responses_for(DecisionOut, page=True))
async def list_decisions(agent_id: str, door: ReadDoor, limit: Annotated[int, Query(ge=1, le=100)] = 5) -> Response:
    """List the agent's latest decisions, newest first."""
    async with door.tx() as tx:
        await agents.get_agent(tx, door.org, agent_id)
        found = await list_agent_decisions(tx, door.org, agent_id, cards_of(door), limit=limit)
    return door.page([DecisionOut.from_decision(one) for one in found], limit=limit, position=lambda one: one.run_id)


async def _agent_out(door: Door, tx: Tx, agent: Agent) -> AgentOut:
    """Return the agent's response, with the panel of its memory read in this transaction."""
    panels = await agents.list_memory_panels(tx, door.org, [agent])
    return AgentOut.from_agent(agent, panels[agent.id], tx.now)


async def _queue_chat_turn(door: Door, agent_id: str, message: str) -> tuple[str, str | None]:
    """Queue a message to the agent; return its chat turn's id and the id of the session it continues, if any.

    A retry with the same Idempotency-Key gets the first request's turn.
    """
    key = await door.idempotency_key()
    async with door.tx() as tx:
        # Only the turn's id is kept: the reply is made by a worker, after this transaction.
        kept = await idempotency.load_reply(tx, door.org, key) if key else None
        turn_id = kept.subject if kept else None
        if turn_id is None:
            turn_id = await request_chat_reply(tx, door.org, agent_id, message)
            if key:
                await idempotency.store_reply(tx, door.org, key, subject=turn_id)
            door.audit_write(tx, turn_id)
        agent = await agents.get_agent(tx, door.org, agent_id)
        memory, _ = (await agent_store.list_memories(tx, door.org, [agent]))[agent.id]
    return turn_id, memory.session_id if memory.enabled else None


async def _stream_chat(door: Door, turn_id: str, session_id: str | None) -> AsyncIterator[str]:
    """Yield the chat turn's events as Server-Sent Events while the key is valid; the reply is stored in any case."""
    async with door.until_key_ends() as over:
        async for text in stream_chat_turn(door.services.db, door.org, turn_id, session_id, over):
            yield text


async def _complete_reply(door: Door, turn_id: str) -> AgentReplyOut:
    """Return the reply of an agent's chat turn, without text while no worker took it; raise Conflict if it failed.

    A failed turn is final and its message kept, so repeating the request would not help: no 503, which invites a retry.
    """
    ended = await chat_outcome(door.services.db, door.org, turn_id)
    if ended.get("code") == "chat_waiting":
        return AgentReplyOut(turn_id=turn_id)
    if "code" in ended:
        raise Conflict(ended["detail"], code=ended["code"])
    async with door.tx() as tx:
        reply = await agent_store.find_turn_message(tx, door.org, turn_id, "assistant")
    return AgentReplyOut(**ended, reply=reply.content if reply else None)
