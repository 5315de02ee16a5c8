"""How runs of the API look in a terminal: a table, a page, a line per event."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import age_text
from mnemon_client.events import Event

_STATUS_COLOUR = {"queued": "dim", "running": "cyan", "succeeded": "green", "failed": "red", "cancelled": "yellow"}
_BAR_WIDTH = 20


def runs_table(found: Sequence[dict[str, Any]], names: Mapping[str, str]) -> Table:
    """Return two lines per run: age, agent, status and headline; below them kind, outcome and id."""
    table = Table.grid(padding=(0, 2))
    for longest in (9, 20, 9):
        table.add_column(no_wrap=True, max_width=longest, overflow="ellipsis")
    table.add_column(overflow="fold")
    for run in found:
        conviction = "" if run["conviction"] is None else f"conviction {run['conviction']}"
        outcome = run["outcome"] or run["resolutionStatus"]
        below = " · ".join(part for part in (run["kind"], outcome, conviction, run["id"]) if part)
        described = Text(run["headline"] or run["error"] or "").append(f"\n{below}", style="dim")
        name = Text(names.get(run["agentId"], run["agentId"]))
        table.add_row(Text(age_text(run["createdAt"])), name, _status_text(run), described)
    return table


def run_page(run: dict[str, Any], name: str) -> RenderableType:
    """Return what to print about one run (the API's JSON): status, card, cost, and its re-examinations' scores."""
    rows = Table(box=None, show_header=False, pad_edge=False)
    rows.add_column(style="dim")
    rows.add_column(overflow="fold")
    rows.add_row("run", Text(f"{run['id']} · {run['kind']} · {age_text(run['createdAt'])}"))
    if run["parentRunId"]:
        rows.add_row("re-examines", Text(run["parentRunId"]))
    for slot, value in (run["resultJson"] or {}).items():
        rows.add_row(Text(slot), Text(", ".join(map(str, value)) if isinstance(value, list) else str(value)))
    if run["resolutionStatus"]:
        words = (run["resolutionStatus"], run["outcome"], run["resolutionNote"])
        rows.add_row("resolution", Text(" · ".join(part for part in words if part)))
    if run["sessionIdBefore"] or run["sessionIdAfter"]:
        after = run["sessionIdAfter"] or "not kept"
        rows.add_row("session", Text(f"{run['sessionIdBefore'] or 'fresh'} → {after}"))
    if run["error"]:
        rows.add_row("error", Text(run["error"], style="red"))
    rows.add_row("cost", Text(_cost_text(run["usage"])))
    title = Text(f"{name} ", style="bold").append_text(_status_text(run))
    if run["headline"]:
        title.append(f"  {run['headline']}", style="bold")
    return Group(title, rows, *_conviction_lines(run["reExaminations"]))


def event_text(event: Event) -> str | None:
    """Return a line for an event worth showing to a person who watches; None for every other event."""
    data = event.data
    # Pieces of the reply are left out: the page at the end shows the card that was made of it.
    match event.kind:
        case "status":
            return f"[dim]{safe_markup(data['status'])}[/]"
        case "tool_call":
            return f"[dim]calls {safe_markup(data['name'])}[/]"
        case "consultation" if "report" in data:
            return f"[dim]{safe_markup(data['name'])} reports[/]"
        case "consultation" if "error" in data:
            return f"[yellow]! {safe_markup(data['name'])} has no report: {safe_markup(data['error'])}[/]"
        case "consultation":
            return f"[dim]asks {safe_markup(data['name'])}{', blind' if data.get('blind') else ''}[/]"
        case "session" | "skipped" | "review":
            return f"[yellow]! {safe_markup(data['note'])}[/]"
        case _:
            return None


def _status_text(run: dict[str, Any]) -> Text:
    """Return the run's status in its colour."""
    return Text(run["status"], style=_STATUS_COLOUR.get(run["status"], ""))


def _cost_text(usage: dict[str, Any]) -> str:
    """Return a run's usage in one line: calls, tokens in and out, cost and model where known."""
    money = f" · ${usage['costUsd']:.4f}" if usage["costUsd"] is not None else ""
    model = f" · {usage['model']}" if usage["model"] else ""
    return f"{usage['calls']} calls · {usage['inputTokens']} tokens in · {usage['outputTokens']} out{money}{model}"


def _conviction_lines(again: Sequence[dict[str, Any]]) -> list[RenderableType]:
    """Return a line per re-examination, oldest first: a bar and its score, or why it has none."""
    lines: list[RenderableType] = [Text("\nconviction history", style="dim")] if again else []
    for one in again:
        score, age = one["conviction_score"], f"  {age_text(one['createdAt']):>9}"
        if score is None:
            lines.append(Text(f"{age}  {one['status']}: {one['error'] or ''}", style="dim"))
            continue
        bar = "█" * round(_BAR_WIDTH * score / 100)
        lines.append(Text(f"{age}  {bar:<{_BAR_WIDTH}} {score:>3}  {one['suggested_action']}  {one['notes']}"))
    return lines
