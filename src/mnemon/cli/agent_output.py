"""How agents, card types and decisions look in a terminal, and their JSON, spelt as the API spells it."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mnemon.cli.safe_text import safe_markup
from mnemon.clock import format_time
from mnemon.db.tx import Tx
from mnemon.errors import Invalid, NotFound
from mnemon.runs import agent_store
from mnemon.runs.active_memory import MemoryPanel
from mnemon.runs.agent import Agent, format_config
from mnemon.runs.card import CardDefinition
from mnemon.runs.decisions import Decision
from mnemon.scope import Scope


async def find_agent(tx: Tx, scope: Scope, who: str) -> Agent:
    """Return the agent with this id, else the only one with this name.

    Raises NotFound when there is none, Invalid when several have the name.
    """
    found = await agent_store.find_agent(tx, scope, who)
    if found is not None:
        return found
    alike = [agent for agent in await agent_store.list_agents(tx, scope, most=1000) if agent.name == who]
    if not alike:
        raise NotFound("agent")
    if len(alike) > 1:
        ids = ", ".join(agent.id for agent in alike)
        raise Invalid(f"{len(alike)} agents are called {who}. Name one by its id: {ids}.")
    return alike[0]


def agents_table(found: Sequence[tuple[Agent, MemoryPanel]]) -> Table:
    """Return two lines per agent: name, role, adapter, card and schedule; below them its memory and its id."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, max_width=24, overflow="ellipsis", style="bold")
    table.add_column(overflow="fold")
    for agent, panel in found:
        role = f"{agent.role} of {len(agent.team)}" if agent.team else agent.role.value
        summary = Text(" · ".join((role, agent.adapter, agent.card_type, agent.schedule or "when asked")))
        below = (
            Text("memory ", style="dim").append_text(memory_status_text(panel)).append(f" · {agent.id}", style="dim")
        )
        table.add_row(Text(agent.name), summary.append("\n").append_text(below))
    return table


def memory_status_text(panel: MemoryPanel) -> Text:
    """Return the memory's state in a few words, yellow and with advice to reset where the session grew too long."""
    if not panel.enabled:
        return Text("off", style="dim")
    age = f", {panel.session_age}" if panel.session_age else ""
    words = f"{panel.status.value}, {panel.runs_since_reset} runs{age}"
    return Text(f"{words}, reset advised", style="yellow") if panel.warning else Text(words)


def agent_page(agent: Agent, panel: MemoryPanel, decided: Sequence[Decision]) -> RenderableType:
    """Return everything about one agent, with its last decisions."""
    rows = Table(box=None, show_header=False, pad_edge=False)
    rows.add_column(style="dim")
    rows.add_column(overflow="fold")
    rows.add_row("id", agent.id)
    rows.add_row(
        "role", agent.role if not agent.team else f"{agent.role} of {len(agent.team)}: {', '.join(agent.team)}"
    )
    rows.add_row("adapter", agent.adapter)
    rows.add_row("schedule", agent.schedule or "when asked")
    rows.add_row("card", agent.card_type)
    rows.add_row("prompt", safe_markup(agent.default_prompt) or "none")
    rows.add_row("memory", memory_status_text(panel))
    rows.add_row("review", "begins with its last decisions" if agent.config.review_decisions else "off")
    parts: list[RenderableType] = [Text(agent.name, style="bold"), rows]
    if panel.warning:
        parts.append(Text(f"\n! {panel.warning}", style="yellow"))
    lines = [Text(f"  {one.line}  ", style="").append(one.run_id, style="dim") for one in decided]
    none = Text("  none yet: mnemon agents run " + agent.name, style="dim")
    return Group(*parts, Text("\nlast decisions", style="dim"), *(lines or [none]))


def cards_table(found: Sequence[CardDefinition]) -> Table:
    """Return a block per card type: its purpose, its slots (`?` marks optional ones), and if it can be re-examined."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for card in found:
        slots = ", ".join(slot.name if slot.required else f"{slot.name}?" for slot in card.slots)
        re_examinable = {"True": "re-examinable", "False": "not re-examinable"}.get(
            str(card.re_examinable), "re-examinable until resolved"
        )
        actions = f": {', '.join(card.re_examine_actions)}" if card.re_examine_actions else ""
        table.add_row(card.type, Text(card.purpose).append(f"\n{slots}\n{re_examinable}{actions}", style="dim"))
    return table


def agent_json(agent: Agent, panel: MemoryPanel) -> dict[str, Any]:
    """Return the agent in the JSON of `GET /api/agents/{id}`."""
    return {
        "id": agent.id,
        "name": agent.name,
        "adapter": agent.adapter.value,
        "skill": agent.skill,
        "defaultPrompt": agent.default_prompt,
        "schedule": agent.schedule,
        "role": agent.role.value,
        "team": list(agent.team),
        "cardType": agent.card_type,
        "adapterConfig": format_config(agent.config),
        "memory": panel_json(panel),
        "createdAt": format_time(agent.created_at),
        "updatedAt": format_time(agent.updated_at),
    }


def panel_json(panel: MemoryPanel) -> dict[str, Any]:
    """Return the state of an agent's memory in the API's JSON."""
    return {
        "enabled": panel.enabled,
        "status": panel.status.value,
        "runsSinceReset": panel.runs_since_reset,
        "sessionAge": panel.session_age,
        "warning": panel.warning,
        "lastResetAt": format_time(panel.last_reset_at) if panel.last_reset_at else None,
    }


def decision_json(one: Decision) -> dict[str, Any]:
    """Return the decision in the API's JSON."""
    return {"runId": one.run_id, "at": format_time(one.at), "headline": one.headline, "line": one.line}


def card_json(card: CardDefinition) -> dict[str, Any]:
    """Return the card type in the API's JSON."""
    return {
        "type": card.type,
        "title": card.title,
        "slots": [{"name": slot.name, "type": slot.type.value, "required": slot.required} for slot in card.slots],
        "reExaminable": card.re_examinable,
        "reExamineActions": list(card.re_examine_actions),
    }
