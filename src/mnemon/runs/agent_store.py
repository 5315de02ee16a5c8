"""Statements on agents, their chat session, its transcript and the messages of their chat."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.input_checks import storable_json
from mnemon.llm.protocol import LlmMessage, ToolRequest
from mnemon.runs.active_memory import ActiveMemory, RunsSinceReset
from mnemon.runs.agent import Agent, AgentDraft, format_config, parse_config
from mnemon.runs.run import ChatExchange, RunUsage
from mnemon.scope import Scope

SQL = load_statements("mnemon.runs")


@dataclass(frozen=True, kw_only=True)
class ChatMessage:
    """One message of an agent's chat."""

    id: str
    turn_id: str
    seq: int
    role: str
    content: str
    at: datetime


async def insert_agent(
    tx: Tx, scope: Scope, agent_id: str, draft: AgentDraft, memory: ActiveMemory, next_slot: datetime | None
) -> None:
    """Insert an agent into `agents`, and its memory into `chat_sessions`."""
    await tx.execute(
        SQL["insert_agent"],
        org_id=scope.org_id,
        agent_id=agent_id,
        now=tx.now,
        next_slot=next_slot,
        **_draft_columns(draft),
    )
    await tx.execute(
        SQL["insert_chat_session"],
        org_id=scope.org_id,
        agent_id=agent_id,
        generation=memory.generation,
        last_reset_at=memory.last_reset_at,
    )


async def update_agent(tx: Tx, scope: Scope, agent_id: str, draft: AgentDraft, next_slot: datetime | None) -> None:
    """Write the draft's fields and the agent's next scheduled time to its row in `agents`."""
    await tx.execute(
        SQL["update_agent"],
        org_id=scope.org_id,
        agent_id=agent_id,
        now=tx.now,
        next_slot=next_slot,
        **_draft_columns(draft),
    )


async def find_agent(tx: Tx, scope: Scope, agent_id: str, *, locked: bool = False) -> Agent | None:
    """Return the agent or None; `locked` keeps others from changing or waking it until the transaction ends."""
    name = "agent_locked" if locked else "agent"
    row = await tx.fetch_one_or_none(SQL[name], org_id=scope.org_id, agent_id=agent_id)
    return None if row is None else _agent_from_row(row)


async def find_next_slot(tx: Tx, scope: Scope, agent_id: str) -> datetime | None:
    """Return the scheduled time the agent waits for; None when it waits for none or does not exist."""
    row = await tx.fetch_one_or_none(SQL["agent"], org_id=scope.org_id, agent_id=agent_id)
    return None if row is None else row["next_slot"]


async def list_next_slots(tx: Tx, scope: Scope, agent_ids: Sequence[str]) -> dict[str, datetime | None]:
    """Return the scheduled time each of these agents waits for, by agent id."""
    rows = await tx.fetch_all(SQL["agents_named"], org_id=scope.org_id, agent_ids=list(agent_ids))
    return {row["agent_id"]: row["next_slot"] for row in rows}


async def next_lane_seq(tx: Tx, scope: Scope, agent_id: str) -> int:
    """Return the number that puts new work of the agent behind all it was given before, in its lane (queue)."""
    return int((await tx.fetch_one(SQL["next_in_lane"], org_id=scope.org_id, agent_id=agent_id))["asked"])


async def set_next_slot(tx: Tx, scope: Scope, agent_id: str, slot: datetime | None) -> None:
    """Store when the agent's schedule is due next; None for never."""
    await tx.execute(SQL["set_next_slot"], org_id=scope.org_id, agent_id=agent_id, next_slot=slot)


async def list_agents(tx: Tx, scope: Scope, *, after: str = "", most: int = 50) -> list[Agent]:
    """Return up to `most` of the organization's agents after an id, oldest first."""
    return [
        _agent_from_row(row) for row in await tx.fetch_all(SQL["agents"], org_id=scope.org_id, after=after, most=most)
    ]


async def list_team(tx: Tx, scope: Scope, team: Sequence[str]) -> list[Agent]:
    """Return those of these agents that exist, in the order of the ids."""
    rows = await tx.fetch_all(SQL["agents_named"], org_id=scope.org_id, agent_ids=list(team))
    found = {row["agent_id"]: _agent_from_row(row) for row in rows}
    return [found[agent_id] for agent_id in team if agent_id in found]


async def lock_agents(tx: Tx, scope: Scope, agent_ids: Sequence[str]) -> list[str]:
    """Keep these agents from being deleted until the transaction ends; return the ids of those that exist."""
    rows = await tx.fetch_all(SQL["keep_agents"], org_id=scope.org_id, agent_ids=list(agent_ids))
    return [row["agent_id"] for row in rows]


