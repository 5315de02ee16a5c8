"""`mnemon engagement`: print what is believed about an organization, or the history of its changes."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.terminal import JsonOption, OrgOption, err, out, print_json, run, settings_from_flags

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mnemon.engagement.document import Engagement, Hypothesis
    from mnemon.engagement.journal import EngagementEntry

_BAR_WIDTH = 20


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("engagement")(show)


def show(
    org: OrgOption = "local",
    history: Annotated[
        bool, typer.Option("--history", help="List every change with who made it, when and why.")
    ] = False,
    archived: Annotated[
        bool, typer.Option("--archived", help="Include archived hypotheses and answered questions.")
    ] = False,
    as_of: Annotated[str | None, typer.Option("--as-of", help="Show it as it was then: 2026-04-12T15:22:00Z.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what Mnemon believes about your organization: hypotheses, open questions and findings."""
    from mnemon.engagement.shape import ChangeShape, EngagementShape

    if history:
        entries = run(_load_entries(org))
        if as_json:
            print_json([ChangeShape.from_entry(entry).model_dump(mode="json", by_alias=True) for entry in entries])
        else:
            out.print(_history_table(entries))
        return
    document = run(_load_document(org, as_of))
    if as_json:
        shape = None if document is None else EngagementShape.from_document(document, expand=True, archived=archived)
        print_json(None if shape is None else shape.as_json())
    elif document is None:
        err.print("Nothing is known about this organization yet. Start a conversation: `mnemon chat`.", soft_wrap=True)
    else:
        for part in _render_document(org, document, archived=archived):
            out.print(part)


async def _load_document(org: str, as_of: str | None) -> "Engagement | None":
    from mnemon.cli.services import open_services, require_organization
    from mnemon.engagement.reading import load_document

    at = None if as_of is None else _parse_as_of(as_of)
    async with open_services(settings_from_flags()) as services:
        scope = await require_organization(services, org)
        async with services.db.tx(scope.org_id) as tx:
            return await load_document(tx, scope, at)


async def _load_entries(org: str) -> "list[EngagementEntry]":
    """Return the whole journal of the organization, read in pages of 500."""
    from mnemon.cli.services import open_services, require_organization
    from mnemon.engagement.reading import list_history

    found: list[EngagementEntry] = []
    async with open_services(settings_from_flags()) as services:
        scope = await require_organization(services, org)
        async with services.db.tx(scope.org_id) as tx:
            while page := await list_history(tx, scope, after=found[-1].seq if found else 0, most=500):
                found += page
    return found


def _parse_as_of(text: str) -> datetime:
    from mnemon.clock import parse_time
    from mnemon.errors import Invalid

    try:
        return parse_time(text)
    except ValueError:
        raise Invalid(f"{text!r} is not an ISO 8601 time. Write it like 2026-04-12T15:22:00Z.") from None


def _render_document(org: str, document: "Engagement", *, archived: bool) -> "list[RenderableType]":
    from rich.padding import Padding
    from rich.rule import Rule
    from rich.text import Text

    from mnemon.engagement.lifecycle import format_source
    from mnemon.engagement.week import week_rules

    # Everything below is `Text`, not markup: statements and quotes may contain brackets.
    row = week_rules(document.week)
    parts: list[RenderableType] = [
        Rule(Text(f"Engagement of {org} · week {document.week}, {row.work}", style="bold"), align="left"),
        Text(f"The next week needs {row.needs}.", style="dim"),
        Padding(Text("Hypotheses", style="bold"), (1, 0, 0, 0)),
    ]
    parts += [block for each in document.open_hypotheses for block in _render_hypothesis(each)] or [
        Text("  none yet", style="dim")
    ]
    parts.append(Padding(Text("Unknowns", style="bold"), (1, 0, 0, 0)))
    parts += [
        _hanging_indent("?", Text.assemble(each.question, "\n", (each.why_it_matters, "dim")), "yellow")
        for each in document.open_unknowns
    ] or [Text("  none open", style="dim")]
    parts.append(Padding(Text("Findings", style="bold"), (1, 0, 0, 0)))
    parts += [
        _hanging_indent("✓", Text.assemble(each.statement, "\n", (format_source(each), "dim")), "green")
        for each in document.findings
    ] or [Text("  none yet", style="dim")]
    return parts + (_render_archived(document) if archived else [])


