"""Pages and actions of agents: list, create, edit, reset memory, run and chat.

Also here: an agent's values as form fields, and the form's fields as a draft.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.forms import check_fields
from mnemon.console.live import live_topic
from mnemon.console.page_request import PageRequest
from mnemon.console.pages import ActionRedirect, PageContent, action, page
from mnemon.db.tx import Tx
from mnemon.runs import agent_store, agents, store
from mnemon.runs.active_memory import WARN_ABOVE_RUNS, MemoryPanel
from mnemon.runs.agent import MAX_TEAM, Adapter, Agent, AgentDraft, AgentRole, format_config, parse_config
from mnemon.runs.card import RE_EXAMINATION, CardTypes, load_cards
from mnemon.runs.decisions import Decision, last_decision_by_agent
from mnemon.runs.run import FINAL_STATUSES
from mnemon.runs.run_requests import request_chat_reply, request_run
from mnemon.runs.store import RunFilter
from mnemon.scope import Scope

TOGGLES = ("memoryEnabled", "memoryReadOnly", "reviewDecisions")


def form_values(agent: Agent | None) -> dict[str, Any]:
    """Return the values of the agent form: the agent's, or the defaults of a new one with every toggle off."""
    if agent is None:
        return {
            "name": "",
            "adapter": Adapter.MODEL.value,
            "role": AgentRole.SOLO.value,
            "card_type": "decision",
            "schedule": "",
            "default_prompt": "",
            "skill": "",
            "team": (),
            "model": "",
            **dict.fromkeys(TOGGLES, False),
        }
    config = format_config(agent.config)
    return {
        "name": agent.name,
        "adapter": agent.adapter.value,
        "role": agent.role.value,
        "card_type": agent.card_type,
        "schedule": agent.schedule or "",
        "default_prompt": agent.default_prompt,
        "skill": agent.skill,
        "team": agent.team,
        "model": agent.config.model or "",
        **{name: config[name] for name in TOGGLES},
    }


def draft_from_form(form: dict[str, str], agent: Agent | None) -> AgentDraft:
    """Return the agent that the form describes; raise Invalid with all faults at once."""
    words = {name: form.get(name, "").strip() for name in ("name", "adapter", "role", "card_type", "schedule", "model")}
    check_fields(
        name="" if 1 <= len(words["name"]) <= 200 else "Give a name of at most 200 characters.",
        adapter="" if words["adapter"] in set(Adapter) else f"An adapter is one of {', '.join(Adapter)}.",
        role="" if words["role"] in set(AgentRole) else f"A role is one of {', '.join(AgentRole)}.",
    )
    config: dict[str, Any] = {name: form.get(name) == "on" for name in TOGGLES}
    config["model"] = words["model"] or None
    return AgentDraft(
        name=words["name"],
        adapter=Adapter(words["adapter"]),
        skill=form.get("skill", ""),
        default_prompt=form.get("default_prompt", ""),
        schedule=words["schedule"] or None,
        role=AgentRole(words["role"]),
        # A form sends each ticked box as a field of its own.
        team=tuple(key.removeprefix("team:") for key, value in form.items() if key.startswith("team:") and value),
        card_type=words["card_type"],
        config=parse_config(config, agent.config if agent else None),
    )


router = APIRouter()
MAX_AGENTS = 200
MAX_RUNS = 20
MAX_MESSAGES = 60
MAX_MESSAGE_CHARS = 50_000


@dataclass(frozen=True, kw_only=True)
class AgentSummary:
    """What an agent's card shows."""

    agent: Agent
    panel: MemoryPanel
    next_run: datetime | None
    last: Decision | None


@page(router, "/agents", "agents.html", grant=Grant.AGENTS_READ)
async def list_all(visit: PageRequest) -> PageContent:
    """Show the page that lists all agents, each with its memory, next run and last decision."""
    async with visit.tx() as tx:
        found = await agent_store.list_agents(tx, visit.org_scope, most=MAX_AGENTS)
        seen = await _summarize_agents(tx, visit.org_scope, found, _load_cards(visit))
    return PageContent(title="Agents", data={"agents": seen, "warn_above": WARN_ABOVE_RUNS, "now": tx.now})


@page(router, "/agents/new", "agent_edit.html", grant=Grant.AGENTS_WRITE)
async def new(visit: PageRequest) -> PageContent:
    """Show the page with the form for a new agent, and the agents that it may lead."""
    visit.require_grant(Grant.AGENTS_READ)
    return await _agent_form(visit, None)


