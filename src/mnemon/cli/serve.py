"""`mnemon serve`, `mnemon worker` and `mnemon migrate`.

The order of a start: take the port, open and migrate the database, check role and embedder, answer requests, and only
then make the first key and print the welcome.
"""

import asyncio
import gc
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemon.cli.terminal import JsonOption, err, out, print_json, run, settings_from_flags

if TYPE_CHECKING:
    from mnemon.services import Services
    from mnemon.settings import Settings

DataDirOption = Annotated[Path | None, typer.Option("--data-dir", help="The directory of the embedded database.")]
DatabaseUrlOption = Annotated[
    str | None, typer.Option("--database-url", help="The URL of a PostgreSQL to use instead.")
]
_GC_THRESHOLD = 20_000
"""New objects before the garbage collector runs. Python's default, 700, is a fraction of what one request makes."""

_OTHER_FILES = 256
"""Open files to allow for beside client connections: the database's, the model's, the log."""

_STOP_HINT = (
    "Ctrl-C stops it: running items get 10 s to finish (13 s in a process of their own), others are handed back."
)

_SWITCH_INTERVAL_S = 0.001
"""Measured beside a thread that indexes 100,000 memories: p99 loop delay falls from 14 to 8 ms at the same CPU."""


def register(app: typer.Typer) -> None:
    """Add the commands `serve`, `worker` and `migrate` to the Typer app."""
    app.command("serve")(serve)
    app.command("worker")(worker)
    app.command("migrate")(migrate)


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port to listen on; 0 picks a free one.")] = None,
    data_dir: DataDirOption = None,
    database_url: DatabaseUrlOption = None,
    with_worker: Annotated[bool, typer.Option("--worker/--no-worker", help="Run jobs in this process too.")] = True,
) -> None:
    """Start the server. The first start creates the database, an organization and its key."""
    from mnemon.cli.startup import command_prefix

    settings = settings_from_flags(host=host, port=port, data_dir=data_dir, database_url=database_url)
    run(_run_server(settings, with_worker, command_prefix(data_dir, database_url), over_http=database_url is not None))


async def _run_server(settings: "Settings", with_worker: bool, prefix: str, *, over_http: bool) -> None:
    """Open the database and serve until a signal stops it; `prefix` and `over_http` are for `print_welcome`."""
    from mnemon.api.connections import allow_open_files
    from mnemon.api.server import HttpServer, bind_socket
    from mnemon.app import make_app
    from mnemon.cli.native_heap import trimmed_heap
    from mnemon.cli.one_item import isolation_of
    from mnemon.cli.server_address import ServerAddress, announce_server, database_name
    from mnemon.cli.services import assert_embedder, open_services
    from mnemon.cli.startup import ensure_first_key, log_lifetime, make_console_link, print_welcome, warn_without_tls
    from mnemon.logs import configure_logs
    from mnemon.spans import start_spans

    configure_logs(settings.log_level)
    if settings.otel:
        start_spans()
    # Bind before anything else: a start that fails on its address must change nothing.
    sock = bind_socket(settings.host, settings.port)
    # `lifetime` is outside the services, so that `stopped` is logged after everything is closed.
    with sock, ExitStack() as lifetime:
        async with trimmed_heap(), open_services(settings, migrated=True, create=True) as services:
            await assert_role(services)
            await assert_embedder(services)
            allow_open_files(settings.max_connections + _OTHER_FILES)
            app = make_app(services, worker=with_worker, isolation=isolation_of(services))
            server = HttpServer(app, sock)
            await server.wait_until_ready()
            freeze_heap()
            set_switch_interval()
            key = await ensure_first_key(services)  # shown once, so only a start that succeeded makes it
            link = await make_console_link(services, server.port)
            print_welcome(settings, server.port, key=key, link=link, prefix=prefix, over_http=over_http)
            warn_without_tls(settings)
            address = ServerAddress(
                host=settings.host, port=server.port, database=database_name(settings), token=app.state.operator.token
            )
            lifetime.enter_context(announce_server(settings.data_dir, address))
            lifetime.enter_context(log_lifetime("server", settings, worker=with_worker, port=server.port))
            await server.wait_closed()


