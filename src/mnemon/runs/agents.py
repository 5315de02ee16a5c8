"""Create, change and delete agents, and enable and reset their memory.

Deleting an agent enqueues a job that deletes its files from this machine's disk.
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
    """Store a new agent and return it, with an empty memory and its first run scheduled where the draft asks for them.

    Raises Invalid when the draft cannot be used.
    """
    await _check_draft(tx, scope, draft, cards, agent_id=None)
    agent_id = tx.new_id("agt")
    memory = memory_after_toggle(ActiveMemory(), enabled=draft.config.memory_enabled, now=tx.now)
    slot = next_slot(draft.schedule, tx.now) if draft.schedule else None
    await agent_store.insert_agent(tx, scope, agent_id, draft, memory, slot)
    await _schedule_heartbeat(tx, scope, agent_id, slot)
    return await get_agent(tx, scope, agent_id)


async def edit_agent(tx: Tx, scope: Scope, agent_id: str, draft: AgentDraft, cards: CardTypes) -> Agent:
    """Replace the agent's settings and return it; memory that this enables starts empty, a changed schedule anew."""
    before = await get_agent(tx, scope, agent_id, locked=True)
    await _check_draft(tx, scope, draft, cards, agent_id=agent_id)
    # After the agent's row, which is locked above: the order in which all lock the two.
    memory = await agent_store.lock_memory(tx, scope, before)
    after = memory_after_toggle(memory, enabled=draft.config.memory_enabled, now=tx.now)
    # An unchanged schedule keeps its slot, so that an edit does not lose one that is due already.
    slot = await agent_store.find_next_slot(tx, scope, agent_id)
    if draft.schedule != before.schedule:
        slot = next_slot(draft.schedule, tx.now) if draft.schedule else None
    await agent_store.update_agent(tx, scope, agent_id, draft, slot)
    await agent_store.save_memory(tx, scope, agent_id, memory, after)
    if draft.schedule != before.schedule:
        await _schedule_heartbeat(tx, scope, agent_id, slot)
    return await get_agent(tx, scope, agent_id)


async def delete_agent(tx: Tx, scope: Scope, agent_id: str) -> None:
    """Delete the agent with its runs and chat, and enqueue the deletion of its files; raise NotFound without it."""
    if not await agent_store.delete_agent(tx, scope, agent_id):
        raise NotFound("agent")
    await work.cancel_work(tx, scope, HEARTBEAT_KIND, agent_id)
    # By a job, so that the files are deleted only if this transaction commits.
    await work.enqueue_work(tx, scope, REMOVAL_KIND, agent_id)


async def get_agent(tx: Tx, scope: Scope, agent_id: str, *, locked: bool = False) -> Agent:
    """Return the agent of this id; `locked` locks its row; raise NotFound without one."""
    found = await agent_store.find_agent(tx, scope, agent_id, locked=locked)
    if found is None:
        raise NotFound("agent")
    return found


async def reset_memory(tx: Tx, scope: Scope, agent_id: str) -> Agent:
    """Clear the agent's memory, count its runs from zero, and return the agent; the chat's messages stay."""
    agent = await get_agent(tx, scope, agent_id, locked=True)
    memory = await agent_store.lock_memory(tx, scope, agent)
    await agent_store.save_memory(tx, scope, agent_id, memory, memory_after_reset(memory, now=tx.now))
    return agent


async def list_memory_panels(tx: Tx, scope: Scope, owners: Sequence[Agent]) -> dict[str, MemoryPanel]:
    """Return what to show of each agent's active memory, by agent id."""
    found = await agent_store.list_memories(tx, scope, owners)
    return {key: memory_panel(memory, runs=runs, now=tx.now) for key, (memory, runs) in found.items()}


def draft_from(agent: Agent) -> AgentDraft:
    """Return the agent's current settings as a draft, to be changed and stored with `edit_agent`."""
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
    """Raise Invalid unless an agent's draft is consistent and the agents and card type it names exist."""
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
        raise Invalid(f"The agent's settings are not valid. {why}", faults=tuple(faults))


async def _schedule_heartbeat(tx: Tx, scope: Scope, agent_id: str, slot: datetime | None) -> None:
    """Set when the agent's next scheduled run (its heartbeat) is due; None cancels it."""
    if slot is None:
        await work.cancel_work(tx, scope, HEARTBEAT_KIND, agent_id)
    else:
        await work.postpone_work(tx, scope, HEARTBEAT_KIND, agent_id, due_at=slot)


def agent_directory(data_dir: Path, org_id: str, agent_id: str) -> Path:
    """Return the directory in which programs that run the agent keep their files."""
    return data_dir.resolve() / "agents" / org_id / agent_id


class AgentRemovalJob:
    """The job that deletes the directories of deleted agents."""

    def __init__(self, services: Services) -> None:
        """Make the job that deletes agents' files below the data directory."""
        self._db = services.db
        self._data_dir = services.settings.data_dir

    def job_kind(self) -> JobKind:
        """Return the job kind that deletes a deleted agent's directory."""
        return JobKind(name=REMOVAL_KIND, run=self.remove_directory)

    async def remove_directory(self, attempt: Attempt) -> None:
        """Delete the files of a deleted agent; raise Conflict when it exists or the key is no agent id."""
        scope = attempt.scope
        async with self._db.tx(scope.org_id) as tx:
            agent = await agent_store.find_agent(tx, scope, attempt.key)
        # The key becomes part of a path that is deleted: only an agent's id may get that far.
        if agent is not None or not is_id(attempt.key, "agt"):
            raise Conflict(f"Agent {attempt.key} exists; its files stay.")
        await asyncio.to_thread(
            shutil.rmtree, agent_directory(self._data_dir, scope.org_id, attempt.key), ignore_errors=True
        )
