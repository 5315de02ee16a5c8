"""What every command does the same way: output for people or for programs, and errors as exit codes."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from mnemon import errors
from mnemon.cli.safe_text import SafeConsole, safe_json, safe_markup, safe_text
from mnemon.errors import MnemonError
from mnemon.input_checks import check_name

if TYPE_CHECKING:
    from mnemon.settings import Settings

R = TypeVar("R")

out = SafeConsole(soft_wrap=False, highlight=False)
"""Data, for people."""
err = SafeConsole(stderr=True, highlight=False)
"""Progress, hints and errors."""


def check_option_name(name: str | None) -> str | None:
    """The name of a person or a persona, which is neither empty nor has a control character; else a usage error."""
    if name is None:
        return None
    if not name.strip():
        raise typer.BadParameter("is empty; name somebody, or leave the option out")
    try:
        return check_name(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
OrgOption = Annotated[str, typer.Option("--org", help="The organization.", envvar="MNEMON_ORG")]
UserOption = Annotated[
    str, typer.Option("--user", "-u", help="The person.", envvar="MNEMON_USER", callback=check_option_name)
]
PersonaOption = Annotated[
    str | None,
    typer.Option("--persona", "-p", help="The persona the person speaks with.", callback=check_option_name),
]

EXIT_CODES: tuple[tuple[type[MnemonError], int], ...] = (
    (errors.NotFound, 3),
    (errors.NotAllowed, 4),
    (errors.Unauthenticated, 4),
    (errors.Unavailable, 5),
    (errors.Misconfigured, 1),
    (errors.Invalid, 2),
)


def print_json(value: Any) -> None:
    """The value as JSON on stdout."""
    sys.stdout.write(safe_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n")


def print_piece(text: str) -> None:
    """A piece of a reply on stdout as it comes, neither wrapped nor styled."""
    sys.stdout.write(safe_text(text))
    sys.stdout.flush()


def settings_from_flags(**flags: Any) -> "Settings":
    """The settings in force with these flags on top; an unusable one is a sentence and an exit code."""
    from mnemon.settings import load_settings

    with report_errors():
        return load_settings(**flags)


def run(work: Coroutine[Any, Any, R]) -> R:
    """Runs the work; an error of ours becomes a sentence on stderr and an exit code, never a traceback."""
    with report_errors(), asyncio.Runner(loop_factory=_new_event_loop) as runner:
        return runner.run(work)


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop where it is installed; it does the same with less time."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


@contextmanager
def report_errors() -> Iterator[None]:
    """Errors of ours inside leave as a sentence and an exit code."""
    try:
        yield
    except MnemonError as error:
        err.print(f"[bold red]error[/] {safe_markup(error.detail)}", soft_wrap=True)
        raise typer.Exit(exit_code(error)) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def exit_code(error: MnemonError) -> int:
    """1 failure, 2 usage, 3 not found, 4 not allowed, 5 unavailable."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 1)


async def wait_with_spinner(work: Awaitable[R], words: str) -> R:
    """Waits for the work behind a spinner on a terminal."""
    with err.status(words):
        return await work
