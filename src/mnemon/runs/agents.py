"""Making, changing and removing agents; enabling and resetting their memory.

The job that clears away what a deleted agent left on this machine's disk.
"""

import asyncio
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from mnemon.db.tx import Tx
from mnemon.errors import Conflict, FieldFault, Invalid, NotFound
from mnemon.jobs import store as work
from mnemon.jobs.kind import Attempt, JobKind
from mnemon.runs import agent_store
from mnemon.runs.active_memory import ActiveMemory, MemoryPanel, memory_after_reset, memory_after_toggle, memory_panel
from mnemon.runs.agent import Agent, AgentDraft, AgentRole, team_faults
from mnemon.runs.card import RE_EXAMINATION, CardTypes
from mnemon.runs.schedule import check_cron, next_slot
from mnemon.scope import Scope, is_id
from mnemon.services import Services

HEARTBEAT_KIND = "heartbeat"
REMOVAL_KIND = "agent-removal"


async def create_agent(tx: Tx, scope: Scope, draft: AgentDraft, cards: CardTypes) -> Agent:
    """The agent exists; one whose memory is enabled starts fresh, one with a schedule waits for its next slot."""
    await _check_draft(tx, scope, draft, cards, agent_id=None)
    agent_id = tx.new_id("agt")
    memory = memory_after_toggle(ActiveMemory(), enabled=draft.config.memory_enabled, now=tx.now)
    slot = next_slot(draft.schedule, tx.now) if draft.schedule else None
    await agent_store.insert_agent(tx, scope, agent_id, draft, memory, slot)
    await _schedule_heartbeat(tx, scope, agent_id, slot)
    return await get_agent(tx, scope, agent_id)


async def edit_agent(tx: Tx, scope: Scope, agent_id: str, draft: AgentDraft, cards: CardTypes) -> Agent:
    """The agent is as the draft says; a memory that was just enabled starts fresh."""
    before = await get_agent(tx, scope, agent_id, locked=True)
    await _check_draft(tx, scope, draft, cards, agent_id=agent_id)
    memory = await agent_store.lock_memory(tx, scope, before)
    after = memory_after_toggle(memory, enabled=draft.config.memory_enabled, now=tx.now)
    slot = await agent_store.find_next_slot(tx, scope, agent_id)
    if draft.schedule != before.schedule:
        slot = next_slot(draft.schedule, tx.now) if draft.schedule else None
    await agent_store.update_agent(tx, scope, agent_id, draft, slot)
    await agent_store.save_memory(tx, scope, agent_id, memory, after)
    if draft.schedule != before.schedule:
        await _schedule_heartbeat(tx, scope, agent_id, slot)
    return await get_agent(tx, scope, agent_id)


async def delete_agent(tx: Tx, scope: Scope, agent_id: str) -> None:
    """The agent, its runs and its chat are gone."""
    if not await agent_store.delete_agent(tx, scope, agent_id):
        raise NotFound("agent")
    await work.cancel_work(tx, scope, HEARTBEAT_KIND, agent_id)
    await work.enqueue_work(tx, scope, REMOVAL_KIND, agent_id)


async def get_agent(tx: Tx, scope: Scope, agent_id: str, *, locked: bool = False) -> Agent:
    """The agent. Raises NotFound."""
    found = await agent_store.find_agent(tx, scope, agent_id, locked=locked)
    if found is None:
        raise NotFound("agent")
    return found


async def reset_memory(tx: Tx, scope: Scope, agent_id: str) -> Agent:
    """The memory starts fresh and its counter at zero; the chat stays visible."""
    agent = await get_agent(tx, scope, agent_id, locked=True)
    memory = await agent_store.lock_memory(tx, scope, agent)
    await agent_store.save_memory(tx, scope, agent_id, memory, memory_after_reset(memory, now=tx.now))
    return agent


async def list_memory_panels(tx: Tx, scope: Scope, owners: Sequence[Agent]) -> dict[str, MemoryPanel]:
    """What to show of each agent's memory."""
    found = await agent_store.list_memories(tx, scope, owners)
    return {key: memory_panel(memory, runs_since_reset=count, now=tx.now) for key, (memory, count) in found.items()}


def draft_from(agent: Agent) -> AgentDraft:
    """The agent as a draft, for a change to start from."""
    return AgentDraft(
        name=agent.name,
        adapter=agent.adapter,
        skill=agent.skill,
        default_prompt=agent.default_prompt,
        schedule=agent.schedule,
        role=agent.role,
        team=agent.team,
        card_type=agent.card_type,
        config=agent.config,
    )


async def _check_draft(tx: Tx, scope: Scope, draft: AgentDraft, cards: CardTypes, agent_id: str | None) -> None:
    """Raises Invalid unless the draft makes sense in this organization."""
    if draft.schedule is not None:
        check_cron(draft.schedule)
    faults = list(team_faults(draft))
    known = sorted(set(cards) - {RE_EXAMINATION})
    if draft.card_type not in known:
        faults.append(FieldFault(pointer="/cardType", detail=f"Unknown card type. Known: {', '.join(known)}."))
    team = {member.id: member for member in await agent_store.list_team(tx, scope, draft.team)}
    for place, member_id in enumerate(draft.team):
        member = team.get(member_id)
        if member is None or member_id == agent_id:
            faults.append(
                FieldFault(pointer=f"/team/{place}", detail="No other agent of this organization has this id.")
            )
        elif member.role is AgentRole.LEAD:
            faults.append(FieldFault(pointer=f"/team/{place}", detail="A lead cannot sit on another lead's council."))
    if faults:
        why = " ".join(dict.fromkeys(fault.detail for fault in faults))
        raise Invalid(f"The agent cannot be as described. {why}", faults=tuple(faults))


async def _schedule_heartbeat(tx: Tx, scope: Scope, agent_id: str, slot: datetime | None) -> None:
    if slot is None:
        await work.cancel_work(tx, scope, HEARTBEAT_KIND, agent_id)
    else:
        await work.postpone_work(tx, scope, HEARTBEAT_KIND, agent_id, due_at=slot)


def agent_directory(data_dir: Path, org_id: str, agent_id: str) -> Path:
    """Where programs that drive the agent keep their own files."""
    return data_dir.resolve() / "agents" / org_id / agent_id


class AgentRemovalJob:
    """Clears away agents' directories."""

    def __init__(self, services: Services) -> None:
        self._db = services.db
        self._data_dir = services.settings.data_dir

    def job_kind(self) -> JobKind:
        """The kind of work that clears away."""
        return JobKind(name=REMOVAL_KIND, run=self.remove_directory)

    async def remove_directory(self, attempt: Attempt) -> None:
        """The directory is gone, and only that of an agent that is gone itself."""
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            there = await agent_store.find_agent(tx, scope, attempt.key)
        if there is not None or not is_id(attempt.key, "agt"):
            raise Conflict(f"Agent {attempt.key} exists; its files stay.")
        await asyncio.to_thread(
            shutil.rmtree, agent_directory(self._data_dir, scope.org_id, attempt.key), ignore_errors=True
        )
