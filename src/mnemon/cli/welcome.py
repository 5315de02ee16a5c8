"""The first start: an organization, its key shown once, and where to go next."""

from mnemon.access.keys import create_key
from mnemon.access.organizations import create_organization
from mnemon.basement import Basement
from mnemon.cli.terminal import err, out
from mnemon.scope import Scope
from mnemon.settings import Settings

LOCAL = "local"


async def first_key(basement: Basement) -> str | None:
    """A key of the organization `local`, when this start made it; None at every later one."""
    async with basement.db.tx(LOCAL) as tx:
        if not await create_organization(tx):
            return None
        _, text = await create_key(tx, Scope(org_id=LOCAL), name="first key")
        return text


def greet(settings: Settings, port: int, key: str | None) -> None:
    """Says where the server is and, at the first start, the key."""
    url = f"http://{'localhost' if settings.loopback else settings.host}:{port}"
    offline = " · offline: rules, no language model" if settings.model == "offline" else f" · {settings.model}"
    out.print(f"[bold]Mnemon[/] answers at {url}{offline}")
    if key is None:
        return
    out.print(f"\nFirst key of the organization [bold]{LOCAL}[/], shown this once:\n\n  {key}\n")
    err.print(f"[dim]Try it:[/] mnemon remember 'I live in Austin' · curl {url}/readyz")
