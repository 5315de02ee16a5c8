"""`mnemon export`, `mnemon import` and `mnemon forget`: a person's data out, in, and gone."""

import codecs
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_json, safe_markup, safe_text
from mnemon.cli.terminal import JsonOption, OrgOption, err, out, print_json, report_errors, run, settings_from_flags

if TYPE_CHECKING:
    from mnemon.custody.import_person import ImportResult
    from mnemon.custody.ledger import Receipt
    from mnemon.services import Services


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("export")(export)
    app.command("import")(import_)
    app.command("forget")(forget)


def export(
    person_or_file: Annotated[
        str | None, typer.Argument(metavar="[USER]", help="The person, as your application calls them.")
    ] = None,
    into: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The file to write. Default: standard output.")
    ] = None,
    named: Annotated[str | None, typer.Option("--user", help="The person, instead of USER.")] = None,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Export everything that is stored about a person, one JSON line per row."""
    with report_errors():
        user, file = _person_and_file(person_or_file, into, named)
    _export(user, file, org, as_json)


def _person_and_file(first: str | None, second: Path | None, named: str | None) -> tuple[str, Path | None]:
    """Return the person and the file; with `--user` the first argument is the file."""
    from mnemon.errors import Invalid

    if named is not None and second is None:
        return named, None if first is None else Path(first)
    if named is None and first is not None:
        return first, second
    raise Invalid("Name the person once: `mnemon export NAME [FILE]` or `mnemon export --user NAME [FILE]`.")


def _export(user: str, file: Path | None, org: str, as_json: bool) -> None:
    from mnemon.access.audit import record_command
    from mnemon.cli.services import open_services, require_organization
    from mnemon.custody.export import export_to_file, file_chunks
    from mnemon.scope import person_scope

    async def work() -> int:
        async with open_services(settings_from_flags()) as services:
            scope = await require_organization(services, org)
            person = person_scope(org, user)
            made = await export_to_file(
                services.db, person, record=lambda tx: record_command(tx, scope, "export", person.user)
            )
        if file is None:
            return sum(sys.stdout.buffer.write(piece.encode()) for piece in _safe_pieces(file_chunks(made)))
        # A file gets the bytes as they are: only a terminal needs escapes.
        with file.open("wb") as sink:
            return sum(sink.write(piece) for piece in file_chunks(made))

    size = run(work())
    if file and as_json:
        print_json({"userId": user, "file": str(file), "bytes": size})
    elif file:
        out.print(f"{safe_markup(file)} holds everything about {safe_markup(user)}, {size / 1000:.1f} kB.")
        err.print(f"[dim]Import it elsewhere with:[/] mnemon import {safe_markup(file)}")


def _safe_pieces(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield the export with control characters as JSON escapes: the same values, and safe to show in a terminal."""
    # Incremental, since a character may be split between two pieces.
    decoder = codecs.getincrementaldecoder("utf-8")()
    for piece in pieces:
        yield safe_json(decoder.decode(piece))


def import_(
    file: Annotated[Path, typer.Argument(help="A file that `mnemon export` wrote.", exists=True, dir_okay=False)],
    user: Annotated[
        str | None, typer.Option("--user", help="Import it for this person. Default: the person it was exported from.")
    ] = None,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Import a person's export, all of it or nothing."""
    from mnemon.access.audit import record_command
    from mnemon.cli.services import open_services, require_organization
    from mnemon.custody.import_person import import_person
    from mnemon.scope import person_scope

    async def import_rows() -> "ImportResult":
        async with open_services(settings_from_flags(), migrated=True) as services:
            scope = await require_organization(services, org)
            async with services.db.tx(org) as tx:
                done = await import_person(tx, org, _read_lines(file), user_id=user)
                record_command(tx, scope, "import", person_scope(org, done.user_id).user)
                return done

    done = run(import_rows())
    if as_json:
        print_json({"userId": done.user_id, "stored": done.stored, "kept": done.kept, "forgotten": done.forgotten})
        return
    rows, kept = sum(done.stored.values()), sum(done.kept.values())
    out.print(f"{rows:,} rows about {safe_markup(done.user_id)} imported; {kept:,} were there already.")


async def _read_lines(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as source:
        for line in source:
            yield line


def forget(
    memory: Annotated[str | None, typer.Argument(help="A memory's id: mem_…")] = None,
    user: Annotated[
        str | None, typer.Option("--user", help="Forget this person with everything stored about them.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Forget without asking.")] = False,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Erase a memory or a whole person for good, and print a receipt of what was removed."""
    from mnemon.errors import Invalid

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
            run(_assert_held(memory, org))
        what = f"{user} and everything stored about them" if user else memory
        typer.confirm(safe_text(f"Forget {what} for good?"), abort=True, err=True)
    _print_receipt(run(_forget_target(memory, user, org)), as_json)


async def _assert_held(memory: str, org: str) -> None:
    """Raise NotFound for a memory that does not exist, before the command asks for confirmation."""
    from mnemon.cli.services import open_services, require_organization
    from mnemon.memory.browse import scope_of_memory

    async with open_services(settings_from_flags()) as services:
        scope = await require_organization(services, org)
        async with services.db.tx(org) as tx:
            await scope_of_memory(tx, scope, memory)


async def _forget_target(memory: str | None, user: str | None, org: str) -> "Receipt":
    from mnemon.access.audit import record_command
    from mnemon.cli.services import open_services, require_organization
    from mnemon.custody.forget_memory import forget_memory
    from mnemon.custody.forget_person import forget_person
    from mnemon.memory.browse import scope_of_memory
    from mnemon.scope import Scope, person_scope

    async with open_services(settings_from_flags()) as services:
        scope = await require_organization(services, org)
        async with services.db.tx(org) as tx:
            if user is not None:
                receipt = await forget_person(tx, person_scope(org, user))
            else:
                receipt = await forget_memory(
                    tx, await scope_of_memory(tx, Scope(org_id=org), str(memory)), str(memory)
                )
            record_command(tx, scope, "forget", memory, receipt.id)
        await _write_ledger(services, org)
    return receipt


async def _write_ledger(services: "Services", org: str) -> None:
    """Bring the ledger's file up to date.

    A worker does this too; here it is done at once, since none may be running.
    """
    from mnemon.custody import ledger

    async with services.db.tx(org) as tx:
        entries = await ledger.list_entries(tx, org)
    ledger.append_to_file(services.settings.data_dir / ledger.LEDGER_FILE, entries)


def _print_receipt(receipt: "Receipt", as_json: bool) -> None:
    from mnemon.clock import format_time

    if as_json:
        plain: dict[str, Any] = {
            "id": receipt.id,
            "at": format_time(receipt.at),
            **receipt.stored_counts(),
            "reasons": receipt.reasons,
            "keptIds": receipt.kept_ids,
            "total": receipt.total,
        }
        print_json(plain)
        return
    out.print(f"Forgotten: {receipt.total:,} rows. Receipt {receipt.id}.")
    for table, number in receipt.removed.items():
        if number:
            out.print(f"  {number:>8,}  {table}")
    for table, number in receipt.redacted.items():
        out.print(f"  {number:>8,}  {table}, text redacted")
    for place, number in receipt.kept.items():
        out.print(f"  {number:>8,}  {place}, kept: {receipt.reasons[place]}", soft_wrap=True)
        for one in receipt.kept_ids.get(place, ()):
            out.print(f"            {one}", markup=False, soft_wrap=True)
