"""`mnemon engagement`: the state as a consultant's page."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.terminal import AsJson, Org, chosen, err, out, print_json, run

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mnemon.engagement.delta import Entry
    from mnemon.engagement.document import Engagement, Hypothesis

_BAR = 20


def register(app: typer.Typer) -> None:
    """The command stands in the program."""
    app.command("engagement")(show)


def show(
    org: Org = "local",
    history: Annotated[bool, typer.Option("--history", help="Every change, with who, when and why.")] = False,
    archived: Annotated[bool, typer.Option("--archived", help="Also what was given up or answered.")] = False,
    as_of: Annotated[str | None, typer.Option("--as-of", help="As it was at this ISO-8601 time.")] = None,
    as_json: AsJson = False,
) -> None:
    """What is believed about the organization, why, and what is not known yet."""
    from mnemon.engagement.shape import ChangeShape, EngagementShape

    if history:
        entries = run(_entries(org))
        if as_json:
            print_json([ChangeShape.of(entry).model_dump(mode="json", by_alias=True) for entry in entries])
        else:
            out.print(_history(entries))
        return
    document = run(_document(org, as_of))
    if as_json:
        shape = None if document is None else EngagementShape.of(document, expand=True, archived=archived)
        print_json(None if shape is None else shape.as_json())
    elif document is None:
        err.print("Nothing is known about this organization yet. It begins with its first conversation: `mnemon chat`.")
    else:
        for part in _page(org, document, archived=archived):
            out.print(part)


async def _document(org: str, as_of: str | None) -> "Engagement | None":
    from mnemon.cli.house import opened_house, organization
    from mnemon.engagement.reading import engagement

    at = None if as_of is None else _time(as_of)
    async with opened_house(chosen()) as house:
        scope = await organization(house, org)
        async with house.db.tx(scope.org_id) as tx:
            return await engagement(tx, scope, at)


async def _entries(org: str) -> "list[Entry]":
    from mnemon.cli.house import opened_house, organization
    from mnemon.engagement.reading import history

    found: list[Entry] = []
    async with opened_house(chosen()) as house:
        scope = await organization(house, org)
        async with house.db.tx(scope.org_id) as tx:
            while page := await history(tx, scope, after=found[-1].seq if found else 0, most=500):
                found += page
    return found


def _time(text: str) -> datetime:
    from mnemon.clock import parse_time
    from mnemon.errors import Invalid

    try:
        return parse_time(text)
    except ValueError:
        raise Invalid(f"{text!r} is no ISO-8601 time. Write it like 2026-04-12T15:22:00Z.") from None


def _page(org: str, document: "Engagement", *, archived: bool) -> "list[RenderableType]":
    from rich.padding import Padding
    from rich.rule import Rule
    from rich.text import Text

    from mnemon.engagement.lifecycle import source_of
    from mnemon.engagement.week import week

    row = week(document.week)
    parts: list[RenderableType] = [
        Rule(Text(f"Engagement of {org} · week {document.week}, {row.work}", style="bold"), align="left"),
        Text(f"The next week needs {row.needs}.", style="dim"),
        Padding(Text("Hypotheses", style="bold"), (1, 0, 0, 0)),
    ]
    parts += [block for each in document.open for block in _hypothesis(each)] or [Text("  none yet", style="dim")]
    parts.append(Padding(Text("Unknowns", style="bold"), (1, 0, 0, 0)))
    parts += [
        _hanging("?", Text.assemble(each.question, "\n", (each.why_it_matters, "dim")), "yellow")
        for each in document.open_unknowns
    ] or [Text("  none open", style="dim")]
    parts.append(Padding(Text("Findings", style="bold"), (1, 0, 0, 0)))
    parts += [
        _hanging("✓", Text.assemble(each.statement, "\n", (source_of(each), "dim")), "green")
        for each in document.findings
    ] or [Text("  none yet", style="dim")]
    return parts + (_over(document) if archived else [])


def _over(document: "Engagement") -> "list[RenderableType]":
    from rich.padding import Padding
    from rich.text import Text

    parts: list[RenderableType] = [Padding(Text("Archived", style="bold"), (1, 0, 0, 0))]
    parts += [
        _hanging("×", Text.assemble(each.statement, "\n", (each.note or "", "dim")), "dim")
        for each in document.archived
    ] or [Text("  none", style="dim")]
    parts.append(Padding(Text("Answered", style="bold"), (1, 0, 0, 0)))
    parts += [
        _hanging("=", Text.assemble(each.question, "\n", (f"{each.answer.who}: “{each.answer.quote}”", "dim")), "green")
        for each in document.answered
        if each.answer is not None
    ] or [Text("  none", style="dim")]
    return parts


def _hypothesis(hypothesis: "Hypothesis") -> "list[RenderableType]":
    from rich.text import Text

    from mnemon.engagement.lifecycle import confidence_of, would_resolve
    from mnemon.evidence.confidence import Stance, shown

    value = shown(confidence_of(hypothesis))
    filled = round(value * _BAR)
    body = Text.assemble(
        ("█" * filled, "cyan"), ("░" * (_BAR - filled), "dim"), f" {value:.2f}  ", hypothesis.statement
    )
    if hypothesis.reopened:
        body.append("  (reopened)", style="yellow")
    for line in hypothesis.evidence:
        sign, style = ("+", "green") if line.stance is Stance.SUPPORTS else ("−", "red")
        body.append(f"\n{sign} ", style=style).append(line.line)
        body.append(f"  {line.source}, {line.at:%Y-%m-%d}, {line.strength}", style="dim")
    if mixed := would_resolve(hypothesis):
        body.append("\n± mixed; this would resolve it: ", style="yellow").append(mixed)
    return [_hanging("•", body, "cyan")]


def _hanging(mark: str, body: Any, style: str) -> "RenderableType":
    """The body beside its mark, its further lines under its first."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=2, justify="right")
    grid.add_column(overflow="fold")
    grid.add_row(Text(mark, style=style), body)
    return grid


def _history(entries: "list[Entry]") -> "RenderableType":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("seq", "when", "who", "change", "why"):
        table.add_column(title, justify="right" if title == "seq" else "left", overflow="fold")
    named: dict[str, str] = {}
    for entry in entries:
        change = Text.assemble((entry.delta.kind, "bold"), " ", _about(entry, named))
        why = Text.assemble(entry.reason, (f"\n{entry.turn_id}" if entry.turn_id else "", "dim"))
        table.add_row(str(entry.seq), f"{entry.at.astimezone(UTC):%Y-%m-%d %H:%M}", Text(entry.who), change, why)
    return table


def _about(entry: "Entry", named: dict[str, str]) -> str:
    """What a change is about: the claim or question, remembered by its id from where it was first told."""
    from mnemon.engagement.delta import Advanced, Answered, Collected, Formed, Opened, Wondered

    delta = entry.delta
    if isinstance(delta, Opened):
        return "the engagement"
    if isinstance(delta, Advanced):
        return f"to week {delta.week}"
    if isinstance(delta, Formed):
        named[delta.hypothesis] = delta.statement
    elif isinstance(delta, Wondered):
        named[delta.unknown] = delta.question
    if isinstance(delta, Collected):
        return delta.evidence.line
    if isinstance(delta, Answered | Wondered):
        return named.get(delta.unknown, delta.unknown)
    return named.get(delta.hypothesis, delta.hypothesis)