async def delete_agent(tx: Tx, scope: Scope, agent_id: str) -> bool:
    """Delete the agent with its runs and chat, and take it off every team; return False when it does not exist."""
    # Locked in the order of their ids, so that two deletions at once do not deadlock over a common lead.
    await tx.fetch_all(SQL["agent_and_leads_locked"], org_id=scope.org_id, agent_id=agent_id)
    await tx.execute(SQL["leave_teams"], org_id=scope.org_id, agent_id=agent_id)
    return await tx.execute(SQL["delete_agent"], org_id=scope.org_id, agent_id=agent_id) > 0


async def lock_memory(tx: Tx, scope: Scope, owner: Agent) -> ActiveMemory:
    """Lock the agent's row in `chat_sessions` and return its active memory."""
    row = await tx.fetch_one(SQL["chat_session_locked"], org_id=scope.org_id, agent_id=owner.id)
    return _memory_from_row(row, owner)


async def list_memories(
    tx: Tx, scope: Scope, owners: Sequence[Agent]
) -> dict[str, tuple[ActiveMemory, RunsSinceReset]]:
    """Return each agent's active memory with its number of runs since the last reset.

    An agent that was deleted since it was read has an empty memory and 0 runs.
    """
    by_id = {owner.id: owner for owner in owners}
    rows = await tx.fetch_all(SQL["chat_sessions"], org_id=scope.org_id, agent_ids=list(by_id))
    # Read without a lock, after the agents: one may have been deleted in between.
    held = {
        row["agent_id"]: (
            _memory_from_row(row, by_id[row["agent_id"]]),
            RunsSinceReset(scheduled=row["scheduled"], others=row["others"]),
        )
        for row in rows
    }
    return {
        key: held.get(key, (ActiveMemory(enabled=owner.config.memory_enabled), RunsSinceReset()))
        for key, owner in by_id.items()
    }


async def save_memory(tx: Tx, scope: Scope, agent_id: str, before: ActiveMemory, after: ActiveMemory) -> None:
    """Store the agent's memory, and delete its transcripts if `after` is a new generation (a reset)."""
    # No later run reads the transcripts of an earlier generation.
    if after.generation != before.generation:
        await tx.execute(SQL["drop_transcripts"], org_id=scope.org_id, agent_id=agent_id)
    await tx.execute(
        SQL["update_chat_session"],
        org_id=scope.org_id,
        agent_id=agent_id,
        session_id=after.session_id,
        generation=after.generation,
        last_reset_at=after.last_reset_at,
        updated_at=after.updated_at,
    )


async def load_transcript(tx: Tx, scope: Scope, agent_id: str, session_id: str | None) -> tuple[LlmMessage, ...]:
    """Return the stored messages of an agent's session; none when `session_id` is None."""
    if session_id is None:
        return ()
    rows = await tx.fetch_all(SQL["transcript"], org_id=scope.org_id, agent_id=agent_id, session_id=session_id)
    return tuple(_message_from_json(row["message"]) for row in rows)


async def extend_transcript(tx: Tx, scope: Scope, agent_id: str, session_id: str, added: Sequence[LlmMessage]) -> None:
    """Append messages to the transcript of an agent's session."""
    owner = {"org_id": scope.org_id, "agent_id": agent_id, "session_id": session_id}
    # Two writers cannot read the same length: the caller holds the agent's lock.
    length = (await tx.fetch_one(SQL["transcript_length"], **owner))["length"]
    rows = [
        {**owner, "seq": seq, "message": Jsonb(storable_json(_message_to_json(message))), "now": tx.now}
        for seq, message in enumerate(added, length + 1)
    ]
    if rows:
        await tx.execute_many(SQL["add_to_transcript"], rows)


async def insert_exchange(tx: Tx, scope: Scope, agent_id: str, turn_id: str) -> None:
    """Insert a queued chat turn with an agent into `exchanges`."""
    await tx.execute(SQL["insert_exchange"], org_id=scope.org_id, agent_id=agent_id, turn_id=turn_id, now=tx.now)


async def find_exchange(tx: Tx, scope: Scope, turn_id: str, *, locked: bool = False) -> ChatExchange | None:
    """Return the chat turn with an agent or None; `locked` locks its row until the transaction ends."""
    name = "exchange_locked" if locked else "exchange"
    row = await tx.fetch_one_or_none(SQL[name], org_id=scope.org_id, turn_id=turn_id)
    return None if row is None else _exchange_from_row(row)


