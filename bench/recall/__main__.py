"""`python -m bench.recall`: measure recall's quality and speed beside other stores, and write the report."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import psycopg
import typer
from psycopg.conninfo import make_conninfo

from bench.recall import doors, machine, report
from bench.recall import figures as measuring
from bench.recall.figures import BenchmarkFigures
from bench.recall.locomo import LocomoConversation, load_conversations
from bench.recall.targets import evaluate_targets
from mnemon.app import make_services
from mnemon.cli.safe_text import safe_markup
from mnemon.cli.services import ensure_database, migrate_to_current
from mnemon.cli.terminal import JsonOption, err, out, print_json, run, settings_from_flags
from mnemon.clock import SystemClock
from mnemon.settings import Settings

DEFAULT_DATA = Path("../shared/data/locomo-dev.json")


def measure(
    data: Annotated[
        Path, typer.Option(help="Conversations in LoCoMo's format. Without the file, quality is not measured.")
    ] = DEFAULT_DATA,
    sizes: Annotated[
        str, typer.Option(help="Comma-separated: time recall for people with so many memories.")
    ] = "100,1000,10000,100000",
    rows: Annotated[int, typer.Option(min=0, help="Memories in the whole database while recall is timed.")] = 1_000_000,
    peers: Annotated[bool, typer.Option(help="Measure other stores too, where they are installed.")] = True,
    peer_sizes: Annotated[
        str, typer.Option(help="Comma-separated: time the other stores with so many texts.")
    ] = "1000,10000",
    folder: Annotated[Path, typer.Option("--report", help="Folder for tables and plots.")] = Path("docs/benchmarks"),
    as_json: JsonOption = False,
) -> None:
    """Measure the quality and speed of recall, and of other stores. Takes about 25 minutes."""
    timed, others = _parse_numbers(sizes), _parse_numbers(peer_sizes)
    settings = settings_from_flags()
    conversations = load_conversations(data) if data.exists() else []
    if not conversations:
        err.print(
            "[dim]The file of --data does not exist: quality is not measured. docs/recall.md says where to get one.[/]"
        )
    figures = BenchmarkFigures()
    written = run(_run_benchmarks(settings, conversations, timed, rows, others if peers else None, figures, folder))
    if as_json:
        print_json({"report": [str(path) for path in written], "figures": asdict(figures)})
        return
    for one in evaluate_targets(figures):
        if one.measured is not None:
            sign = "reached" if one.is_reached else "NOT reached"
            out.print(f"{sign}: {one.name} {one.measured:.3f} (target {one.wanted:g})")
    out.print("Written: " + ", ".join(map(str, written)))


async def _run_benchmarks(
    settings: Settings,
    conversations: list[LocomoConversation],
    sizes: list[int],
    rows: int,
    peer_sizes: list[int] | None,
    figures: BenchmarkFigures,
    folder: Path,
) -> list[Path]:
    clock, before = SystemClock(), machine.load_average()
    began = clock.now()
    async with _scratch_databases(settings) as (url, peers_url):
        await migrate_to_current(settings, url)
        here = machine.describe_machine(url)
        async with make_services(settings, url) as services, doors.bench_client(services) as client:
            if conversations:
                await measuring.measure_quality(services, client, conversations, figures, _print_progress)
            if sizes:
                await measuring.measure_speed(services, client, sizes, rows, figures, _print_progress)
            if peer_sizes is not None:
                await measuring.measure_peers(services, peers_url, conversations, peer_sizes, figures, _print_progress)
    taken = report.BenchmarkRun(
        machine=here,
        began=began,
        ended=clock.now(),
        load_before=before,
        load_after=machine.load_average(),
        embedder=settings.embedder,
    )
    return report.write_report(figures, folder, taken)


@asynccontextmanager
async def _scratch_databases(settings: Settings) -> AsyncIterator[tuple[str, str]]:
    """Create two databases on the configured server, for Mnemon and for the peers; drop them at the end."""
    async with (
        ensure_database(settings) as url,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as connection,
    ):
        names = [f"mnemon_bench_{secrets.token_hex(4)}" for _ in range(2)]
        try:
            for name in names:
                await connection.execute(f'create database "{name}"')
            mnemon_url, peers_url = (make_conninfo(url, dbname=name) for name in names)
            # Mnemon's migrations make the extension in its own database; the peers expect to find it.
            async with await psycopg.AsyncConnection.connect(peers_url, autocommit=True) as inside:
                await inside.execute("create extension vector")
            yield mnemon_url, peers_url
        finally:
            for name in names:
                await connection.execute(f'drop database if exists "{name}" with (force)')


def _parse_numbers(text: str) -> list[int]:
    try:
        return [int(one) for one in text.split(",") if one.strip()]
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a list of numbers like 100,1000") from error


def _print_progress(words: str) -> None:
    err.print(f"[dim]{SystemClock().now():%H:%M:%S} {safe_markup(words)}[/]")


if __name__ == "__main__":
    typer.run(measure)
