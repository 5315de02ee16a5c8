"""What all commands share: options, output for people or as JSON, running a coroutine, and errors as exit codes."""

import asyncio
import json
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from mnemon import errors
from mnemon.cli.safe_text import SafeConsole, safe_json, safe_markup, safe_text
from mnemon.errors import MnemonError
from mnemon.input_checks import check_name

if TYPE_CHECKING:
    from mnemon.settings import Settings
    from mnemon_client import Mnemon

R = TypeVar("R")

out = SafeConsole(soft_wrap=False, highlight=False)
"""Standard output, for the data a command was asked for."""
err = SafeConsole(stderr=True, highlight=False)
"""Standard error, for progress, hints and errors, so that stdout can be piped."""


def check_option_name(name: str | None) -> str | None:
    """Return the name of a person or persona; an empty one or one with a control character is a usage error."""
    if name is None:
        return None
    if not name.strip():
        raise typer.BadParameter("is empty; give a name, or leave the option out")
    try:
        return check_name(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


async def person_of(client: "Mnemon", user: str | None, persona: str | None) -> dict[str, Any]:
    """Return the person, and the persona if any, as keyword arguments for the client's calls.

    If nobody is named, the person is the one that the key is bound to, and DEFAULT_USER for any other key.
    """
    named = user or await _person_of_key(client) or DEFAULT_USER
    return {"user_id": named} if persona is None else {"user_id": named, "persona_id": persona}


async def _person_of_key(client: "Mnemon") -> str | None:
    """Return the person that the client's key is bound to; None for none, and for a server that cannot tell."""
    from mnemon_client import ApiError

    try:
        own = await client.request("GET", "/api/key")
    except ApiError as error:
        # A server of an earlier release does not know the route.
        if error.code != "no_such_route":
            raise
        return None
    return None if own["userId"] is None else str(own["userId"])


def parse_as_of(text: str | None) -> str | None:
    """Return the time of `--as-of` as the API takes it: a date alone is its first moment; raise Invalid for no time."""
    from mnemon.clock import format_time, parse_time

    try:
        return None if text is None else format_time(parse_time(text))
    except ValueError:
        raise errors.Invalid(
            f"--as-of takes an ISO 8601 time, like 2026-04-12 or 2026-04-12T15:22:00Z, not {text!r}."
        ) from None


def age_text(at: str) -> str:
    """Return how long ago a time of the API was, in its largest unit: `2d ago`, `3h ago`, `15m ago`, `just now`."""
    from mnemon.clock import FileClock, SystemClock, parse_time

    file = settings_from_flags().clock_file
    now = (SystemClock() if file is None else FileClock(file)).now()
    minutes = int((now - parse_time(at)).total_seconds() // 60)
    for unit, size in (("d", 24 * 60), ("h", 60), ("m", 1)):
        if minutes >= size:
            return f"{minutes // size}{unit} ago"
    return "just now"


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
OrgOption = Annotated[str, typer.Option("--org", help="The organization.", envvar="MNEMON_ORG")]
DEFAULT_USER = "me"
UserOption = Annotated[
    str | None,
    typer.Option(
        "--user",
        "-u",
        help=f"The person. Default: the key's, else `{DEFAULT_USER}`.",
        envvar="MNEMON_USER",
        callback=check_option_name,
    ),
]
PersonaOption = Annotated[
    str | None,
    typer.Option("--persona", "-p", help="The persona the person talks to.", callback=check_option_name),
]

EXIT_CODES: tuple[tuple[type[MnemonError], int], ...] = (
    (errors.NotFound, 3),
    (errors.NotAllowed, 4),
    (errors.Unauthenticated, 4),
    (errors.Unavailable, 5),
    (errors.Misconfigured, 1),
    (errors.Invalid, 2),
)
"""The first class that matches decides; every other error exits with 1."""


def print_json(value: Any) -> None:
    """Print the value as JSON on stdout."""
    # Not by the console, which would wrap lines and colour them.
    sys.stdout.write(safe_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n")


def print_piece(text: str) -> None:
    """Write a piece of a streamed reply to stdout and flush, without wrapping or styling it."""
    sys.stdout.write(safe_text(text))
    sys.stdout.flush()


def settings_from_flags(**flags: Any) -> "Settings":
    """Load the settings, overridden by these flags; print an unusable setting as an error and exit."""
    from mnemon.settings import load_settings

    with report_errors():
        return load_settings(**flags)


def run(work: Coroutine[Any, Any, R]) -> R:
    """Run the coroutine; a MnemonError becomes a sentence on stderr and an exit code, never a traceback."""
    with report_errors(), asyncio.Runner(loop_factory=_new_event_loop) as runner:
        return runner.run(work)


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's event loop where it is installed, since it is faster, else asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn a MnemonError raised in the block into a sentence on stderr and an exit code; Ctrl-C exits with 130."""
    try:
        yield
    except MnemonError as error:
        err.print(f"[bold red]error[/] {safe_markup(error.detail)}", soft_wrap=True)
        raise typer.Exit(exit_code(error)) from None
    except KeyboardInterrupt:
        # 128 + SIGINT, as shells report it.
        raise typer.Exit(130) from None


def exit_code(error: MnemonError) -> int:
    """Return the exit code: 1 failure, 2 usage, 3 not found, 4 not allowed, 5 unavailable."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1)
