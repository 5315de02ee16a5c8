"""What `mnemon serve` prints and logs when it starts.

At the first start the organization `local` and its first key are made, and the key is shown once. Every start prints
the address, a link that signs in to the console, and the next commands; the log gets a line for the start and one for
the stop.
"""

import os
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import structlog

from mnemon.access import store as access
from mnemon.access.audit import record_command
from mnemon.access.keys import create_key
from mnemon.access.organizations import create_organization
from mnemon.access.signin import create_link
from mnemon.cli.checkup.machine import unknown_settings
from mnemon.cli.safe_text import safe_markup
from mnemon.cli.server_address import EVERY_INTERFACE, ServerAddress
from mnemon.cli.terminal import out
from mnemon.scope import LOCAL_ORG, Scope
from mnemon.services import Services
from mnemon.settings import Settings

_EXAMPLE_MEMORY = '{"userId": "me", "type": "PROFILE", "content": "I live in Austin"}'


async def ensure_first_key(services: Services) -> str | None:
    """Make the first key of the organization `local` and return it; None when the organization has had one."""
    scope = Scope(org_id=LOCAL_ORG)
    async with services.db.tx(LOCAL_ORG) as tx:
        await create_organization(tx)
        # Revoked keys count: whoever revoked the last one does not want a new one at the next start.
        if await access.list_keys(tx, scope):
            return None
        key, text = await create_key(tx, scope, name="first key")
        record_command(tx, scope, "serve: first key", key.id)
        return text


async def make_console_link(services: Services, port: int) -> str:
    """Make a URL that signs the operator in to the console of `local`, once."""
    async with services.db.tx(LOCAL_ORG) as tx:
        token = await create_link(tx, Scope(org_id=LOCAL_ORG), actor="operator")
        record_command(tx, Scope(org_id=LOCAL_ORG), "serve: console link")
    return f"{_server_url(services.settings, port)}/sign-in/{token}"


def command_prefix(data_dir: Path | None, database_url: str | None) -> str:
    """Return the environment assignment that lets a command in another terminal use the database of these flags.

    Empty when there are none. A URL is not repeated, since it may hold a password.
    """
    if database_url is not None:
        return "MNEMON_DATABASE_URL='<the URL of --database-url>' "
    return f"MNEMON_DATA_DIR={shlex.quote(str(data_dir.expanduser().resolve()))} " if data_dir is not None else ""


def print_welcome(settings: Settings, port: int, *, key: str | None, link: str, prefix: str, over_http: bool) -> None:
    """Print the server's address, the console link and the next commands, and at the first start the key.

    Goes to stdout, since stderr carries the log. `prefix` is put before commands; `over_http` shows a request with
    curl instead, for a database whose URL is left out of the prefix.
    """
    offline = "offline: rules, no language model" if settings.model == "offline" else settings.model
    before = safe_markup(prefix)
    # The URL is one that this machine can open: 0.0.0.0 itself is none.
    everywhere = (
        f" and at every other address of this machine ({settings.host})" if _listens_everywhere(settings) else ""
    )
    out.print(
        f"[bold]Mnemon[/] answers at {_server_url(settings, port)}{safe_markup(everywhere)} · {offline}", soft_wrap=True
    )
    out.print(f"Console, signed in (once, within 15 minutes): {link}", soft_wrap=True)
    if key is None:
        out.print(f"[dim]A new key:[/] {before}mnemon keys create --name laptop", soft_wrap=True)
        return
    out.print(f"\nFirst key of the organization [bold]{LOCAL_ORG}[/], shown this once:\n\n  {key}\n", soft_wrap=True)
    if over_http:
        request = f"-H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '{_EXAMPLE_MEMORY}'"
        tries = f"curl {_server_url(settings, port)}/api/memories {request}"
    else:
        commands = ("remember 'I live in Austin'", "recall 'where do I live?'", "chat")
        tries = " · ".join(f"{before}mnemon {command}" for command in commands)
    out.print(f"[dim]Try it:[/] {tries}", soft_wrap=True)
    out.print(f"[dim]See it filled:[/] {before}mnemon demo", soft_wrap=True)


def _listens_everywhere(settings: Settings) -> bool:
    """Say whether the server listens on every network interface."""
    return settings.host in EVERY_INTERFACE


def _server_url(settings: Settings, port: int) -> str:
    """Return the server's URL at this port."""
    return ServerAddress(host=settings.host, port=port).url


log = structlog.get_logger(__name__)
_TLS_ADVICE = (
    "Keys, memories and console sessions cross the network unencrypted. Put a proxy that speaks TLS in front and let "
    "only it reach this port, or listen on 127.0.0.1."
)


def warn_without_tls(settings: Settings) -> None:
    """Log a warning when other machines can reach the server, which speaks plain HTTP."""
    if not settings.is_loopback:
        log.warning("listening_without_tls", host=settings.host, next_step=_TLS_ADVICE)


@contextmanager
def log_lifetime(
    service: str, settings: Settings, *, worker: bool, port: int | None, metrics_port: int | None = None
) -> Iterator[None]:
    """Log the start with the settings an operator needs, unknown setting names, and the stop with the running time.

    URLs of models and databases are left out, since they may hold a password.
    """
    began = time.monotonic()
    log.info(
        "started",
        service=service,
        version=version("mnemon-server"),
        host=settings.host if port is not None or metrics_port is not None else None,
        port=port,
        metrics_port=metrics_port,
        worker=worker,
        worker_concurrency=settings.worker_concurrency if worker else None,
        model=settings.model,
        reflection_model=settings.reflection_model,
        embedder=settings.embedder,
        database="external" if settings.database_url is not None else "embedded",
        log_level=settings.log_level,
    )
    # A misspelt setting has no effect and no other sign.
    for unknown in unknown_settings(os.environ, Path.cwd()):
        log.warning("setting_unknown", name=unknown.name, place=unknown.place, next_step=unknown.fix)
    try:
        yield
    finally:
        log.info("stopped", service=service, seconds=round(time.monotonic() - began, 1))
