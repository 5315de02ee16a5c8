"""Agents: what each carries, when it wakes and what it decided last; making, changing, resetting, talking to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.agent_forms import drafted, filled
from mnemon.console.live import pulse
from mnemon.console.sheet import check
from mnemon.console.shell import Shown, Went, action, page
from mnemon.console.visit import Visit
from mnemon.db.tx import Tx
from mnemon.runs import agent_store, agents, store
from mnemon.runs.active_memory import WARN_ABOVE, Panel
from mnemon.runs.agent import MOST_TEAM, Adapter, Agent, AgentRole
from mnemon.runs.ask import ask_chat, ask_run
from mnemon.runs.card import RE_EXAMINATION, Cards, load_cards
from mnemon.runs.decision import Decision
from mnemon.runs.decisions import last_decisions
from mnemon.runs.run import OVER
from mnemon.runs.store import RunFilter
from mnemon.scope import Scope

router = APIRouter()
MOST = 200
RUNS = 20
SAID = 60
LONGEST_MESSAGE = 50_000


@dataclass(frozen=True, kw_only=True)
class Seen:
    """An agent as its card shows it."""

    agent: Agent
    panel: Panel
    next_run: datetime | None
    last: Decision | None


@page(router, "/agents", "agents.html", grant=Grant.AGENTS_READ)
async def listed(visit: Visit) -> Shown:
    """Every agent with its memory, its next run and its last decision."""
    async with visit.tx() as tx:
        found = await agent_store.agents(visit.org, tx, most=MOST)
        seen = await _seen(tx, visit.org, found)
    return Shown(title="Agents", data={"agents": seen, "warn_above": WARN_ABOVE, "now": tx.now})


@page(router, "/agents/new", "agent_edit.html", grant=Grant.AGENTS_WRITE)
async def new(visit: Visit) -> Shown:
    """The form of a new agent."""
    return await _form(visit, None)


@page(router, "/agents/{agent_id}/edit", "agent_edit.html", grant=Grant.AGENTS_WRITE)
async def edit(visit: Visit, agent_id: str) -> Shown:
    """The form of an agent that is there."""
    async with visit.tx() as tx:
        agent = await agents.get_agent(tx, visit.org, agent_id)
    return await _form(visit, agent)


@page(router, "/agents/{agent_id}", "agent.html", grant=Grant.AGENTS_READ)
async def detail(visit: Visit, agent_id: str) -> Shown:
    """One agent: its Active Memory, its chat and its runs."""
    async with visit.tx() as tx:
        agent = await agents.get_agent(tx, visit.org, agent_id)
        seen = (await _seen(tx, visit.org, [agent]))[0]
        said = await agent_store.latest_messages(visit.org, tx, agent_id, most=SAID)
        asked = await agent_store.exchanges(visit.org, tx, agent_id, [one.turn_id for one in said])
        runs = await store.runs(visit.org, tx, RunFilter(agent_id=agent_id), most=RUNS)
        team = await agent_store.team_of(visit.org, tx, agent.team)
    data = {
        "seen": seen,
        "agent": agent,
        "panel": seen.panel,
        "warn_above": WARN_ABOVE,
        "messages": [{"said": one, "exchange": asked.get(one.turn_id)} for one in said],
        "awaits": any(one.status not in OVER for one in asked.values()),
        "runs": [run for _, run in runs],
        "team": [{"id": one.id, "name": one.name} for one in team],
        "now": tx.now,
    }
    return Shown(title=agent.name, data=data)


@action(router, "/agents", grant=Grant.AGENTS_WRITE, field="name")
async def create(visit: Visit, form: dict[str, str]) -> Went:
    """The agent exists."""
    draft = drafted(form, None)
    async with visit.tx() as tx:
        made = await agents.create_agent(tx, visit.org, draft, _cards(visit))
        visit.note(tx, "create agent", made.id)
    return Went(to=f"/agents/{made.id}", notice=f"{made.name} is there.")


@action(router, "/agents/{agent_id}/edit", grant=Grant.AGENTS_WRITE, field="name")
async def change(visit: Visit, form: dict[str, str], agent_id: str) -> Went:
    """The agent is as the form says; a memory that was just enabled starts fresh."""
    async with visit.tx() as tx:
        before = await agents.get_agent(tx, visit.org, agent_id, locked=True)
        made = await agents.edit_agent(tx, visit.org, agent_id, drafted(form, before), _cards(visit))
        visit.note(tx, "edit agent", agent_id)
    fresh = made.config.memory_enabled and not before.config.memory_enabled
    return Went(to=f"/agents/{agent_id}", notice="Changed. Its memory starts fresh." if fresh else "Changed.")


@action(router, "/agents/{agent_id}/memory/reset", grant=Grant.AGENTS_WRITE)
async def reset(visit: Visit, form: dict[str, str], agent_id: str) -> Went:
    """The agent carries nothing any more; its chat stays visible."""
    async with visit.tx() as tx:
        agent = await agents.reset_memory(tx, visit.org, agent_id)
        visit.note(tx, "reset agent memory", agent_id)
    to = "/agents" if form.get("back") == "/agents" else f"/agents/{agent_id}"
    return Went(to=to, notice=f"{agent.name} starts fresh with its next run. The chat stays visible.")


@action(router, "/agents/{agent_id}/run", grant=Grant.AGENTS_WRITE, field="prompt")
async def wake(visit: Visit, form: dict[str, str], agent_id: str) -> Went:
    """A run waits for its turn, with the prompt of the form or the agent's own."""
    prompt = form.get("prompt", "").strip()
    check(prompt="" if len(prompt) <= LONGEST_MESSAGE else f"A prompt has at most {LONGEST_MESSAGE} characters.")
    async with visit.tx() as tx:
        run = await ask_run(tx, visit.org, agent_id, prompt or None)
        visit.note(tx, "run agent", agent_id)
    return Went(to=f"/runs/{run.id}", notice="Queued. It is shown here as it goes on.")


