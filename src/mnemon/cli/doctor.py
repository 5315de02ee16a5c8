"""`mnemon doctor`: check the installation, the settings, the database and the models, and print fixes.

The checks are in `checkup/`. This file has their order: one that later checks need ends the list where it fails.
"""

from typing import TYPE_CHECKING

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.serve import DatabaseUrlOption, DataDirOption
from mnemon.cli.terminal import JsonOption, out, print_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mnemon.cli.checkup.check import Check
    from mnemon.settings import Settings

STATE_LABELS = {"ok": "[green]ok  [/]", "warn": "[yellow]warn[/]", "fail": "[red]fail[/]"}


def register(app: typer.Typer) -> None:
    """Add the command `doctor` to the Typer app."""
    app.command("doctor")(doctor)


def doctor(data_dir: DataDirOption = None, database_url: DatabaseUrlOption = None, as_json: JsonOption = False) -> None:
    """Check your installation and print how to fix what is wrong. Exits with 1 if a check fails."""
    import asyncio

    found = asyncio.run(_run_checks(data_dir=data_dir, database_url=database_url))
    bad = [one for one in found if one.state == "fail"]
    if as_json:
        lines = [{"name": one.name, "state": one.state, "detail": one.detail, "fix": one.fix} for one in found]
        print_json({"ok": not bad, "checks": lines})
    else:
        _print_checks(found)
    raise typer.Exit(1 if bad else 0)


def _print_checks(found: "list[Check]") -> None:
    """Print each check with its state, detail and fix, then how many passed, warned and failed."""
    for one in found:
        out.print(f"{STATE_LABELS[one.state]} [bold]{one.name:<15}[/] {safe_markup(one.detail)}", soft_wrap=True)
        if one.fix:
            out.print(f"     {'':<15} [cyan]{safe_markup(one.fix)}[/]", soft_wrap=True)
    counts = {state: sum(one.state == state for one in found) for state in STATE_LABELS}
    warnings = "1 warning" if counts["warn"] == 1 else f"{counts['warn']} warnings"
    out.print(f"\n{counts['ok']} ok, {warnings}, {counts['fail']} failed.")


async def _run_checks(**flags: object) -> "list[Check]":
    """Run every check under these settings and return the results; only the first if the settings are invalid."""
    import os
    from pathlib import Path

    from mnemon.cli.checkup import machine, models
    from mnemon.cli.checkup.check import fail_from_error
    from mnemon.errors import Misconfigured
    from mnemon.settings import load_settings

    found = [machine.check_python()]
    try:
        settings = load_settings(**flags)
    except Misconfigured as error:
        return [*found, fail_from_error("settings", error)]
    found.append(machine.check_setting_names(os.environ, Path.cwd()))
    found += [one async for one in _check_database(settings)]
    found += machine.check_listening(settings)
    found += [models.check_model(settings), await models.check_embedder(settings)]
    found += [one async for one in models.check_clock(settings)]
    found += models.check_paths(settings)
    return [*found, machine.check_completion(Path.home(), os.environ.get("SHELL", ""))]


async def _check_database(settings: "Settings") -> "AsyncIterator[Check]":
    """Yield the checks of the database; the embedded one is started for them only if it exists."""
    from mnemon.cli.checkup import database, machine
    from mnemon.cli.checkup.check import fail_from_error
    from mnemon.cli.services import ensure_database
    from mnemon.errors import MnemonError

    if settings.database_url is None:
        for one in machine.check_data_dir(settings.data_dir):
            yield one
        programs, binaries = database.check_programs(settings)
        yield programs
        if binaries is None:
            return
        state, there = database.check_embedded_cluster(settings, binaries)
        yield state
        if not there:
            return
    try:
        async with ensure_database(settings) as url:
            async for one in _check_connected(settings, url):
                yield one
    except MnemonError as error:
        yield fail_from_error("database", error)


async def _check_connected(settings: "Settings", url: str) -> "AsyncIterator[Check]":
    """Yield the checks that need a connection: server, schema, privileges, pooler, contents, audit log."""
    import psycopg

    from mnemon.cli.checkup import audit_log, database, models, pooler
    from mnemon.cli.checkup.check import Check, fail
    from mnemon.db.connect import explain_error

    embedded = settings.database_url is None
    async with database.connect_or_explain(url, embedded=embedded) as connection:
        if isinstance(connection, Check):
            yield connection
            return
        try:
            yield await database.check_postgres(connection, url)
            schema, complete = await database.check_schema(connection)
            yield schema
            if (unfinished := await database.check_restore(connection)) is not None:
                # The fix also grants the privileges that a loaded backup lacks, so nothing after this is worth saying.
                yield unfinished
                return
            usable = complete
            if complete:
                rights = await database.check_privileges(connection)
                usable = rights.state == "ok"
                yield rights
            if settings.prepared_statements and (refused := await pooler.check_named_statements(url)) is not None:
                yield refused
                return
        except psycopg.Error as error:
            yield fail("database", explain_error(error, url, embedded=embedded))
            return
    clock, prepared = models.usable_clock(settings), settings.prepared_statements
    if usable:
        owns, embedder = settings.migration_url is None, models.embedder_name(settings)
        async for one in database.check_contents(
            url, clock, owns=owns, embedder=embedder, data_dir=settings.data_dir, prepared=prepared
        ):
            yield one
    if complete:  # with the owner's URL, so it does not depend on the privileges of the server's role
        owner_url = settings.migration_url.get_secret_value() if settings.migration_url else url
        async for one in audit_log.check_chains(owner_url, clock, prepared=prepared):
            yield one