@page(router, "/agents/{agent_id}/edit", "agent_edit.html", grant=Grant.AGENTS_WRITE)
async def edit(visit: PageRequest, agent_id: str) -> PageContent:
    """Show the page with the form for changing an agent, as it is now."""
    visit.require_grant(Grant.AGENTS_READ)
    async with visit.tx() as tx:
        agent = await agents.get_agent(tx, visit.org_scope, agent_id)
    return await _agent_form(visit, agent)


@page(router, "/agents/{agent_id}", "agent.html", grant=Grant.AGENTS_READ)
async def detail(visit: PageRequest, agent_id: str) -> PageContent:
    """Show the page of one agent: its Active Memory, its chat and its runs."""
    async with visit.tx() as tx:
        agent = await agents.get_agent(tx, visit.org_scope, agent_id)
        seen = (await _summarize_agents(tx, visit.org_scope, [agent], _load_cards(visit)))[0]
        messages = await agent_store.list_latest_messages(tx, visit.org_scope, agent_id, most=MAX_MESSAGES)
        exchanges = await agent_store.list_exchanges(tx, visit.org_scope, agent_id, [one.turn_id for one in messages])
        runs = await store.list_runs(tx, visit.org_scope, RunFilter(agent_id=agent_id), most=MAX_RUNS)
        team = await agent_store.list_team(tx, visit.org_scope, agent.team)
    data = {
        "seen": seen,
        "agent": agent,
        "panel": seen.panel,
        "warn_above": WARN_ABOVE_RUNS,
        "messages": [{"said": one, "exchange": exchanges.get(one.turn_id)} for one in messages],
        "awaits": any(one.status not in FINAL_STATUSES for one in exchanges.values()),
        "runs": [run for _, run in runs],
        "team": [{"id": one.id, "name": one.name} for one in team],
        "now": tx.now,
    }
    return PageContent(title=agent.name, data=data)


@action(router, "/agents", grant=Grant.AGENTS_WRITE, field="name")
async def create(visit: PageRequest, form: dict[str, str]) -> ActionRedirect:
    """Create an agent from the posted form and redirect to it."""
    draft = draft_from_form(form, None)
    async with visit.tx() as tx:
        made = await agents.create_agent(tx, visit.org_scope, draft, _load_cards(visit))
        visit.audit_write(tx, "create agent", made.id)
    return ActionRedirect(to=f"/agents/{made.id}", notice=f"{made.name} is created.")


@action(router, "/agents/{agent_id}/edit", grant=Grant.AGENTS_WRITE, field="name")
async def change(visit: PageRequest, form: dict[str, str], agent_id: str) -> ActionRedirect:
    """Store the posted form's values in the agent; a memory that this enables starts empty."""
    async with visit.tx() as tx:
        # Locked, so that `before` is what the edit changes: the notice depends on the difference.
        before = await agents.get_agent(tx, visit.org_scope, agent_id, locked=True)
        made = await agents.edit_agent(tx, visit.org_scope, agent_id, draft_from_form(form, before), _load_cards(visit))
        visit.audit_write(tx, "edit agent", agent_id)
    fresh = made.config.memory_enabled and not before.config.memory_enabled
    return ActionRedirect(to=f"/agents/{agent_id}", notice="Saved. Its memory starts empty." if fresh else "Saved.")


@action(router, "/agents/{agent_id}/memory/reset", grant=Grant.AGENTS_WRITE)
async def reset(visit: PageRequest, form: dict[str, str], agent_id: str) -> ActionRedirect:
    """Clear the agent's Active Memory; its chat stays visible."""
    async with visit.tx() as tx:
        agent = await agents.reset_memory(tx, visit.org_scope, agent_id)
        visit.audit_write(tx, "reset agent memory", agent_id)
    # Only this address: the field comes from the browser.
    to = "/agents" if form.get("back") == "/agents" else f"/agents/{agent_id}"
    return ActionRedirect(
        to=to, notice=f"Memory reset. {agent.name} starts its next run with an empty session; the chat stays visible."
    )


