"""`mnemon doctor`: everything a newcomer can get wrong, and the line that mends it."""

from typing import TYPE_CHECKING

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.serve import DatabaseUrl, DataDir
from mnemon.cli.terminal import AsJson, out, print_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mnemon.cli.checkup.check import Check
    from mnemon.settings import Settings

LOOK = {"ok": "[green]ok  [/]", "warn": "[yellow]warn[/]", "fail": "[red]fail[/]"}


def register(app: typer.Typer) -> None:
    """The command stands in the program."""
    app.command("doctor")(doctor)


def doctor(data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """Look at everything that can be wrong, and print the line that mends it."""
    import asyncio

    found = asyncio.run(_examine(data_dir=data_dir, database_url=database_url))
    bad = [one for one in found if one.state == "fail"]
    if as_json:
        lines = [{"name": one.name, "state": one.state, "detail": one.detail, "fix": one.fix} for one in found]
        print_json({"ok": not bad, "checks": lines})
    else:
        _show(found)
    raise typer.Exit(1 if bad else 0)


def _show(found: "list[Check]") -> None:
    for one in found:
        out.print(f"{LOOK[one.state]} [bold]{one.name:<15}[/] {safe_markup(one.detail)}", soft_wrap=True)
        if one.fix:
            out.print(f"     {'':<15} [cyan]{safe_markup(one.fix)}[/]", soft_wrap=True)
    counts = {state: sum(one.state == state for one in found) for state in LOOK}
    warnings = "1 warning" if counts["warn"] == 1 else f"{counts['warn']} warnings"
    out.print(f"\n{counts['ok']} ok, {warnings}, {counts['fail']} failed.")


async def _examine(**flags: object) -> "list[Check]":
    import os
    from pathlib import Path

    from mnemon.cli.checkup import machine, models
    from mnemon.cli.checkup.check import failed
    from mnemon.errors import Misconfigured
    from mnemon.settings import load_settings

    found = [machine.python()]
    try:
        settings = load_settings(**flags)
    except Misconfigured as error:
        return [*found, failed("settings", error)]
    found.append(machine.variables(os.environ, Path.cwd()))
    found += [one async for one in _database(settings)]
    found += machine.listening(settings)
    found += [models.model(settings), await models.embedder(settings)]
    found += [one async for one in models.clock(settings)]
    found += models.paths(settings)
    return [*found, machine.completion(Path.home(), os.environ.get("SHELL", ""))]


async def _database(settings: "Settings") -> "AsyncIterator[Check]":
    from mnemon.cli.checkup import database, machine
    from mnemon.cli.checkup.check import failed
    from mnemon.cli.house import database_url
    from mnemon.errors import MnemonError

    if settings.database_url is None:
        for one in machine.data_dir(settings.data_dir):
            yield one
        programs, binaries = database.programs(settings)
        yield programs
        if binaries is None:
            return
        state, there = database.cluster(settings, binaries)
        yield state
        if not there:
            return
    try:
        async with database_url(settings) as url:
            async for one in _look_into(settings, url):
                yield one
    except MnemonError as error:
        yield failed("database", error)


async def _look_into(settings: "Settings", url: str) -> "AsyncIterator[Check]":
    import psycopg

    from mnemon.cli.checkup import audit_log, database, models, pooler
    from mnemon.cli.checkup.check import Check, fail
    from mnemon.db.explain import explain

    embedded = settings.database_url is None
    async with database.connected(url, embedded=embedded) as connection:
        if isinstance(connection, Check):
            yield connection
            return
        try:
            yield await database.server(connection, url)
            schema, complete = await database.schema(connection)
            yield schema
            usable = complete
            if complete:
                rights = await database.privileges(connection)
                usable = rights.state == "ok"
                yield rights
            if settings.prepared_statements and (refused := await pooler.named_statements(url)) is not None:
                yield refused
                return
        except psycopg.Error as error:
            yield fail("database", explain(error, url, embedded=embedded))
            return
    clock, prepared = models.usable_clock(settings), settings.prepared_statements
    if usable:
        owns, embedder = settings.migration_url is None, models.embedder_name(settings)
        async for one in database.inside(url, clock, owns=owns, embedder=embedder, prepared=prepared):
            yield one
    if complete:  # by the owner, whatever the server's role may do
        owner_url = settings.migration_url.get_secret_value() if settings.migration_url else url
        async for one in audit_log.chains(owner_url, clock, prepared=prepared):
            yield one
