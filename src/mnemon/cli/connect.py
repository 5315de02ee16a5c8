"""Speak to the server that a data command chose: a remote one, the local one that runs, or one inside this process.

All three are reached over HTTP through the client, so a command prints the same whichever it is.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from mnemon.cli.client_errors import explain_client_errors
from mnemon.cli.server_choice import LocalServer, ServerOptions, choose_server, read_environment
from mnemon.cli.terminal import run, settings_from_flags
from mnemon.errors import Misconfigured
from mnemon_client import Mnemon

if TYPE_CHECKING:
    from mnemon.settings import Settings

R = TypeVar("R")
_REPLY_TIMEOUT_S = 600.0
"""How long a command waits for an answer; a model may take minutes."""
_RETRIES = 2


def call_server(
    server: ServerOptions,
    work: Callable[[Mnemon], Awaitable[R]],
    *,
    worker: bool = False,
    forgets: bool = False,
    body_bytes: int = 0,
) -> R:
    """Run the work with a client of the chosen server and return its result; print an error as a sentence and exit.

    The rest matters only where no server runs: whether the work needs jobs to be run, forgets something, and how large
    a request it sends.
    """

    async def run_work() -> R:
        """Run the work with a client of the chosen server and return its result."""
        async with open_client(server, worker=worker, forgets=forgets, body_bytes=body_bytes) as client:
            return await work(client)

    return run(run_work())


@asynccontextmanager
async def open_client(
    server: ServerOptions, *, worker: bool = False, forgets: bool = False, body_bytes: int = 0
) -> AsyncIterator[Mnemon]:
    """Yield a client of the chosen server; its errors are raised as MnemonErrors, each with a next step."""
    chosen = choose_server(server, read_environment())
    if not isinstance(chosen, LocalServer):
        async with _client_of(chosen.url, chosen.key) as client:
            yield client
        return
    # Not as flags: they would hide an unusable MNEMON_HOST or MNEMON_PORT.
    settings = settings_from_flags().model_copy(update={"host": "127.0.0.1", "port": 0})
    served = None if body_bytes > settings.max_body_bytes else _running_server(chosen, settings)
    if served is not None:
        async with _client_of(*served) as client:
            yield client
        return
    _require_data(settings)
    from mnemon.cli.inprocess import serve_command

    if body_bytes > settings.max_body_bytes:  # a limit for others' requests, not for the operator's own file
        settings = settings.model_copy(update={"max_body_bytes": body_bytes})
    served_here = serve_command(settings, chosen.org, worker=worker, forgets=forgets)
    async with served_here as (url, key), _client_of(url, chosen.key or key) as client:
        yield client


async def first_items(pages: AsyncIterator[R], most: int) -> list[R]:
    """Return the first items of a list that the client reads page by page, requesting no page beyond them."""
    found: list[R] = []
    async for item in pages:
        found.append(item)
        if len(found) == most:
            break
    return found


@asynccontextmanager
async def _client_of(url: str, key: str) -> AsyncIterator[Mnemon]:
    """Yield a client of this server with this key; errors of the client become errors of the CLI."""
    async with Mnemon(url, key, timeout=_REPLY_TIMEOUT_S, retries=_RETRIES) as client:
        with explain_client_errors(url):
            yield client


def _running_server(chosen: LocalServer, settings: "Settings") -> tuple[str, str] | None:
    """Return the URL and the key of the running server of the same data directory and database; None without one."""
    from mnemon.cli.server_address import database_name, running_server

    served = running_server(settings.data_dir)
    if served is None or served.database != database_name(settings) or not served.accepts_connections():
        return None
    if chosen.key is not None:
        return served.url, chosen.key
    from mnemon.access.local_operator import operator_key

    return (served.url, operator_key(chosen.org, served.token)) if served.token else None


def _require_data(settings: "Settings") -> None:
    """Raise Misconfigured where there is no database to serve: a data command never creates one."""
    from mnemon.db.embedded.data_dir import has_database

    if settings.database_url is None and not has_database(settings.data_dir):
        folder = settings.data_dir.expanduser().absolute()
        raise Misconfigured(
            f"There is no Mnemon data directory at {folder}; start one with `mnemon serve`, or name a server with "
            "--url. MNEMON_DATA_DIR names a directory elsewhere."
        )
