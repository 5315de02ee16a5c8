"""How agents and card types of the API look in a terminal."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

_RE_EXAMINABLE = {True: "re-examinable", False: "not re-examinable"}


def agents_table(found: Sequence[dict[str, Any]]) -> Table:
    """Return two lines per agent: name, role, adapter, card and schedule; below them its memory and its id."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, max_width=24, overflow="ellipsis", style="bold")
    table.add_column(overflow="fold")
    for agent in found:
        role = f"{agent['role']} of {len(agent['team'])}" if agent["team"] else agent["role"]
        schedule = agent["schedule"] or "when asked"
        summary = Text(" · ".join((role, agent["adapter"], agent["cardType"], schedule)))
        summary.append("\nmemory ", style="dim").append_text(_memory_status(agent["memory"]))
        table.add_row(Text(agent["name"]), summary.append(f" · {agent['id']}", style="dim"))
    return table


def agent_page(agent: dict[str, Any]) -> RenderableType:
    """Return what to print about one agent (the API's JSON): its settings, its memory, its last decisions."""
    team = agent["team"]
    memory = agent["memory"]
    reviews = agent["adapterConfig"].get("reviewDecisions")
    rows = Table(box=None, show_header=False, pad_edge=False)
    rows.add_column(style="dim")
    rows.add_column(overflow="fold")
    rows.add_row("id", Text(agent["id"]))
    rows.add_row("role", Text(f"{agent['role']} of {len(team)}: {', '.join(team)}" if team else agent["role"]))
    rows.add_row("adapter", Text(agent["adapter"]))
    rows.add_row("schedule", Text(agent["schedule"] or "when asked"))
    rows.add_row("card", Text(agent["cardType"]))
    rows.add_row("prompt", Text(agent["defaultPrompt"] or "none"))
    rows.add_row("memory", _memory_status(memory))
    rows.add_row("review", "begins with its last decisions" if reviews else "off")
    parts: list[RenderableType] = [Text(agent["name"], style="bold"), rows]
    if memory["warning"]:
        parts.append(Text(f"\n! {memory['warning']}", style="yellow"))
    lines = [Text(f"  {one['line']}  ").append(one["runId"], style="dim") for one in agent["decisions"]]
    none = Text("  none yet: mnemon agents run " + agent["name"], style="dim")
    return Group(*parts, Text("\nlast decisions", style="dim"), *(lines or [none]))


def _memory_status(memory: dict[str, Any]) -> Text:
    """Return a memory's state in a few words, with advice to reset it if the session is too long."""
    if not memory["enabled"]:
        return Text("off", style="dim")
    age = f", {memory['sessionAge']}" if memory["sessionAge"] else ""
    words = f"{memory['status']}, {memory['runsSinceReset']} scheduled runs{age}"
    return Text(f"{words}, reset advised", style="yellow") if memory["warning"] else Text(words)


def cards_table(found: Sequence[dict[str, Any]]) -> Table:
    """Return a block per card type: its purpose, its slots (`?` marks optional ones), and if it can be re-examined."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for card in found:
        slots = ", ".join(slot["name"] if slot["required"] else f"{slot['name']}?" for slot in card["slots"])
        re_examinable = _RE_EXAMINABLE.get(card["reExaminable"], "re-examinable until resolved")
        actions = f": {', '.join(card['reExamineActions'])}" if card["reExamineActions"] else ""
        about = Text(card["purpose"]).append(f"\n{slots}\n{re_examinable}{actions}", style="dim")
        table.add_row(Text(card["type"]), about)
    return table
