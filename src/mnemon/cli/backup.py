"""`mnemon backup FILE` and `mnemon restore FILE`."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.serve import DatabaseUrl, DataDir
from mnemon.cli.terminal import AsJson, chosen, err, out, print_json, run, told

if TYPE_CHECKING:
    from mnemon.basement import Basement
    from mnemon.db.contents import Contents
    from mnemon.db.dump import Archive
    from mnemon.settings import Settings

_MOMENTS = 10
_MOMENT_S = 0.2
File = Annotated[Path, typer.Argument(help="The backup's file.")]


class Survivor(Protocol):
    """What has to outlive the database that a restore replaces, such as the ledger of what was forgotten."""

    async def take(self, url: str) -> None:
        """Remembers it from the database that is about to be replaced; not called when there is none."""
        ...

    async def give(self, basement: "Basement") -> str:
        """Applies it to the restored database; says in a sentence what that did."""
        ...


def _ledger() -> Survivor:
    from mnemon.custody.survivor import LedgerSurvivor

    return LedgerSurvivor()


def _revocations() -> Survivor:
    from mnemon.access.survivor import RevocationSurvivor

    return RevocationSurvivor()


def _withdrawals() -> Survivor:
    from mnemon.memory.sources.survivor import WithdrawalSurvivor

    return WithdrawalSurvivor()


SURVIVORS: tuple[Callable[[], Survivor], ...] = (_ledger, _revocations, _withdrawals)
"""Makes each thing that outlives a restore."""


def register(app: typer.Typer) -> None:
    """The commands stand in the program."""
    app.command("backup")(backup)
    app.command("restore")(restore)


def backup(
    file: File,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Write the whole database into one file, as of one moment; a running server may go on."""
    settings = chosen(data_dir=data_dir, database_url=database_url)
    with told():
        _refuse_existing(file, force)
    began = time.monotonic()
    tables = run(_backup(settings, file))
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


async def _backup(settings: "Settings", file: Path) -> int:
    from mnemon.cli.house import database_url, session_url
    from mnemon.db.dump import dump, read_archive, tools_for

    async with database_url(settings) as url:
        owner = session_url(settings, url)
        tools = await tools_for(owner, settings.postgres_bin_dir)
        with err.status("writing") as status:
            await dump(owner, file, tools, lambda words: status.update(f"writing: {words}"))
        # A backup that cannot be read is none: reading it back is part of making it.
        return len((await read_archive(file, tools)).tables)


def restore(
    file: File,
    force: Annotated[bool, typer.Option("--force", help="Replace a database that holds something.")] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    as_json: AsJson = False,
) -> None:
    """Bring the database back from a file that `mnemon backup` wrote; all of it, or nothing is changed."""
    settings = chosen(data_dir=data_dir, database_url=database_url)
    began = time.monotonic()
    archive, notes = run(_restore(settings, file, force))
    seconds = time.monotonic() - began
    if as_json:
        shown = {"file": str(file), "tables": len(archive.tables), "seconds": round(seconds, 2), "notes": notes}
        print_json(shown)
        return
    out.print(f"{len(archive.tables)} tables are back, in {seconds:.1f} s.")
    for note in notes:
        out.print(note, markup=False, soft_wrap=True)
    from mnemon.cli.welcome import command_prefix

    prefix = command_prefix(data_dir, database_url)
    err.print(f"[dim]Go on with:[/] {safe_markup(prefix)}mnemon serve", soft_wrap=True)


async def _restore(settings: "Settings", file: Path, force: bool) -> "tuple[Archive, list[str]]":
    from mnemon.app import opened
    from mnemon.cli.house import bring_up_to_date, database_url, session_url
    from mnemon.db.dump import load, read_archive, tools_for
    from mnemon.db.migrate import refuse_what_differs, shipped

    async with database_url(settings, create=True) as url:
        owner = session_url(settings, url)
        tools = await tools_for(owner, settings.postgres_bin_dir)
        archive = await read_archive(file, tools)
        refuse_what_differs(shipped(), dict(archive.migrations))
        survivors = await _make_way(owner, force)
        with err.status("restoring") as status:
            say = lambda words: status.update(f"restoring: {words}")  # noqa: E731 - one line, used once
            await load(owner, file, tools, say, total=len(archive.tables))
        await bring_up_to_date(settings, url)
        async with opened(settings, url) as basement:
            notes = await after_restore(basement, survivors)
            await _record_restore(basement)
            return archive, notes


async def _record_restore(basement: "Basement") -> None:
    """Every organization's audit log says that a backup was brought back after its entries before."""
    from mnemon.access.audit import record_command
    from mnemon.access.organizations import organizations
    from mnemon.cli.operator import operator_tx
    from mnemon.scope import Scope

    async with operator_tx(basement) as tx:
        everyone = [one.name for one in await organizations(tx)]
    for name in everyone:
        async with basement.db.tx(name) as tx:
            record_command(tx, Scope(org_id=name), "restore")


async def after_restore(basement: "Basement", survivors: "list[Survivor]") -> list[str]:
    """The restored database has what outlived the old one; a sentence for each."""
    return [await survivor.give(basement) for survivor in survivors]


async def _make_way(url: str, force: bool) -> "list[Survivor]":
    """Nobody is connected, nothing is lost without --force, and what must survive is taken along."""
    from mnemon.errors import Conflict

    there = await _left_alone(url)
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
            await survivor.take(url)
    return survivors


async def _left_alone(url: str) -> "Contents":
    """What the database holds, once those who have just hung up are gone: the server needs a moment to notice."""
    from mnemon.db.contents import contents

    for _ in range(_MOMENTS):
        there = await contents(url)
        if not there.others:
            break
        await asyncio.sleep(_MOMENT_S)
    return there
