"""The program `mnemon`: its commands, registered by their modules.

Commands import what they need inside their functions, so that `--help` does not load the server.
"""

import importlib
import os
import sys
from collections.abc import Mapping, Sequence

import typer

from mnemon.cli import keys, orgs, serve
from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import err

# Keep each query on one core: BLAS threads would wait for each other longer than they compute.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

app = typer.Typer(
    name="mnemon",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A memory and state server for AI agents.",
)


def _print_version(wanted: bool) -> None:
    """Print the version and exit if the flag `--version` was given."""
    if wanted:
        from importlib.metadata import version

        typer.echo(version("mnemon-server"))
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Declare the options of the program itself, such as `--version`."""


COMMAND_MODULES = (
    "agents",
    "audit",
    "backup",
    "chat",
    "console",
    "custody",
    "demo",
    "doctor",
    "engagement",
    "evaluate",
    "jobs",
    "login",
    "mcp",
    "memory",
    "reembed",
    "runs",
    "sources",
    "unfold",
)
"""Modules of this package whose `register` adds their commands."""

serve.register(app)
app.add_typer(orgs.orgs, name="orgs")
app.add_typer(keys.keys, name="keys")
for _name in COMMAND_MODULES:
    importlib.import_module(f"mnemon.cli.{_name}").register(app)


def main() -> None:
    """Run the command line; the entry point of the package."""
    _refuse_undecodable(sys.argv[1:], os.environ)
    app()


def _refuse_undecodable(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Exit with 2 for an argument or a variable of Mnemon that is not UTF-8.

    Python decodes such bytes to lone surrogates, which nothing further down can print, send or store.
    """
    found = [f"argument {number}" for number, text in enumerate(arguments, 1) if not _is_decoded(text)]
    found += [name for name, text in environment.items() if name.startswith("MNEMON_") and not _is_decoded(text)]
    if found:
        named = ascii(found[0])[1:-1]
        words = "is not UTF-8. Write it in UTF-8, or leave it out."
        err.print(f"[bold red]error[/] {safe_markup(named)} {safe_markup(words)}", soft_wrap=True)
        raise SystemExit(2)


def _is_decoded(text: str) -> bool:
    """Say whether an argument or variable was decoded completely, without lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
