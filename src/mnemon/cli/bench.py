"""`mnemon bench`: measures recall in the open and writes the report."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import AsJson, chosen, err, out, print_json, run

if TYPE_CHECKING:
    from mnemon.cli.benchmarks.figures import Figures
    from mnemon.cli.benchmarks.locomo import Conversation
    from mnemon.settings import Settings

DATA = Path("../shared/data/locomo-dev.json")


def register(app: typer.Typer) -> None:
    """The command stands in the program."""
    app.command("bench")(bench)


def bench(
    data: Annotated[
        Path, typer.Option(help="Conversations in LoCoMo's format; left out if there is no such file.")
    ] = DATA,
    sizes: Annotated[str, typer.Option(help="Memories of the people whose recall is timed.")] = "100,1000,10000,100000",
    rows: Annotated[int, typer.Option(min=0, help="Memories in the whole database while it is timed.")] = 1_000_000,
    peers: Annotated[bool, typer.Option(help="Measure other stores too, where they are installed.")] = True,
    peer_sizes: Annotated[str, typer.Option(help="Texts the other stores are timed with.")] = "1000,10000",
    report: Annotated[Path, typer.Option(help="Folder for tables and plots.")] = Path("docs/benchmarks"),
    as_json: AsJson = False,
) -> None:
    """Measure recall: how well it finds evidence, how fast, and other stores beside it. Takes about 25 minutes."""
    timed, others = _numbers(sizes), _numbers(peer_sizes)
    settings = chosen()
    from mnemon.cli.benchmarks.figures import Figures
    from mnemon.cli.benchmarks.locomo import load
    from mnemon.cli.benchmarks.targets import targets

    talks = load(data) if data.exists() else []
    if not talks:
        err.print("[dim]There is no --data: quality is left out. docs/recall.md says where to get conversations.[/]")
    figures = Figures()
    written = run(_measured(settings, talks, timed, rows, others if peers else None, figures, report))
    if as_json:
        print_json({"report": [str(path) for path in written], "figures": _plain(figures)})
        return
    for one in targets(figures):
        if one.measured is not None:
            sign = "reached" if one.reached else "NOT reached"
            out.print(f"{sign}: {one.name} {one.measured:.3f} (target {one.wanted:g})")
    out.print("Written: " + ", ".join(map(str, written)))


async def _measured(
    settings: "Settings",
    talks: "list[Conversation]",
    sizes: list[int],
    rows: int,
    peer_sizes: list[int] | None,
    figures: "Figures",
    folder: Path,
) -> list[Path]:
    from mnemon.app import opened
    from mnemon.cli.benchmarks import doors, machine, report
    from mnemon.cli.benchmarks import figures as measuring
    from mnemon.cli.house import bring_up_to_date
    from mnemon.clock import SystemClock

    clock, before = SystemClock(), machine.load()
    began = clock.now()
    async with _scratch(settings) as (url, peers_url):
        await bring_up_to_date(settings, url)
        here = machine.machine(url)
        async with opened(settings, url) as basement, doors.answering(basement) as client:
            if talks:
                await measuring.measure_quality(basement, client, talks, figures, _say)
            if sizes:
                await measuring.measure_speed(basement, client, sizes, rows, figures, _say)
            if peer_sizes is not None:
                await measuring.measure_peers(basement, peers_url, talks, peer_sizes, figures, _say)
    taken = report.Run(
        machine=here,
        began=began,
        ended=clock.now(),
        load_before=before,
        load_after=machine.load(),
        embedder=settings.embedder,
    )
    return report.write(figures, folder, taken)


@asynccontextmanager
async def _scratch(settings: "Settings") -> AsyncIterator[tuple[str, str]]:
    """Two databases beside the one in force, for Mnemon and for the peers, gone afterwards."""
    import psycopg
    from psycopg.conninfo import make_conninfo

    from mnemon.cli.house import database_url

    async with (
        database_url(settings) as url,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as connection,
    ):
        names = [f"mnemon_bench_{secrets.token_hex(4)}" for _ in range(2)]
        try:
            for name in names:
                await connection.execute(f'create database "{name}"')
            ours, theirs = (make_conninfo(url, dbname=name) for name in names)
            async with await psycopg.AsyncConnection.connect(theirs, autocommit=True) as inside:
                await inside.execute("create extension vector")
            yield ours, theirs
        finally:
            for name in names:
                await connection.execute(f'drop database if exists "{name}" with (force)')


def _numbers(text: str) -> list[int]:
    try:
        return [int(one) for one in text.split(",") if one.strip()]
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a list of numbers like 100,1000") from error


def _plain(figures: "Figures") -> dict[str, object]:
    from dataclasses import asdict

    return asdict(figures)


def _say(words: str) -> None:
    from mnemon.clock import SystemClock

    err.print(f"[dim]{SystemClock().now():%H:%M:%S} {safe_markup(words)}[/]")
