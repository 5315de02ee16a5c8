"""`mnemon backup FILE` and `mnemon restore FILE`.

A restore replaces the whole database, in this order: read the file and check that its migrations are known, refuse
while others are connected or data would be lost, take the survivors out of the old database, load the file, migrate it
to this version, and apply the survivors to it.
"""

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
FileArgument = Annotated[Path, typer.Argument(help="The backup file.")]


class Survivor(Protocol):
    """Records that must survive a restore, such as the ledger of what was forgotten."""

    async def read_from(self, url: str) -> None:
        """Read the records from the database that is about to be replaced; not called when that one is empty."""
        ...

    async def apply_to(self, services: "Services") -> str:
        """Apply the records to the restored database; return a sentence that says what was done."""
        ...


def _ledger_survivor() -> Survivor:
    """Return what carries the ledger of forgotten data from the replaced database to the restored one."""
    from mnemon.custody.replay import LedgerCarryover

    return LedgerCarryover()


def _revocation_survivor() -> Survivor:
    """Return what carries the revocations of keys from the replaced database to the restored one."""
    from mnemon.access.carryover import RevocationCarryover

    return RevocationCarryover()


def _withdrawal_survivor() -> Survivor:
    """Return what carries the withdrawals of sources from the replaced database to the restored one."""
    from mnemon.memory.sources.survivor import WithdrawalSurvivor

    return WithdrawalSurvivor()


SURVIVORS: tuple[Callable[[], Survivor], ...] = (_ledger_survivor, _revocation_survivor, _withdrawal_survivor)
"""Constructors of all survivors. Older backups lack what was forgotten, revoked or withdrawn since."""


def register(app: typer.Typer) -> None:
    """Add the commands `backup` and `restore` to the Typer app."""
    app.command("backup")(backup)
    app.command("restore")(restore)


def backup(
    file: FileArgument,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    data_dir: DataDirOption = None,
    database_url: DatabaseUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Back up the whole database to one file, as of one moment. The server can keep running."""
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
        err.print(f"[dim]Restore it into a new database:[/] {safe_markup(into_new)}", soft_wrap=True)
        err.print(f"[dim]Replace this database (stop the server first):[/] {safe_markup(over_this)}", soft_wrap=True)


def _refuse_existing(file: Path, force: bool) -> None:
    """Raise Conflict if the file exists, unless `force` allows replacing it."""
    from mnemon.errors import Conflict

    if file.exists() and not force:
        raise Conflict(f"{file} exists. Name another file, or add --force to replace it.")


async def _write_backup(settings: "Settings", file: Path) -> int:
    """Dump the database to the file, read the file back, and return how many tables it holds."""
    from mnemon.cli.services import ensure_database, session_url
    from mnemon.db.backup import dump_database, find_tools, read_archive

    async with ensure_database(settings) as url:
        owner = session_url(settings, url)
        tools = await find_tools(owner, settings.postgres_bin_dir)
        with err.status("writing") as status:
            await dump_database(owner, file, tools, lambda words: status.update(f"writing: {words}"))
        # Read it back: a truncated or corrupt file must fail now, not at the restore.
        return len((await read_archive(file, tools)).tables)


def restore(
    file: FileArgument,
    force: Annotated[bool, typer.Option("--force", help="Replace a database that holds data.")] = False,
    data_dir: DataDirOption = None,
    database_url: DatabaseUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Restore the database from a file that `mnemon backup` wrote, all of it or nothing."""
    settings = settings_from_flags(data_dir=data_dir, database_url=database_url)
    began = time.monotonic()
    archive, notes = run(_restore_backup(settings, file, force))
    seconds = time.monotonic() - began
    if as_json:
        shown = {"file": str(file), "tables": len(archive.tables), "seconds": round(seconds, 2), "notes": notes}
        print_json(shown)
        return
    out.print(f"{len(archive.tables)} tables restored in {seconds:.1f} s.")
    for note in notes:
        out.print(note, markup=False, soft_wrap=True)
    from mnemon.cli.startup import command_prefix

    prefix = command_prefix(data_dir, database_url)
    err.print(f"[dim]Next:[/] {safe_markup(prefix)}mnemon serve", soft_wrap=True)


async def _restore_backup(settings: "Settings", file: Path, force: bool) -> "tuple[BackupArchive, list[str]]":
    """Restore the file into the database, migrate it, and return the archive and a note per kept kind of record."""
    from mnemon.app import make_services
    from mnemon.cli.services import ensure_database, migrate_to_current, session_url
    from mnemon.db.backup import find_tools, load_archive, read_archive
    from mnemon.db.migrate import check_applied, shipped_migrations

    async with ensure_database(settings, create=True) as url:
        owner = session_url(settings, url)
        tools = await find_tools(owner, settings.postgres_bin_dir)
        archive = await read_archive(file, tools)
        # A file of a newer version is refused before anything is touched.
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
    """Append an entry to every organization's audit log that says a backup was restored."""
    from mnemon.access.audit import record_command
    from mnemon.access.organizations import list_organizations
    from mnemon.cli.services import operator_tx
    from mnemon.scope import Scope

    async with operator_tx(services) as tx:
        names = [organization.name for organization in await list_organizations(tx)]
    for name in names:
        async with services.db.tx(name) as tx:
            record_command(tx, Scope(org_id=name), "restore")


async def apply_survivors(services: "Services", survivors: "list[Survivor]") -> list[str]:
    """Apply the records that must survive the restore to the new database; return a sentence for each kind."""
    return [await survivor.apply_to(services) for survivor in survivors]


async def _prepare_restore(url: str, force: bool) -> "list[Survivor]":
    """Return the records that must survive the restore, read from the database to be replaced.

    Raises Conflict while others are connected, or when there is data and no --force.
    """
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
    """Return what the database holds, once others have disconnected or two seconds have passed.

    PostgreSQL needs a moment to notice that a server which has just been stopped is gone.
    """
    from mnemon.db.backup import count_contents

    for _ in range(_DISCONNECT_TRIES):
        there = await count_contents(url)
        if not there.others:
            break
        await asyncio.sleep(_DISCONNECT_WAIT_S)
    return there
