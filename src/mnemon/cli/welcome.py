"""The first start: an organization, its key shown once, and where to go next."""

from mnemon.access.audit import record_command
from mnemon.access.keys import create_key
from mnemon.access.organizations import create_organization
from mnemon.access.signin import make_link
from mnemon.basement import Basement
from mnemon.cli.terminal import out
from mnemon.scope import Scope
from mnemon.settings import Settings

LOCAL = "local"


async def first_key(basement: Basement) -> str | None:
    """A key of the organization `local`, when this start made it; None at every later one."""
    async with basement.db.tx(LOCAL) as tx:
        if not await create_organization(tx):
            return None
        key, text = await create_key(tx, Scope(org_id=LOCAL), name="first key")
        record_command(tx, Scope(org_id=LOCAL), "serve: first key", key.id)
        return text


async def console_link(basement: Basement, port: int) -> str:
    """An address that signs the operator in to the console of `local`, once."""
    async with basement.db.tx(LOCAL) as tx:
        token = await make_link(tx, Scope(org_id=LOCAL), actor="operator")
        record_command(tx, Scope(org_id=LOCAL), "serve: console link")
    return f"{_url(basement.settings, port)}/sign-in/{token}"


def greet(settings: Settings, port: int, *, key: str | None, link: str) -> None:
    """Says where the server is and how to look inside, and at the first start the key; stderr is left to the log."""
    offline = "offline: rules, no language model" if settings.model == "offline" else settings.model
    out.print(f"[bold]Mnemon[/] answers at {_url(settings, port)} · {offline}")
    out.print(f"Console, signed in (once, within 15 minutes): {link}", soft_wrap=True)
    if key is None:
        return
    out.print(f"\nFirst key of the organization [bold]{LOCAL}[/], shown this once:\n\n  {key}\n", soft_wrap=True)
    out.print("[dim]Try it:[/] mnemon remember 'I live in Austin' · mnemon recall 'where do I live?' · mnemon chat")
    out.print("[dim]See it filled:[/] mnemon demo")


def _url(settings: Settings, port: int) -> str:
    return f"http://{settings.host}:{port}"