async def update_exchange(tx: Tx, scope: Scope, changed: ChatExchange) -> None:
    """Write the chat turn's status, sessions, usage and error to its row in `exchanges`."""
    await tx.execute(
        SQL["update_exchange"],
        org_id=scope.org_id,
        turn_id=changed.id,
        status=changed.status,
        session_id_before=changed.session_id_before,
        session_id_after=changed.session_id_after,
        memory_generation=changed.memory_generation,
        usage=Jsonb(asdict(changed.usage)),
        finished_at=changed.finished_at,
        error=storable_json(changed.error),
    )


async def insert_message(tx: Tx, scope: Scope, agent_id: str, turn_id: str, role: str, content: str) -> str:
    """Store a message of an agent's chat and return its id."""
    message_id = tx.new_id("msg")
    await tx.execute(
        SQL["insert_message"],
        org_id=scope.org_id,
        message_id=message_id,
        agent_id=agent_id,
        turn_id=turn_id,
        role=role,
        # A model's text may contain characters that PostgreSQL refuses.
        content=storable_json(content),
        now=tx.now,
    )
    return message_id


async def list_messages(tx: Tx, scope: Scope, agent_id: str, *, after: int = 0, most: int = 50) -> list[ChatMessage]:
    """Return up to `most` messages of an agent's chat after a sequence number, oldest first."""
    rows = await tx.fetch_all(SQL["messages"], org_id=scope.org_id, agent_id=agent_id, after=after, most=most)
    return [_chat_message_from_row(row) for row in rows]


async def list_latest_messages(tx: Tx, scope: Scope, agent_id: str, *, most: int) -> list[ChatMessage]:
    """Return the last `most` messages of an agent's chat, oldest first."""
    rows = await tx.fetch_all(SQL["latest_messages"], org_id=scope.org_id, agent_id=agent_id, most=most)
    return [_chat_message_from_row(row) for row in reversed(rows)]


async def list_exchanges(tx: Tx, scope: Scope, agent_id: str, turn_ids: Sequence[str]) -> dict[str, ChatExchange]:
    """Return these chat turns of the agent, by turn id."""
    rows = await tx.fetch_all(SQL["exchanges"], org_id=scope.org_id, agent_id=agent_id, turn_ids=list(turn_ids))
    return {row["turn_id"]: _exchange_from_row(row) for row in rows}


async def find_turn_message(tx: Tx, scope: Scope, turn_id: str, role: str) -> ChatMessage | None:
    """Return the message with this role in a chat turn, or None."""
    row = await tx.fetch_one_or_none(SQL["message_of_turn"], org_id=scope.org_id, turn_id=turn_id, role=role)
    return None if row is None else _chat_message_from_row(row)


def _draft_columns(draft: AgentDraft) -> dict[str, Any]:
    """Return the agent's draft as column values of the table `agents`."""
    return {
        "name": draft.name,
        "adapter": draft.adapter,
        "skill": draft.skill,
        "default_prompt": draft.default_prompt,
        "schedule": draft.schedule,
        "role": draft.role,
        "team": list(draft.team),
        "card_type": draft.card_type,
        "config": Jsonb(format_config(draft.config)),
    }


def _agent_from_row(row: Row) -> Agent:
    """Return a row of `agents` as an Agent."""
    return from_row(Agent, row, id=row["agent_id"], config=parse_config(row["config"]))


def _memory_from_row(row: Row, owner: Agent) -> ActiveMemory:
    """Return a row of `chat_sessions` as the memory of its agent."""
    return from_row(ActiveMemory, row, enabled=owner.config.memory_enabled)


def _exchange_from_row(row: Row) -> ChatExchange:
    """Return a row of `exchanges` as a ChatExchange."""
    return from_row(ChatExchange, row, id=row["turn_id"], usage=RunUsage(**row["usage"]))


def _chat_message_from_row(row: Row) -> ChatMessage:
    """Return a row of `agent_messages` as a ChatMessage."""
    return from_row(ChatMessage, row, id=row["message_id"])


def _message_to_json(message: LlmMessage) -> dict[str, Any]:
    """Return a model's message as the JSON that a transcript stores."""
    calls = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in message.tool_requests]
    return {
        "role": message.role,
        "content": message.content,
        "toolRequests": calls,
        "toolId": message.tool_id,
        "toolName": message.tool_name,
    }


def _message_from_json(row: dict[str, Any]) -> LlmMessage:
    """Return the model's message that a transcript stores as JSON."""
    return LlmMessage(
        role=row["role"],
        content=row["content"],
        tool_requests=tuple(ToolRequest(**call) for call in row["toolRequests"]),
        tool_id=row["toolId"],
        tool_name=row["toolName"],
    )