def freeze_heap() -> None:
    """Exempt the objects made at the start from garbage collection, which would walk them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD)


def set_switch_interval() -> None:
    """Let the event loop interrupt a computing thread after 1 ms; Python's default is 5 ms."""
    sys.setswitchinterval(_SWITCH_INTERVAL_S)


async def assert_role(services: "Services") -> None:
    """Refuse to start unless transactions run as the role that row-level security binds."""
    from mnemon.db.migrate import check_role

    async with services.db.tx(None) as tx:
        await check_role(tx)


def worker(data_dir: DataDirOption = None, database_url: DatabaseUrlOption = None) -> None:
    """Run background jobs, for a server started with --no-worker. You can run any number of workers."""
    run(_run_worker(settings_from_flags(data_dir=data_dir, database_url=database_url)))


async def _run_worker(settings: "Settings") -> None:
    """Take and run jobs until a signal stops it; serve metrics too if a port is set for them."""
    from prometheus_client import start_http_server

    from mnemon.api.server import listen_refusal
    from mnemon.app import make_runner
    from mnemon.cli.native_heap import trimmed_heap
    from mnemon.cli.one_item import isolation_of
    from mnemon.cli.services import assert_embedder, open_services
    from mnemon.cli.startup import log_lifetime
    from mnemon.errors import Misconfigured
    from mnemon.logs import configure_logs, logs_are_json
    from mnemon.spans import start_spans

    configure_logs(settings.log_level)
    if settings.otel:
        start_spans()
    with ExitStack() as lifetime:  # outside the services, as for the server
        async with trimmed_heap(), open_services(settings) as services:
            await assert_role(services)
            await assert_embedder(services)
            if settings.worker_metrics_port is not None:
                try:
                    start_http_server(settings.worker_metrics_port, settings.host)
                except OSError as error:
                    step = "set MNEMON_WORKER_METRICS_PORT to a free port."
                    refusal = listen_refusal(settings.host, settings.worker_metrics_port, error, fix=step)
                    raise Misconfigured(refusal) from None
            stop_requested = asyncio.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, stop_requested.set)
            async with make_runner(services, isolation=isolation_of(services)).run_in_background():
                freeze_heap()
                set_switch_interval()
                metrics_port = settings.worker_metrics_port
                lifetime.enter_context(
                    log_lifetime("worker", settings, worker=True, port=None, metrics_port=metrics_port)
                )
                if not logs_are_json():  # the log line `started` says the same
                    err.print(f"Running jobs, {settings.worker_concurrency} at a time. {_STOP_HINT}")
                await stop_requested.wait()


def migrate(
    data_dir: DataDirOption = None, database_url: DatabaseUrlOption = None, as_json: JsonOption = False
) -> None:
    """Apply pending migrations, finish an interrupted restore, and create the database if there is none."""
    from mnemon.cli.services import (
        ensure_database,
        finish_restore,
        migrate_to_current,
        print_finished_restore,
        tables_without_rights,
    )

    settings = settings_from_flags(data_dir=data_dir, database_url=database_url)

    async def apply_migrations() -> tuple[int, list[str], list[str]]:
        """Apply pending migrations; return how many, the tables without rights, and what a finished restore did."""
        async with ensure_database(settings, create=True) as url:
            lacking = await tables_without_rights(settings, url)
            applied = await migrate_to_current(settings, url)
            return applied, lacking, await finish_restore(settings, url)

    applied, repaired, finished = run(apply_migrations())
    if as_json:
        print_json({"applied": applied, "mended": repaired, "restored": finished})
    else:
        print_finished_restore(finished)
        if repaired:
            out.print(f"Privileges of the role mnemon_app restored on: {', '.join(repaired)}.", soft_wrap=True)
        out.print(
            f"{applied} migrations applied." if applied else "No migrations to apply: the database is up to date."
        )
