"""`mnemon engagement`: print what is believed about an organization, or the history of its changes."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.server_choice import ServerOptions, takes_server
from mnemon.cli.terminal import JsonOption, err, out, parse_as_of, print_json, report_errors

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_BAR_WIDTH = 20


def register(app: typer.Typer) -> None:
    """Add the command `engagement` to the Typer app."""
    app.command("engagement")(takes_server(show))


def show(
    server: ServerOptions,
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
    from mnemon.cli.connect import call_server

    if history:
        changes = call_server(server, lambda client: client.engagement_history())
        if as_json:
            print_json(changes)
        else:
            out.print(_history_table(changes))
        return
    with report_errors():
        at = parse_as_of(as_of)
    include = "archived" if archived else None
    document = call_server(server, lambda client: client.engagement(expand="evidence", include=include, asOf=at))
    if as_json:
        print_json(document)
    elif document is None:
        err.print("Nothing is known about this organization yet. Start a conversation: `mnemon chat`.", soft_wrap=True)
    else:
        for part in _render_document(document):
            out.print(part)


def _render_document(document: dict[str, Any]) -> "list[RenderableType]":
    """Return an engagement (the API's JSON) as Rich renderables: a headline, then a list per section."""
    from rich.rule import Rule
    from rich.text import Text

    from mnemon.engagement.week import week_rules

    # Everything below is `Text`, not markup: statements and quotes may contain brackets.
    row = week_rules(document["weekNumber"])
    parts: list[RenderableType] = [
        Rule(Text(f"Engagement · week {document['weekNumber']}, {row.work}", style="bold"), align="left"),
        Text(f"The next week needs {row.needs}.", style="dim"),
    ]
    hypotheses = [("•", _hypothesis_text(one), "cyan") for one in document["hypotheses"]]
    parts += _render_section("Hypotheses", hypotheses, "none yet")
    unknowns = [("?", _two_lines(one["question"], one["whyItMatters"]), "yellow") for one in document["unknowns"]]
    parts += _render_section("Unknowns", unknowns, "none open")
    findings = [("✓", _two_lines(one["statement"], one["source"]), "green") for one in document["findings"]]
    parts += _render_section("Findings", findings, "none yet")
    if "archived" in document:
        archived = [("×", _two_lines(one["statement"], one["note"]), "dim") for one in document["archived"]]
        answers = [(one["question"], one["answer"]) for one in document["answered"] if one.get("answer")]
        answered = [("=", _two_lines(what, f"{how['who']}: “{how['quote']}”"), "green") for what, how in answers]
        parts += [*_render_section("Archived", archived, "none"), *_render_section("Answered", answered, "none")]
    return parts


def _render_section(title: str, items: "list[tuple[str, Text, str]]", empty: str) -> "list[RenderableType]":
    """Return a heading and each item beside its mark, with all its lines aligned to the first."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    heading = Padding(Text(title, style="bold"), (1, 0, 0, 0))
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=2, justify="right")
    grid.add_column(overflow="fold")
    for mark, body, style in items:
        grid.add_row(Text(mark, style=style), body)
    return [heading, grid if items else Text(f"  {empty}", style="dim")]


def _two_lines(first: str, second: str) -> "Text":
    """Return the two lines as one Rich text, the second one dimmed."""
    from rich.text import Text

    return Text.assemble(first, "\n", (second, "dim"))


def _hypothesis_text(hypothesis: dict[str, Any]) -> "Text":
    """Return a hypothesis as text: a bar of its confidence, its statement, its evidence line by line."""
    from rich.text import Text

    filled = round(hypothesis["confidence"] * _BAR_WIDTH)
    body = Text.assemble(("█" * filled, "cyan"), ("░" * (_BAR_WIDTH - filled), "dim"))
    body.append(f" {hypothesis['confidence']:.2f}  {hypothesis['statement']}")
    if hypothesis["reopened"]:
        body.append("  (reopened)", style="yellow")
    if hypothesis["proposedForArchive"]:
        body.append("  (proposed for archive)", style="yellow")
    for line in hypothesis["evidence"]:
        sign, style = ("+", "green") if line["stance"] == "supports" else ("−", "red")
        body.append(f"\n{sign} ", style=style).append(line["line"])
        body.append(f"  {line['source']}, {line['at'][:10]}, {line['strength']}", style="dim")
    if hypothesis["wouldResolve"]:
        body.append("\n± mixed; this would resolve it: ", style="yellow").append(hypothesis["wouldResolve"])
    return body


def _history_table(changes: list[dict[str, Any]]) -> "RenderableType":
    """Return the changes of an engagement as a table, one row per change."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("seq", "when", "who", "change", "why"):
        table.add_column(title, justify="right" if title == "seq" else "left", overflow="fold")
    named: dict[str, str] = {}
    for one in changes:
        change = Text.assemble((one["kind"], "bold"), " ", _change_subject(one["change"], named))
        why = Text.assemble(one["reason"], (f"\n{one['turnId']}" if one["turnId"] else "", "dim"))
        table.add_row(str(one["seq"]), one["at"][:16].replace("T", " "), Text(one["who"]), change, why)
    return table


def _change_subject(change: dict[str, Any], named: dict[str, str]) -> str:
    """Return the statement, question or line of evidence that an engagement's change is about.

    `named` collects these by id from the changes that introduce them, since later ones hold only the id. Call it in the
    order of the history.
    """
    evidence = change.get("evidence")
    if isinstance(evidence, dict):
        named[evidence["id"]] = evidence["line"]
        return str(evidence["line"])
    # A contradiction that was settled by hand holds the id of its line.
    if evidence is not None and evidence in named:
        return named[evidence]
    subject = change.get("hypothesis") or change.get("unknown")
    if subject is None:
        return f"to week {change['week']}" if "week" in change else "the engagement"
    if text := change.get("statement") or change.get("question"):
        named[subject] = text
    return named.get(subject, str(subject))
