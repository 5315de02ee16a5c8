"""`mnemon login` and `mnemon logout`: store a server's address and key under a name, and remove them."""

from typing import Annotated
from urllib.parse import urlsplit

import typer

from mnemon.cli.profiles import DEFAULT_PROFILE, Profile, remove_profile, save_profile
from mnemon.cli.safe_text import safe_markup
from mnemon.cli.server_choice import ServerOptions, check_url, choose_server
from mnemon.cli.terminal import JsonOption, err, out, print_json, report_errors, run

NameOption = Annotated[str, typer.Option("--profile", help="The profile's name.", envvar="MNEMON_PROFILE")]
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def register(app: typer.Typer) -> None:
    """Add the commands `login` and `logout` to the Typer app."""
    app.command("login")(login)
    app.command("logout")(logout)


def login(
    url: Annotated[str, typer.Option("--url", help="The server's address.", envvar="MNEMON_URL", prompt=True)],
    key: Annotated[str, typer.Option("--key", help="The API key.", envvar="MNEMON_KEY", prompt=True, hide_input=True)],
    name: NameOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Store a server and a key for later commands, after the server has accepted the key."""
    with report_errors():
        profile = Profile(url=check_url(url.strip()), key=key.strip())
        choose_server(ServerOptions(url=profile.url, key=profile.key), {}, dict)  # a text that is no key is told here
    run(_check_key(profile))
    with report_errors():
        file = save_profile(name, profile)
    address = urlsplit(profile.url)
    if address.scheme == "http" and address.hostname not in _LOOPBACK:
        err.print("[yellow]! The address is not https, so your key and your data cross the network unencrypted.[/]")
    if as_json:
        print_json({"profile": name, "url": profile.url, "file": str(file)})
    else:
        step = "" if name == DEFAULT_PROFILE else f" Use it with --profile {name} or MNEMON_PROFILE."
        out.print(f"Logged in to {safe_markup(profile.url)} as {safe_markup(name)}.{safe_markup(step)}", soft_wrap=True)


def logout(name: NameOption = DEFAULT_PROFILE, as_json: JsonOption = False) -> None:
    """Remove a stored server and its key. The key itself stays valid; `mnemon keys revoke` ends it."""
    with report_errors():
        removed = remove_profile(name)
    if as_json:
        print_json({"profile": name, "url": removed.url})
    else:
        out.print(f"Logged out of {safe_markup(removed.url)}.", soft_wrap=True)


async def _check_key(profile: Profile) -> None:
    """Raise unless the server is a Mnemon server that knows the key."""
    from mnemon.cli.client_errors import explain_client_errors
    from mnemon_client import ApiError, Mnemon

    async with Mnemon(profile.url, profile.key, timeout=30, retries=1) as client:
        with explain_client_errors(profile.url):
            try:
                await client.request("GET", "/api/jobs", limit=1)
            except ApiError as error:
                # A key without the scope for this request is a good key all the same.
                if error.status != 403 or error.code == "unknown":
                    raise