@action(router, "/agents/{agent_id}/run", grant=Grant.AGENTS_WRITE, field="prompt")
async def wake(visit: PageRequest, form: dict[str, str], agent_id: str) -> ActionRedirect:
    """Start a run of the agent: queue it with the form's prompt, or the agent's default prompt if that is empty."""
    prompt = form.get("prompt", "").strip()
    check_fields(
        prompt="" if len(prompt) <= MAX_MESSAGE_CHARS else f"A prompt has at most {MAX_MESSAGE_CHARS} characters."
    )
    async with visit.tx() as tx:
        run = await request_run(tx, visit.org_scope, agent_id, prompt or None, visit.services.llm)
        visit.audit_write(tx, "run agent", agent_id)
    return ActionRedirect(to=f"/runs/{run.id}", notice="Run queued. This page follows it.")


@action(router, "/agents/{agent_id}/chat", grant=Grant.AGENTS_WRITE, field="message")
async def talk(visit: PageRequest, form: dict[str, str], agent_id: str) -> ActionRedirect:
    """Store a chat message to the agent and queue its reply."""
    message = form.get("message", "").strip()
    sayable = 1 <= len(message) <= MAX_MESSAGE_CHARS
    check_fields(message="" if sayable else f"Write something, at most {MAX_MESSAGE_CHARS} characters.")
    async with visit.tx() as tx:
        await request_chat_reply(tx, visit.org_scope, agent_id, message)
        visit.audit_write(tx, "chat with agent", agent_id)
    return ActionRedirect(to=f"/agents/{agent_id}#chat", notice="Sent. The reply appears below.")


@live_topic("agents", grant=Grant.AGENTS_READ)
async def _agents_version(tx: Tx, scope: Scope, argument: str) -> str:
    """Return a text that changes when an agent or a run does; a new one reloads the list of agents."""
    found = await agent_store.list_agents(tx, scope, most=MAX_AGENTS)
    # A run changes what an agent's card shows without changing the agent.
    latest = await store.list_runs(tx, scope, RunFilter(), most=MAX_RUNS)
    return "|".join([*(f"{one.id}{one.updated_at}" for one in found), *(f"{run.id}{run.status}" for _, run in latest)])


@live_topic("agent", grant=Grant.AGENTS_READ)
async def _agent_version(tx: Tx, scope: Scope, argument: str) -> str:
    """Return a text that changes with the agent's chat or runs; a new one reloads its page."""
    messages = await agent_store.list_latest_messages(tx, scope, argument, most=2)
    exchanges = await agent_store.list_exchanges(tx, scope, argument, [one.turn_id for one in messages])
    runs = await store.list_runs(tx, scope, RunFilter(agent_id=argument), most=MAX_RUNS)
    steps = [f"{one.id}{exchanges[one.turn_id].status if one.turn_id in exchanges else ''}" for one in messages]
    return "|".join([*steps, *(f"{run.id}{run.status}{run.resolution_status}" for _, run in runs)])


async def _summarize_agents(tx: Tx, scope: Scope, found: Sequence[Agent], cards: CardTypes) -> list[AgentSummary]:
    """Return what each agent's card shows: memory panel, next run and last decision."""
    panels = await agents.list_memory_panels(tx, scope, found)
    slots = await agent_store.list_next_slots(tx, scope, [agent.id for agent in found])
    last = await last_decision_by_agent(tx, scope, [agent.id for agent in found], cards)
    return [
        AgentSummary(agent=agent, panel=panels[agent.id], next_run=slots.get(agent.id), last=last.get(agent.id))
        for agent in found
    ]


async def _agent_form(visit: PageRequest, agent: Agent | None) -> PageContent:
    """Return the page with the form of this agent, or of a new one."""
    async with visit.tx() as tx:
        others = await agent_store.list_agents(tx, visit.org_scope, most=MAX_AGENTS)
    candidates = [one for one in others if one.role is not AgentRole.LEAD and (agent is None or one.id != agent.id)]
    data = {
        "agent_id": agent.id if agent else None,
        "form": form_values(agent),
        "adapters": [one.value for one in Adapter],
        "roles": [one.value for one in AgentRole],
        "cards": {name: card.title for name, card in _load_cards(visit).items() if name != RE_EXAMINATION},
        "candidates": [{"id": one.id, "name": one.name} for one in candidates],
        "most_team": MAX_TEAM,
    }
    return PageContent(title=f"Edit {agent.name}" if agent else "New agent", data=data)


def _load_cards(visit: PageRequest) -> CardTypes:
    """Return the card types of the configured directory."""
    return load_cards(visit.services.settings.cards_dir)
