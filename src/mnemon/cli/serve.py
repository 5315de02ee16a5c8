"""`mnemon serve`, `mnemon worker` and `mnemon migrate`."""

import asyncio
import gc
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemon.cli.terminal import AsJson, chosen, err, out, print_json, run

if TYPE_CHECKING:
    from mnemon.basement import Basement
    from mnemon.settings import Settings

DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Where the embedded database lives.")]
DatabaseUrl = Annotated[str | None, typer.Option("--database-url", help="A PostgreSQL to use instead.")]
_COLLECT_AFTER = 20_000
"""New objects after which the collector looks at them; Python's own figure, 700, is a fraction of one request's."""

_OTHER_FILES = 256
"""Files that are open beside connections: the database's, the model's, the log."""

_HOW_IT_STOPS = "Ctrl-C stops it: what runs has 10 s to finish (13 s in a process of its own), the rest is handed back."

_SWITCH_S = 0.001
"""Measured beside a thread that indexes 100,000 memories: the loop's delay at p99 falls from 14 to 8 ms, CPU stays."""


def register(app: typer.Typer) -> None:
    """The commands stand in the program."""
    app.command("serve")(serve)
    app.command("worker")(worker)
    app.command("migrate")(migrate)


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port to listen on; 0 takes a free one.")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    with_worker: Annotated[bool, typer.Option("--worker/--no-worker", help="Run jobs in this process too.")] = True,
) -> None:
    """Start the server; everything it needs is made at the first start."""
    from mnemon.cli.welcome import command_prefix

    settings = chosen(host=host, port=port, data_dir=data_dir, database_url=database_url)
    run(_serve(settings, with_worker, command_prefix(data_dir, database_url), over_http=database_url is not None))


async def _serve(settings: "Settings", with_worker: bool, prefix: str, *, over_http: bool) -> None:
    from mnemon.api.connections import allow_open_files
    from mnemon.api.listening import Listening, bound
    from mnemon.app import make_app
    from mnemon.cli.house import opened_house
    from mnemon.cli.lifetime_log import log_lifetime, warn_without_tls
    from mnemon.cli.native_heap import trimmed_heap
    from mnemon.cli.one_item import isolation_of
    from mnemon.cli.operator import assert_embedder
    from mnemon.cli.serving import Address, announce_server
    from mnemon.cli.welcome import console_link, first_key, greet
    from mnemon.logs import configure_logs
    from mnemon.spans import start_spans

    configure_logs(settings.log_level)
    if settings.otel:
        start_spans()
    sock = bound(settings.host, settings.port)  # first: a start that fails on its address must change nothing
    with sock, ExitStack() as lifetime:  # around the house, so that `stopped` is logged when everything is closed
        async with trimmed_heap(), opened_house(settings, migrated=True, create=True) as basement:
            await assert_role(basement)
            await assert_embedder(basement)
            allow_open_files(settings.max_connections + _OTHER_FILES)
            server = Listening(make_app(basement, worker=with_worker, isolation=isolation_of(basement)), sock)
            await server.answering()
            settle_heap()
            shorten_switches()
            key = await first_key(basement)  # shown once, so it is made by a start that succeeded
            link = await console_link(basement, server.port)
            greet(settings, server.port, key=key, link=link, prefix=prefix, over_http=over_http)
            warn_without_tls(settings)
            address = Address(host=settings.host, port=server.port)
            lifetime.enter_context(announce_server(settings.data_dir, address))
            lifetime.enter_context(log_lifetime("server", settings, worker=with_worker, port=server.port))
            await server.finished()


def settle_heap() -> None:
    """What was made at the start stays: the collector need not walk through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER)


def shorten_switches() -> None:
    """Let the event loop run within a millisecond of asking while a thread computes; Python would wait for five."""
    sys.setswitchinterval(_SWITCH_S)


async def assert_role(basement: "Basement") -> None:
    """Every transaction runs as the role that row-level security binds, or the server does not start."""
    from mnemon.db.role import assert_bound

    async with basement.db.tx(None) as tx:
        await assert_bound(tx)


def worker(data_dir: DataDir = None, database_url: DatabaseUrl = None) -> None:
    """Run jobs beside a server started with --no-worker; any number of workers may run."""
    run(_work(chosen(data_dir=data_dir, database_url=database_url)))


async def _work(settings: "Settings") -> None:
    from prometheus_client import start_http_server

    from mnemon.api.listening import listen_refusal
    from mnemon.app import make_runner
    from mnemon.cli.house import opened_house
    from mnemon.cli.lifetime_log import log_lifetime
    from mnemon.cli.native_heap import trimmed_heap
    from mnemon.cli.one_item import isolation_of
    from mnemon.cli.operator import assert_embedder
    from mnemon.errors import Misconfigured
    from mnemon.logs import configure_logs, logs_are_json
    from mnemon.spans import start_spans

    configure_logs(settings.log_level)
    if settings.otel:
        start_spans()
    with ExitStack() as lifetime:  # as for the server
        async with trimmed_heap(), opened_house(settings) as basement:
            await assert_role(basement)
            await assert_embedder(basement)
            if settings.worker_metrics_port is not None:
                try:
                    start_http_server(settings.worker_metrics_port, settings.host)
                except OSError as error:
                    step = "set MNEMON_WORKER_METRICS_PORT to a free port."
                    refusal = listen_refusal(settings.host, settings.worker_metrics_port, error, fix=step)
                    raise Misconfigured(refusal) from None
            asked = asyncio.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, asked.set)
            async with make_runner(basement, isolation=isolation_of(basement)).working():
                settle_heap()
                shorten_switches()
                metrics_port = settings.worker_metrics_port
                lifetime.enter_context(
                    log_lifetime("worker", settings, worker=True, port=None, metrics_port=metrics_port)
                )
                if not logs_are_json():  # the line `started` says the same
                    err.print(f"Working, {settings.worker_concurrency} items at a time. {_HOW_IT_STOPS}")
                await asked.wait()


def migrate(data_dir: DataDir = None, database_url: DatabaseUrl = None, as_json: AsJson = False) -> None:
    """Bring the database to this version's schema."""
    from mnemon.cli.house import bring_up_to_date, tables_without_rights
    from mnemon.cli.house import database_url as found_url

    settings = chosen(data_dir=data_dir, database_url=database_url)

    async def work() -> tuple[int, list[str]]:
        async with found_url(settings, create=True) as url:
            lacking = await tables_without_rights(settings, url)
            return await bring_up_to_date(settings, url), lacking

    applied, mended = run(work())
    if as_json:
        print_json({"applied": applied, "mended": mended})
    else:
        if mended:
            out.print(f"The role mnemon_app has its privileges again on: {', '.join(mended)}.", soft_wrap=True)
        out.print(f"{applied} migrations applied." if applied else "The database is at this version already.")
