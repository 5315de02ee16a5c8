"""Agents, cards and decisions in a terminal: tables, a page, and the wire's JSON."""

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
    """The agent of this id, or the only one of this name."""
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
    """Two lines an agent: name, role, schedule and card; below, what it carries and its id."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, max_width=24, overflow="ellipsis", style="bold")
    table.add_column(overflow="fold")
    for agent, panel in found:
        role = f"{agent.role} of {len(agent.team)}" if agent.team else agent.role.value
        said = Text(" · ".join((role, agent.adapter, agent.card_type, agent.schedule or "when asked")))
        below = (
            Text("memory ", style="dim").append_text(memory_status_text(panel)).append(f" · {agent.id}", style="dim")
        )
        table.add_row(Text(agent.name), said.append("\n").append_text(below))
    return table


def memory_status_text(panel: MemoryPanel) -> Text:
    """The memory in a few words; amber and with a word when it grew too long."""
    if not panel.enabled:
        return Text("off", style="dim")
    age = f", {panel.session_age}" if panel.session_age else ""
    words = f"{panel.status.value}, {panel.runs_since_reset} runs{age}"
    return Text(f"{words}, reset advised", style="yellow") if panel.warning else Text(words)


def agent_page(agent: Agent, panel: MemoryPanel, decided: Sequence[Decision]) -> RenderableType:
    """Everything about one agent."""
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
    """Two lines a card type: what it is for; below, its slots and whether it can be looked at again."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for card in found:
        slots = ", ".join(slot.name if slot.required else f"{slot.name}?" for slot in card.slots)
        again = {"True": "re-examinable", "False": "not re-examinable"}.get(
            str(card.re_examinable), "re-examinable until resolved"
        )
        actions = f": {', '.join(card.re_examine_actions)}" if card.re_examine_actions else ""
        table.add_row(card.type, Text(card.purpose).append(f"\n{slots}\n{again}{actions}", style="dim"))
    return table


def agent_json(agent: Agent, panel: MemoryPanel) -> dict[str, Any]:
    """The agent in the wire's spelling."""
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
    """The memory in the wire's spelling."""
    return {
        "enabled": panel.enabled,
        "status": panel.status.value,
        "runsSinceReset": panel.runs_since_reset,
        "sessionAge": panel.session_age,
        "warning": panel.warning,
        "lastResetAt": format_time(panel.last_reset_at) if panel.last_reset_at else None,
    }


def decision_json(one: Decision) -> dict[str, Any]:
    """The decision in the wire's spelling."""
    return {"runId": one.run_id, "at": format_time(one.at), "headline": one.headline, "line": one.line}


def card_json(card: CardDefinition) -> dict[str, Any]:
    """The card type in the wire's spelling."""
    return {
        "type": card.type,
        "title": card.title,
        "slots": [{"name": slot.name, "type": slot.type.value, "required": slot.required} for slot in card.slots],
        "reExaminable": card.re_examinable,
        "reExamineActions": list(card.re_examine_actions),
    }
