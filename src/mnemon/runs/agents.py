"""Making, changing and removing agents; enabling and resetting their memory."""

from collections.abc import Sequence
from datetime import datetime

from mnemon.db.tx import Tx
from mnemon.errors import Fault, Invalid, NotFound
from mnemon.jobs import store as work
from mnemon.runs import agent_store
from mnemon.runs.active_memory import ActiveMemory, Panel, panel, reset, toggled
from mnemon.runs.agent import Agent, AgentRole, Draft, team_faults
from mnemon.runs.card import RE_EXAMINATION, Cards
from mnemon.runs.schedule import check_cron, next_slot
from mnemon.scope import Scope

HEARTBEAT = "heartbeat"
REMOVAL = "agent-removal"


async def create_agent(tx: Tx, scope: Scope, draft: Draft, cards: Cards) -> Agent:
    """The agent exists; one whose memory is enabled starts fresh, one with a schedule waits for its next slot."""
    await _check(tx, scope, draft, cards, agent_id=None)
    agent_id = tx.new_id("agt")
    memory = toggled(ActiveMemory(), enabled=draft.config.memory_enabled, now=tx.now)
    slot = next_slot(draft.schedule, tx.now) if draft.schedule else None
    await agent_store.insert_agent(scope, tx, agent_id, draft, memory, slot)
    await _wait_for(tx, scope, agent_id, slot)
    return await get_agent(tx, scope, agent_id)


async def edit_agent(tx: Tx, scope: Scope, agent_id: str, draft: Draft, cards: Cards) -> Agent:
    """The agent is as the draft says; a memory that was just enabled starts fresh."""
    before = await get_agent(tx, scope, agent_id, locked=True)
    await _check(tx, scope, draft, cards, agent_id=agent_id)
    memory = await agent_store.memory_locked(scope, tx, before)
    after = toggled(memory, enabled=draft.config.memory_enabled, now=tx.now)
    slot = await agent_store.next_slot_of(scope, tx, agent_id)
    if draft.schedule != before.schedule:
        slot = next_slot(draft.schedule, tx.now) if draft.schedule else None
    await agent_store.update_agent(scope, tx, agent_id, draft, slot)
    await agent_store.save_memory(scope, tx, agent_id, memory, after)
    if draft.schedule != before.schedule:
        await _wait_for(tx, scope, agent_id, slot)
    return await get_agent(tx, scope, agent_id)


async def delete_agent(tx: Tx, scope: Scope, agent_id: str) -> None:
    """The agent, its runs and its chat are gone."""
    if not await agent_store.delete_agent(scope, tx, agent_id):
        raise NotFound("agent")
    await work.cancel(tx, scope, HEARTBEAT, agent_id)
    await work.enqueue(tx, scope, REMOVAL, agent_id)


async def get_agent(tx: Tx, scope: Scope, agent_id: str, *, locked: bool = False) -> Agent:
    """The agent. Raises NotFound."""
    found = await agent_store.agent(scope, tx, agent_id, locked=locked)
    if found is None:
        raise NotFound("agent")
    return found


async def reset_memory(tx: Tx, scope: Scope, agent_id: str) -> Agent:
    """The memory starts fresh and its counter at zero; the chat stays visible."""
    agent = await get_agent(tx, scope, agent_id, locked=True)
    memory = await agent_store.memory_locked(scope, tx, agent)
    await agent_store.save_memory(scope, tx, agent_id, memory, reset(memory, now=tx.now))
    return agent


async def panels(tx: Tx, scope: Scope, owners: Sequence[Agent]) -> dict[str, Panel]:
    """What to show of each agent's memory."""
    found = await agent_store.memories(scope, tx, owners)
    return {key: panel(memory, runs_since_reset=count, now=tx.now) for key, (memory, count) in found.items()}


def drafted(agent: Agent) -> Draft:
    """The agent as a draft, for a change to start from."""
    return Draft(
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


async def _check(tx: Tx, scope: Scope, draft: Draft, cards: Cards, agent_id: str | None) -> None:
    """Raises Invalid unless the draft makes sense in this organization."""
    if draft.schedule is not None:
        check_cron(draft.schedule)
    faults = list(team_faults(draft))
    known = sorted(set(cards) - {RE_EXAMINATION})
    if draft.card_type not in known:
        faults.append(Fault(pointer="/cardType", detail=f"Unknown card type. Known: {', '.join(known)}."))
    team = {member.id: member for member in await agent_store.team_of(scope, tx, draft.team)}
    for place, member_id in enumerate(draft.team):
        member = team.get(member_id)
        if member is None or member_id == agent_id:
            faults.append(Fault(pointer=f"/team/{place}", detail="No other agent of this organization has this id."))
        elif member.role is AgentRole.LEAD:
            faults.append(Fault(pointer=f"/team/{place}", detail="A lead cannot sit on another lead's council."))
    if faults:
        why = " ".join(dict.fromkeys(fault.detail for fault in faults))
        raise Invalid(f"The agent cannot be as described. {why}", faults=tuple(faults))


async def _wait_for(tx: Tx, scope: Scope, agent_id: str, slot: datetime | None) -> None:
    if slot is None:
        await work.cancel(tx, scope, HEARTBEAT, agent_id)
    else:
        await work.postpone(tx, scope, HEARTBEAT, agent_id, due_at=slot)
