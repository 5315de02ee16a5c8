"""`mnemon backup FILE` and `mnemon restore FILE`."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.serve import DatabaseUrlOption, DataDirOption
from mnemon.cli.terminal import JsonOption, err, out, print_json, report_errors, run, settings_from_flags

if TYPE_CHECKING:
    from mnemon.db.backup import BackupArchive, DatabaseContents
    from mnemon.services import Services
    from mnemon.settings import Settings

_DISCONNECT_TRIES = 10
_DISCONNECT_WAIT_S = 0.2
FileArgument = Annotated[Path, typer.Argument(help="The backup's file.")]


class Survivor(Protocol):
    """What has to outlive the database that a restore replaces, such as the ledger of what was forgotten."""

    async def read_from(self, url: str) -> None:
        """Remembers it from the database that is about to be replaced; not called when there is none."""
        ...

    async def apply_to(self, services: "Services") -> str:
        """Applies it to the restored database; says in a sentence what that did."""
        ...


def _ledger_survivor() -> Survivor:
    from mnemon.custody.replay import LedgerCarryover

    return LedgerCarryover()


def _revocation_survivor() -> Survivor:
    from mnemon.access.carryover import RevocationCarryover

    return RevocationCarryover()


def _withdrawal_survivor() -> Survivor:
    from mnemon.memory.sources.survivor import WithdrawalSurvivor

    return WithdrawalSurvivor()


SURVIVORS: tuple[Callable[[], Survivor], ...] = (_ledger_survivor, _revocation_survivor, _withdrawal_survivor)
"""Makes each thing that outlives a restore."""


def register(app: typer.Typer) -> None:
    """The commands stand in the program."""
    app.command("backup")(backup)
    app.command("restore")(restore)


def backup(
    file: FileArgument,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    data_dir: DataDirOption = None,
    database_url: DatabaseUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the whole database into one file, as of one moment; a running server may go on."""
    settings = settings_from_flags(data_dir=data_dir, database_url=database_url)
    with report_errors():
        _refuse_existing(file, force)
    began = time.monotonic()
    tables = run(_write_backup(settings, file))
    size, seconds = file.stat().st_size, time.monotonic() - began
    if as_json:
        print_json({"file": str(file), "bytes": size, "tables": tables, "seconds": round(seconds, 2)})
    else:
        out.print(f"{safe_markup(file)} holds {tables} tables, {size / 1_000_000:.1f} MB, written in {seconds:.1f} s.")
        new = "--data-dir NEW_DIRECTORY" if settings.database_url is None else "--database-url URL_OF_AN_EMPTY_ONE"
        into_new, over_this = (f"mnemon restore {file} {option}" for option in (new, "--force"))
        err.print(f"[dim]Bring it back in a new database:[/] {safe_markup(into_new)}", soft_wrap=True)
        err.print(f"[dim]Replace this one, the server stopped:[/] {safe_markup(over_this)}", soft_wrap=True)


def _refuse_existing(file: Path, force: bool) -> None:
    from mnemon.errors import Conflict

    if file.exists() and not force:
        raise Conflict(f"{file} exists. Name another file, or add --force to replace it.")


async def _write_backup(settings: "Settings", file: Path) -> int:
    from mnemon.cli.services import ensure_database, session_url
    from mnemon.db.backup import dump_database, find_tools, read_archive

    async with ensure_database(settings) as url:
        owner = session_url(settings, url)
        tools = await find_tools(owner, settings.postgres_bin_dir)
        with err.status("writing") as status:
            await dump_database(owner, file, tools, lambda words: status.update(f"writing: {words}"))
        # A backup that cannot be read is none: reading it back is part of making it.
        return len((await read_archive(file, tools)).tables)


def restore(
    file: FileArgument,
    force: Annotated[bool, typer.Option("--force", help="Replace a database that holds something.")] = False,
    data_dir: DataDirOption = None,
    database_url: DatabaseUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the database back from a file that `mnemon backup` wrote; all of it, or nothing is changed."""
    settings = settings_from_flags(data_dir=data_dir, database_url=database_url)
    began = time.monotonic()
    archive, notes = run(_restore_backup(settings, file, force))
    seconds = time.monotonic() - began
    if as_json:
        shown = {"file": str(file), "tables": len(archive.tables), "seconds": round(seconds, 2), "notes": notes}
        print_json(shown)
        return
    out.print(f"{len(archive.tables)} tables are back, in {seconds:.1f} s.")
    for note in notes:
        out.print(note, markup=False, soft_wrap=True)
    from mnemon.cli.startup import command_prefix

    prefix = command_prefix(data_dir, database_url)
    err.print(f"[dim]Go on with:[/] {safe_markup(prefix)}mnemon serve", soft_wrap=True)


async def _restore_backup(settings: "Settings", file: Path, force: bool) -> "tuple[BackupArchive, list[str]]":
    from mnemon.app import make_services
    from mnemon.cli.services import ensure_database, migrate_to_current, session_url
    from mnemon.db.backup import find_tools, load_archive, read_archive
    from mnemon.db.migrate import check_applied, shipped_migrations

    async with ensure_database(settings, create=True) as url:
        owner = session_url(settings, url)
        tools = await find_tools(owner, settings.postgres_bin_dir)
        archive = await read_archive(file, tools)
        check_applied(shipped_migrations(), dict(archive.migrations))
        survivors = await _prepare_restore(owner, force)
        with err.status("restoring") as status:
            say = lambda words: status.update(f"restoring: {words}")  # noqa: E731 - one line, used once
            await load_archive(owner, file, tools, say, total=len(archive.tables))
        await migrate_to_current(settings, url)
        async with make_services(settings, url) as services:
            notes = await apply_survivors(services, survivors)
            await _record_restore(services)
            return archive, notes


async def _record_restore(services: "Services") -> None:
    """Every organization's audit log says that a backup was brought back after its entries before."""
    from mnemon.access.audit import record_command
    from mnemon.access.organizations import list_organizations
    from mnemon.cli.services import operator_tx
    from mnemon.scope import Scope

    async with operator_tx(services) as tx:
        everyone = [one.name for one in await list_organizations(tx)]
    for name in everyone:
        async with services.db.tx(name) as tx:
            record_command(tx, Scope(org_id=name), "restore")


async def apply_survivors(services: "Services", survivors: "list[Survivor]") -> list[str]:
    """The restored database has what outlived the old one; a sentence for each."""
    return [await survivor.apply_to(services) for survivor in survivors]


async def _prepare_restore(url: str, force: bool) -> "list[Survivor]":
    """Nobody is connected, nothing is lost without --force, and what must survive is taken along."""
    from mnemon.errors import Conflict

    there = await _wait_for_disconnects(url)
    if there.others:
        raise Conflict(
            f"{there.others} other connections use this database. "
            "Stop `mnemon serve` and `mnemon worker`, then restore."
        )
    if there.rows and not force:
        raise Conflict(
            f"This database holds data ({there.rows:,} rows in {there.tables} tables), and a restore would replace all "
            "of it. Restore into a new one (--data-dir NEW_DIRECTORY), or add --force to replace this one."
        )
    survivors = [make() for make in SURVIVORS]
    if there.rows:
        for survivor in survivors:
            await survivor.read_from(url)
    return survivors


async def _wait_for_disconnects(url: str) -> "DatabaseContents":
    """What the database holds, once those who have just hung up are gone: the server needs a moment to notice."""
    from mnemon.db.backup import count_contents

    for _ in range(_DISCONNECT_TRIES):
        there = await count_contents(url)
        if not there.others:
            break
        await asyncio.sleep(_DISCONNECT_WAIT_S)
    return there
