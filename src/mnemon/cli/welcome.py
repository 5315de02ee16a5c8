"""The first start: an organization, its key shown once, and where to go next."""

import shlex
from pathlib import Path

from mnemon.access import store as access
from mnemon.access.audit import record_command
from mnemon.access.keys import create_key
from mnemon.access.organizations import create_organization
from mnemon.access.signin import make_link
from mnemon.basement import Basement
from mnemon.cli.safe_text import safe_markup
from mnemon.cli.serving import EVERY_INTERFACE, Address
from mnemon.cli.terminal import out
from mnemon.scope import Scope
from mnemon.settings import Settings

LOCAL = "local"
_AUSTIN = '{"userId": "me", "type": "PROFILE", "content": "I live in Austin"}'


async def first_key(basement: Basement) -> str | None:
    """A key of the organization `local`, when it has never had one; None at every later start."""
    scope = Scope(org_id=LOCAL)
    async with basement.db.tx(LOCAL) as tx:
        await create_organization(tx)
        if await access.keys(scope, tx):
            return None
        key, text = await create_key(tx, scope, name="first key")
        record_command(tx, scope, "serve: first key", key.id)
        return text


async def console_link(basement: Basement, port: int) -> str:
    """An address that signs the operator in to the console of `local`, once."""
    async with basement.db.tx(LOCAL) as tx:
        token = await make_link(tx, Scope(org_id=LOCAL), actor="operator")
        record_command(tx, Scope(org_id=LOCAL), "serve: console link")
    return f"{_url(basement.settings, port)}/sign-in/{token}"


def command_prefix(data_dir: Path | None, database_url: str | None) -> str:
    """What a command in another terminal needs in front to reach the database that these flags name.

    A URL is not repeated: it may hold a password.
    """
    if database_url is not None:
        return "MNEMON_DATABASE_URL='<the URL of --database-url>' "
    return f"MNEMON_DATA_DIR={shlex.quote(str(data_dir.expanduser().resolve()))} " if data_dir is not None else ""


def greet(settings: Settings, port: int, *, key: str | None, link: str, prefix: str, over_http: bool) -> None:
    """Says where the server is and how to look inside, and at the first start the key; stderr is left to the log.

    `prefix` stands before commands; `over_http` shows a request instead, where the prefix is not to be copied.
    """
    offline = "offline: rules, no language model" if settings.model == "offline" else settings.model
    before = safe_markup(prefix)
    everywhere = f" and at every other address of this machine ({settings.host})" if _everywhere(settings) else ""
    out.print(f"[bold]Mnemon[/] answers at {_url(settings, port)}{safe_markup(everywhere)} · {offline}", soft_wrap=True)
    out.print(f"Console, signed in (once, within 15 minutes): {link}", soft_wrap=True)
    if key is None:
        out.print(f"[dim]A new key:[/] {before}mnemon keys create --name laptop", soft_wrap=True)
        return
    out.print(f"\nFirst key of the organization [bold]{LOCAL}[/], shown this once:\n\n  {key}\n", soft_wrap=True)
    if over_http:
        request = f"-H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '{_AUSTIN}'"
        tries = f"curl {_url(settings, port)}/api/memories {request}"
    else:
        commands = ("remember 'I live in Austin'", "recall 'where do I live?'", "chat")
        tries = " · ".join(f"{before}mnemon {command}" for command in commands)
    out.print(f"[dim]Try it:[/] {tries}", soft_wrap=True)
    out.print(f"[dim]See it filled:[/] {before}mnemon demo", soft_wrap=True)


def _everywhere(settings: Settings) -> bool:
    return settings.host in EVERY_INTERFACE


def _url(settings: Settings, port: int) -> str:
    return Address(host=settings.host, port=port).url
