"""`mnemon backup FILE` and `mnemon restore FILE`.

A restore replaces the whole database, in this order: read the file and check that its migrations are known, refuse
while others are connected or data would be lost, take the survivors out of the old database, load the file together
with them in one transaction, migrate it to this version, and apply the survivors to it. What is killed before that
transaction commits has changed nothing; what is killed after it is finished by the next `migrate` or `serve`, and until
then no command uses the database (`db/pending_restore.py`).
"""

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.serve import DatabaseUrlOption, DataDirOption
from mnemon.cli.terminal import JsonOption, err, out, print_json, report_errors, run, settings_from_flags

if TYPE_CHECKING:
    from mnemon.db.backup import BackupArchive, DatabaseContents
    from mnemon.db.pending_restore import CarriedRecords
    from mnemon.settings import Settings

_DISCONNECT_TRIES = 10
_DISCONNECT_WAIT_S = 0.2
FileArgument = Annotated[Path, typer.Argument(help="The backup file.")]


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
    from mnemon.cli.services import ensure_database, refuse_pending_restore, session_url
    from mnemon.db.backup import dump_database, find_tools, read_archive

    async with ensure_database(settings) as url:
        owner = session_url(settings, url)
        await refuse_pending_restore(settings, owner)
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
    if data_dir is not None and settings.database_url is not None and database_url is None:
        # Where the variable won, a restore beside a database replaced the very database it was to leave alone.
        raise typer.BadParameter(
            "names a directory, but MNEMON_DATABASE_URL (or database_url in a settings file) names another database. "
            "To restore into the directory, run this without that setting; to restore into that database, name it with "
            "--database-url.",
            param_hint="--data-dir",
        )
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
    from mnemon.cli.services import ensure_database, finish_restore, migrate_to_current, session_url
    from mnemon.db.backup import find_tools, load_archive, read_archive
    from mnemon.db.migrate import check_applied, shipped_migrations
    from mnemon.db.pending_restore import pending_script

    async with ensure_database(settings, create=True) as url:
        owner = session_url(settings, url)
        tools = await find_tools(owner, settings.postgres_bin_dir)
        archive = await read_archive(file, tools)
        # A file of a newer version is refused before anything is touched.
        check_applied(shipped_migrations(), dict(archive.migrations))
        carried = await _prepare_restore(settings, owner, force)
        with err.status("restoring") as status:
            say = lambda words: status.update(f"restoring: {words}")  # noqa: E731 - one line, used once
            await load_archive(owner, file, tools, say, total=len(archive.tables), addition=pending_script(carried))
        await migrate_to_current(settings, url)
        return archive, await finish_restore(settings, url)


async def _prepare_restore(settings: "Settings", url: str, force: bool) -> "list[CarriedRecords]":
    """Return the records that must survive the restore, read from the database to be replaced.

    Raises Conflict while others are connected, or when there is data and no --force.
    """
    from mnemon.app import make_clock
    from mnemon.cli.survivors import read_survivors
    from mnemon.errors import Conflict

    there = await _wait_for_disconnects(url)
    new = "--data-dir NEW_DIRECTORY" if settings.database_url is None else "--database-url URL_OF_AN_EMPTY_ONE"
    if there.others:
        raise Conflict(
            f"{there.others} other connections use this database. "
            "Stop `mnemon serve` and `mnemon worker`, then restore."
        )
    if there.rows and not force:
        raise Conflict(
            f"This database holds data ({there.rows:,} rows in {there.tables} tables), and a restore would replace all "
            f"of it. Restore into a new one ({new}), or add --force to replace this one."
        )
    return await read_survivors(url, settings.data_dir, make_clock(settings).now(), empty=not there.rows)


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
