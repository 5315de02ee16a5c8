"""How runs look in a terminal: a table, a page, a line per event; and their JSON, spelt as the API spells it."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from pydantic.alias_generators import to_camel
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mnemon.cli.safe_text import safe_markup
from mnemon.clock import format_time
from mnemon.runs.card import CardTypes
from mnemon.runs.decisions import format_ago
from mnemon.runs.run import Run, RunStatus
from mnemon.runs.store import RecordedEvent

_STATUS_COLOUR = {
    RunStatus.QUEUED: "dim",
    RunStatus.RUNNING: "cyan",
    RunStatus.SUCCEEDED: "green",
    RunStatus.FAILED: "red",
    RunStatus.CANCELLED: "yellow",
}
_BAR_WIDTH = 20


def runs_table(found: Sequence[Run], again: Sequence[Run], names: dict[str, str], now: datetime) -> Table:
    """Return two lines per run: age, agent, status and headline; below them kind, outcome and id.

    `again` holds the re-examinations of these runs, oldest first.
    """
    table = Table.grid(padding=(0, 2))
    for longest in (9, 20, 9):
        table.add_column(no_wrap=True, max_width=longest, overflow="ellipsis")
    table.add_column(overflow="fold")
    for run in found:
        below = " · ".join(part for part in (run.kind, _outcome_text(run, again), run.id) if part)
        described = Text(run.headline or run.error or "").append(f"\n{below}", style="dim")
        name = Text(names.get(run.agent_id, run.agent_id))
        table.add_row(
            Text(format_ago(now - run.created_at)), name, Text(run.status, style=_STATUS_COLOUR[run.status]), described
        )
    return table


def run_page(run: Run, again: Sequence[Run], name: str, now: datetime, cards: CardTypes) -> RenderableType:
    """Return everything about one run, with the conviction history of its re-examinations."""
    rows = Table(box=None, show_header=False, pad_edge=False)
    rows.add_column(style="dim")
    rows.add_column(overflow="fold")
    rows.add_row("run", f"{run.id} · {run.kind} · {format_ago(now - run.created_at)}")
    if run.parent_run_id:
        rows.add_row("re-examines", run.parent_run_id)
    card = cards.get(run.card_type)
    values = run.result or {}
    for slot, value in (card.order_values(values) if card else values).items():
        rows.add_row(slot, safe_markup(", ".join(value) if isinstance(value, list) else str(value)))
    if run.resolution_status:
        words = " · ".join(part for part in (run.resolution_status, run.outcome, run.resolution_note) if part)
        rows.add_row("resolution", safe_markup(words))
    if run.session_id_before or run.session_id_after:
        rows.add_row("session", f"{run.session_id_before or 'fresh'} → {run.session_id_after or 'not kept'}")
    if run.error:
        rows.add_row("error", Text(run.error, style="red"))
    rows.add_row("cost", _cost_text(run))
    title = Text(f"{name} ", style="bold").append(run.status, style=_STATUS_COLOUR[run.status])
    if run.headline:
        title.append(f"  {run.headline}", style="bold")
    return Group(title, rows, *_conviction_lines(again, now))


def event_text(event: RecordedEvent | None) -> str | None:
    """Return a line for an event worth showing to a person who watches; None for every other event."""
    if event is None:
        return None
    data = event.data
    # Pieces of the reply are left out: the page at the end shows the card that was made of it.
    match event.type:
        case "status":
            return f"[dim]{data['status']}[/]"
        case "tool_call":
            return f"[dim]calls {safe_markup(str(data['name']))}[/]"
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


def run_json(run: Run, again: Sequence[Run]) -> dict[str, Any]:
    """Return the run in the JSON of `GET /api/runs/{id}`."""
    times = {name: getattr(run, name) for name in ("slot", "resolved_at", "created_at", "started_at", "finished_at")}
    return {
        "id": run.id,
        "agentId": run.agent_id,
        "kind": run.kind.value,
        "status": run.status.value,
        "prompt": run.prompt,
        "sessionIdBefore": run.session_id_before,
        "sessionIdAfter": run.session_id_after,
        "parentRunId": run.parent_run_id,
        "cardType": run.card_type,
        "resultJson": run.result,
        "headline": run.headline,
        "resolutionStatus": run.resolution_status.value if run.resolution_status else None,
        "outcome": run.outcome,
        "resolutionNote": run.resolution_note,
        "conviction": _latest_conviction(run, again),
        "usage": {to_camel(name): value for name, value in asdict(run.usage).items()},
        "error": run.error,
        **{to_camel(name): format_time(at) if at else None for name, at in times.items()},
    }


def _outcome_text(run: Run, again: Sequence[Run]) -> str:
    score = _latest_conviction(run, again)
    conviction = f"conviction {score}" if score is not None else ""
    return " · ".join(part for part in (run.outcome or run.resolution_status or "", conviction) if part)


def _latest_conviction(run: Run, again: Sequence[Run]) -> int | None:
    """Return the score of the run's last re-examination that has one; None when none has."""
    scores = [(one.result or {}).get("conviction_score") for one in again if one.parent_run_id == run.id]
    known = [score for score in scores if isinstance(score, int)]
    return known[-1] if known else None


def _cost_text(run: Run) -> str:
    usage = run.usage
    money = f" · ${usage.cost_usd:.4f}" if usage.cost_usd is not None else ""
    model = f" · {usage.model}" if usage.model else ""
    return f"{usage.calls} calls · {usage.input_tokens} tokens in · {usage.output_tokens} out{money}{model}"


def _conviction_lines(again: Sequence[Run], now: datetime) -> list[RenderableType]:
    """Return a line per re-examination, oldest first: a bar and its score, or why it has none."""
    lines: list[RenderableType] = [Text("\nconviction history", style="dim")] if again else []
    for one in again:
        values = one.result or {}
        score = values.get("conviction_score")
        if not isinstance(score, int):
            lines.append(Text(f"  {format_ago(now - one.created_at):>9}  {one.status}: {one.error or ''}", style="dim"))
            continue
        bar = "█" * round(_BAR_WIDTH * score / 100)
        line = (
            f"  {format_ago(now - one.created_at):>9}  {bar:<{_BAR_WIDTH}} {score:>3}  {values.get('suggested_action')}"
        )
        lines.append(Text(f"{line}  {values.get('notes')}"))
    return lines