def _render_archived(document: "Engagement") -> "list[RenderableType]":
    from rich.padding import Padding
    from rich.text import Text

    parts: list[RenderableType] = [Padding(Text("Archived", style="bold"), (1, 0, 0, 0))]
    parts += [
        _hanging_indent("×", Text.assemble(each.statement, "\n", (each.note or "", "dim")), "dim")
        for each in document.archived_hypotheses
    ] or [Text("  none", style="dim")]
    parts.append(Padding(Text("Answered", style="bold"), (1, 0, 0, 0)))
    parts += [
        _hanging_indent(
            "=", Text.assemble(each.question, "\n", (f"{each.answer.who}: “{each.answer.quote}”", "dim")), "green"
        )
        for each in document.answered
        if each.answer is not None
    ] or [Text("  none", style="dim")]
    return parts


def _render_hypothesis(hypothesis: "Hypothesis") -> "list[RenderableType]":
    from rich.text import Text

    from mnemon.engagement.lifecycle import (
        confidence_of,
        format_line_source,
        is_proposed_for_archive,
        resolution_text,
    )
    from mnemon.evidence.confidence import Stance, round_confidence

    value = round_confidence(confidence_of(hypothesis))
    filled = round(value * _BAR_WIDTH)
    body = Text.assemble(
        ("█" * filled, "cyan"), ("░" * (_BAR_WIDTH - filled), "dim"), f" {value:.2f}  ", hypothesis.statement
    )
    if hypothesis.reopened:
        body.append("  (reopened)", style="yellow")
    if is_proposed_for_archive(hypothesis):
        body.append("  (proposed for archive)", style="yellow")
    for line in hypothesis.evidence:
        sign, style = ("+", "green") if line.stance is Stance.SUPPORTS else ("−", "red")
        body.append(f"\n{sign} ", style=style).append(line.line)
        body.append(f"  {format_line_source(line)}, {line.strength}", style="dim")
    if mixed := resolution_text(hypothesis):
        body.append("\n± mixed; this would resolve it: ", style="yellow").append(mixed)
    return [_hanging_indent("•", body, "cyan")]


def _hanging_indent(mark: str, body: Any, style: str) -> "RenderableType":
    """Return the body beside its mark, with all lines aligned to the first."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=2, justify="right")
    grid.add_column(overflow="fold")
    grid.add_row(Text(mark, style=style), body)
    return grid


def _history_table(entries: "list[EngagementEntry]") -> "RenderableType":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("seq", "when", "who", "change", "why"):
        table.add_column(title, justify="right" if title == "seq" else "left", overflow="fold")
    named: dict[str, str] = {}
    for entry in entries:
        change = Text.assemble((entry.delta.kind, "bold"), " ", _change_subject(entry, named))
        why = Text.assemble(entry.reason, (f"\n{entry.turn_id}" if entry.turn_id else "", "dim"))
        table.add_row(str(entry.seq), f"{entry.at.astimezone(UTC):%Y-%m-%d %H:%M}", Text(entry.who), change, why)
    return table


def _change_subject(entry: "EngagementEntry", named: dict[str, str]) -> str:
    """Return what a change is about: the statement or question.

    `named` collects these by id from the entries that introduce them, since later entries hold only the id. Call it
    in the order of the journal.
    """
    from mnemon.engagement.journal import (
        EngagementOpened,
        EvidenceCollected,
        HypothesisFormed,
        UnknownAnswered,
        UnknownAsked,
        WeekAdvanced,
    )

    delta = entry.delta
    if isinstance(delta, EngagementOpened):
        return "the engagement"
    if isinstance(delta, WeekAdvanced):
        return f"to week {delta.week}"
    if isinstance(delta, HypothesisFormed):
        named[delta.hypothesis] = delta.statement
    elif isinstance(delta, UnknownAsked):
        named[delta.unknown] = delta.question
    if isinstance(delta, EvidenceCollected):
        return delta.evidence.line
    if isinstance(delta, UnknownAnswered | UnknownAsked):
        return named.get(delta.unknown, delta.unknown)
    return named.get(delta.hypothesis, delta.hypothesis)