@action(router, "/agents/{agent_id}/chat", grant=Grant.AGENTS_WRITE, field="message")
async def talk(visit: Visit, form: dict[str, str], agent_id: str) -> Went:
    """The message is kept and its reply on the way."""
    message = form.get("message", "").strip()
    sayable = 1 <= len(message) <= LONGEST_MESSAGE
    check(message="" if sayable else f"Write something, at most {LONGEST_MESSAGE} characters.")
    async with visit.tx() as tx:
        await ask_chat(tx, visit.org, agent_id, message)
        visit.note(tx, "chat with agent", agent_id)
    return Went(to=f"/agents/{agent_id}#chat", notice="Sent. The reply appears below.")


@pulse("agents", grant=Grant.AGENTS_READ)
async def _agents_pulse(tx: Tx, scope: Scope, argument: str) -> str:
    found = await agent_store.agents(scope, tx, most=MOST)
    latest = await store.runs(scope, tx, RunFilter(), most=RUNS)
    return "|".join([*(f"{one.id}{one.updated_at}" for one in found), *(f"{run.id}{run.status}" for _, run in latest)])


@pulse("agent", grant=Grant.AGENTS_READ)
async def _agent_pulse(tx: Tx, scope: Scope, argument: str) -> str:
    said = await agent_store.latest_messages(scope, tx, argument, most=2)
    asked = await agent_store.exchanges(scope, tx, argument, [one.turn_id for one in said])
    runs = await store.runs(scope, tx, RunFilter(agent_id=argument), most=RUNS)
    steps = [f"{one.id}{asked[one.turn_id].status if one.turn_id in asked else ''}" for one in said]
    return "|".join([*steps, *(f"{run.id}{run.status}{run.resolution_status}" for _, run in runs)])


async def _seen(tx: Tx, scope: Scope, found: Sequence[Agent]) -> list[Seen]:
    panels = await agents.panels(tx, scope, found)
    slots = await agent_store.next_slots(scope, tx, [agent.id for agent in found])
    last = await last_decisions(tx, scope, [agent.id for agent in found])
    return [
        Seen(agent=agent, panel=panels[agent.id], next_run=slots.get(agent.id), last=last.get(agent.id))
        for agent in found
    ]


async def _form(visit: Visit, agent: Agent | None) -> Shown:
    async with visit.tx() as tx:
        others = await agent_store.agents(visit.org, tx, most=MOST)
    candidates = [one for one in others if one.role is not AgentRole.LEAD and (agent is None or one.id != agent.id)]
    data = {
        "agent_id": agent.id if agent else None,
        "form": filled(agent),
        "adapters": [one.value for one in Adapter],
        "roles": [one.value for one in AgentRole],
        "cards": {name: card.title for name, card in _cards(visit).items() if name != RE_EXAMINATION},
        "candidates": [{"id": one.id, "name": one.name} for one in candidates],
        "most_team": MOST_TEAM,
    }
    return Shown(title=f"Edit {agent.name}" if agent else "New agent", data=data)


def _cards(visit: Visit) -> Cards:
    return load_cards(visit.basement.settings.cards_dir)
