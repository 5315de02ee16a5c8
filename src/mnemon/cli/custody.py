"""`mnemon export`, `mnemon import` and `mnemon forget`: a person's data out, in, and gone."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_json, safe_markup, safe_text
from mnemon.cli.server_choice import ServerOptions, takes_server
from mnemon.cli.terminal import JsonOption, err, out, print_json, report_errors
from mnemon.errors import Invalid

if TYPE_CHECKING:
    from mnemon_client import Mnemon


def register(app: typer.Typer) -> None:
    """Add the commands `export`, `import` and `forget` to the Typer app."""
    app.command("export")(takes_server(export))
    app.command("import")(takes_server(import_))
    app.command("forget")(takes_server(forget))


def export(
    server: ServerOptions,
    person_or_file: Annotated[
        str | None, typer.Argument(metavar="[USER]", help="The person, as your application calls them.")
    ] = None,
    into: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The file to write. Default: standard output.")
    ] = None,
    named: Annotated[str | None, typer.Option("--user", help="The person, instead of USER.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Export everything that is stored about a person, one JSON line per row."""
    from mnemon.cli.connect import call_server

    with report_errors():
        user, file = _person_and_file(person_or_file, into, named)

    async def write_export(client: "Mnemon") -> int:
        """Write the export to the file or standard output; return the number of bytes written to a file."""
        if file is None:
            # The same values with control characters as JSON escapes: safe to show in a terminal.
            async for line in client.export(user):
                sys.stdout.write(safe_json(line) + "\n")
            return 0
        lines = client.export(user)
        first = await anext(lines)  # before the file is opened: a person who is not there leaves no empty file
        with file.open("wb") as sink:
            size = sink.write(first.encode() + b"\n")
            async for line in lines:
                size += sink.write(line.encode() + b"\n")
        return size

    size = call_server(server, write_export)
    if file and as_json:
        print_json({"userId": user, "file": str(file), "bytes": size})
    elif file:
        out.print(f"{safe_markup(file)} holds everything about {safe_markup(user)}, {size / 1000:.1f} kB.")
        err.print(f"[dim]Import it elsewhere with:[/] mnemon import {safe_markup(file)}")


def _person_and_file(first: str | None, second: Path | None, named: str | None) -> tuple[str, Path | None]:
    """Return the person and the file; with `--user` the first argument is the file."""
    if named is not None and second is None:
        return named, None if first is None else Path(first)
    if named is None and first is not None:
        return first, second
    raise Invalid("Name the person once: `mnemon export NAME [FILE]` or `mnemon export --user NAME [FILE]`.")


def import_(
    server: ServerOptions,
    file: Annotated[Path, typer.Argument(help="A file that `mnemon export` wrote.", exists=True, dir_okay=False)],
    user: Annotated[
        str | None, typer.Option("--user", help="Import it for this person. Default: the person it was exported from.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Import a person's export, all of it or nothing."""
    from mnemon.cli.connect import call_server

    exported = file.read_bytes()
    done = call_server(server, lambda client: client.import_person(exported, user), body_bytes=len(exported))
    if as_json:
        print_json(done)
        return
    rows, kept = sum(done["stored"].values()), sum(done["kept"].values())
    out.print(f"{rows:,} rows about {safe_markup(done['userId'])} imported; {kept:,} were kept as they are here.")
    for table, number in done["kept"].items():
        out.print(f"  {number:>8,}  {safe_markup(table)}, kept")
    if left_out := sum(done["forgotten"].values()):
        out.print(f"{left_out:,} were left out: they had been forgotten here.")
    # A server of an earlier release does not send it.
    if step := done.get("nextStep"):
        err.print(f"[dim]{safe_markup(step)}[/]")


def forget(
    server: ServerOptions,
    memory: Annotated[str | None, typer.Argument(help="A memory's id: mem_…")] = None,
    user: Annotated[
        str | None, typer.Option("--user", help="Forget this person with everything stored about them.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Forget without asking.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Erase a memory or a whole person for good, and print a receipt of what was removed."""
    from mnemon.cli.connect import call_server

    with report_errors():
        if (memory is None) == (user is None):
            raise Invalid(
                "Name a memory (`mnemon forget mem_…`) or a person (`mnemon forget --user NAME`), one of them."
            )
        # `--json` is for programs and counts as a yes.
        if not (yes or as_json or sys.stdin.isatty()):
            raise Invalid("Nothing was forgotten: there is no terminal to confirm it at. Add --yes.")

    if not yes and not as_json:
        if memory is not None:
            call_server(server, lambda client: client.memory(str(memory)))  # an unknown one is told before the question
        what = f"{user} and everything stored about them" if user else memory
        typer.confirm(safe_text(f"Forget {what} for good?"), abort=True, err=True)
    receipt = call_server(
        server,
        lambda client: client.forget_person(user) if user is not None else client.forget(str(memory)),
        forgets=True,
    )
    if as_json:
        print_json(receipt)
    else:
        _print_receipt(receipt)


def _print_receipt(receipt: dict[str, Any]) -> None:
    """Print the receipt of a forgetting: its id, and the rows removed, redacted and kept, by table."""
    out.print(f"Forgotten: {receipt['total']:,} rows. Receipt {safe_markup(receipt['id'])}.")
    for table, number in receipt["removed"].items():
        if number:
            out.print(f"  {number:>8,}  {safe_markup(table)}")
    for table, number in receipt["redacted"].items():
        out.print(f"  {number:>8,}  {safe_markup(table)}, text redacted")
    for place, number in receipt["kept"].items():
        reason = receipt["reasons"].get(place, "")
        out.print(f"  {number:>8,}  {safe_markup(place)}, kept: {safe_markup(reason)}", soft_wrap=True)
        for one in receipt["keptIds"].get(place, ()):
            out.print(f"            {one}", markup=False, soft_wrap=True)
