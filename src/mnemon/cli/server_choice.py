"""Which server a data command speaks to, and with which key.

    --url, --profile  >  MNEMON_URL, MNEMON_PROFILE  >  the profile `default`  >  the local server

MNEMON_DATA_DIR or MNEMON_DATABASE_URL in the environment name the local server before the profile `default` does. The
key is chosen in the same order; a profile's key goes to the profile's own server only.
"""

import functools
import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from mnemon.cli.profiles import DEFAULT_PROFILE, Profile, load_profiles, profile_not_found
from mnemon.errors import Invalid, Unauthenticated
from mnemon.scope import LOCAL_ORG

_KEY_PATTERN = re.compile(r"mnk_(?P<org>[a-z0-9-]+)_[!-~]+")

UrlOption = Annotated[
    str | None,
    typer.Option("--url", help="The server's address (MNEMON_URL). Default: your profile, else the local server."),
]
KeyOption = Annotated[str | None, typer.Option("--key", help="The API key (MNEMON_KEY).")]
ProfileOption = Annotated[
    str | None, typer.Option("--profile", help="A server that `mnemon login` stored (MNEMON_PROFILE).")
]
KeyOrgOption = Annotated[
    str | None,
    typer.Option("--org", help="The organization. Default: the key's, or `local`.", envvar="MNEMON_ORG"),
]


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """The options of a data command that say where it goes, as they were typed."""

    url: str | None = None
    key: str | None = field(default=None, repr=False)
    profile: str | None = None
    org: str | None = None


@dataclass(frozen=True, kw_only=True)
class RemoteServer:
    """A server that is reached by its address."""

    url: str
    key: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class LocalServer:
    """The server of the data directory, whether it runs or not."""

    org: str
    key: str | None = field(default=None, repr=False)
    """A key to use instead of the operator's rights."""


def takes_server(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with options `--url`, `--key`, `--profile` and `--org`, passed as its argument `server`."""
    written = inspect.signature(command, eval_str=True)
    own = [one for one in written.parameters.values() if one.name != "server"]
    options = {"url": UrlOption, "key": KeyOption, "profile": ProfileOption, "org": KeyOrgOption}
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in options.items()
    ]
    # `--json` is the last of each command's own options; help shows it last of all.
    trailing = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own if one.name == "as_json"]
    leading = [one for one in own if one.name != "as_json"]

    @functools.wraps(command)
    def call(**given: Any) -> None:
        """Call the command with its server options as the argument `server`."""
        where = ServerOptions(**{name: given.pop(name) for name in options})
        command(server=where, **given)

    parameters = [*leading, *added, *trailing]
    call.__signature__ = written.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


def read_environment() -> dict[str, str]:
    """Return the environment, over the variables that `.env` in the working directory sets, as for settings."""
    from dotenv import dotenv_values

    file = Path(".env")
    written = dotenv_values(file) if file.is_file() else {}
    named = {name: value for name, value in written.items() if name.startswith("MNEMON_") and value is not None}
    return {**named, **os.environ}


def choose_server(
    options: ServerOptions, environment: Mapping[str, str], load: Callable[[], Mapping[str, Profile]] = load_profiles
) -> RemoteServer | LocalServer:
    """Return the server that the options, the environment or a profile name; raise Invalid where they disagree."""
    places = _possible_servers(options, environment, load)
    url = next((one.url for one in places if one.url), None)
    # A profile's key is for its own server: it must not reach another one that was named beside it.
    key = next((one.key for one in places if one.key and (not one.is_profile or one.url == url)), None)
    owner = None if key is None else _organization_of(key)
    if owner is not None and options.org not in (None, owner):
        raise Invalid(
            f"The key belongs to the organization {owner!r}, not {options.org!r}. Leave --org out, or use another key."
        )
    if url is None:
        return LocalServer(org=owner or options.org or LOCAL_ORG, key=key)
    if key is None:
        raise Unauthenticated(
            f"There is no key for {url}. Name one with --key or MNEMON_KEY, or store it with "
            f"`mnemon login --url {url}`. `mnemon keys create --name laptop` makes one on the server's machine."
        )
    return RemoteServer(url=check_url(url), key=key)


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A place that may name a server and a key."""

    url: str | None
    key: str | None = field(repr=False)
    is_profile: bool = False


def _possible_servers(
    options: ServerOptions, environment: Mapping[str, str], load: Callable[[], Mapping[str, Profile]]
) -> list[_Place]:
    """Return the possible sources of a server and key (options, environment, profiles), the first to count first."""
    url, key, named = (environment.get(f"MNEMON_{name}", "").strip() or None for name in ("URL", "KEY", "PROFILE"))
    places = [_Place(url=options.url, key=options.key and options.key.strip())]
    if options.profile:
        places.append(_profile_place(options.profile, load()))
    places.append(_Place(url=url, key=key))
    if named:
        places.append(_profile_place(named, load()))
    # A data directory or a database in the environment is the server that is meant, rather than a profile nobody named.
    local = any(environment.get(name) for name in ("MNEMON_DATA_DIR", "MNEMON_DATABASE_URL"))
    if not (options.profile or named) and (options.url or url or not local) and DEFAULT_PROFILE in (known := load()):
        places.append(_profile_place(DEFAULT_PROFILE, known))
    return places


def _profile_place(name: str, known: Mapping[str, Profile]) -> _Place:
    """Return the address and key of the profile of this name; raise if there is none."""
    if name not in known:
        raise profile_not_found(name, known)
    return _Place(url=known[name].url, key=known[name].key, is_profile=True)


def check_url(url: str) -> str:
    """Return the address of a server without a slash at its end; raise Invalid for what is no address."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable():
        raise Invalid(f"{url!r} is not a server's address. Write it like http://127.0.0.1:8765.")
    return url.rstrip("/")


def _organization_of(key: str) -> str:
    """Return the organization that a key names; raise Unauthenticated for a text that is no key."""
    found = _KEY_PATTERN.fullmatch(key)
    if found is None:
        raise Unauthenticated(
            "The key is not valid: keys look like mnk_<org>_<secret>. `mnemon keys create --name laptop` makes one."
        )
    return found["org"]
