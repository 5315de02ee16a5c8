"""The program `mnemon`: its commands, registered by their modules.

Commands import what they need inside their functions, so that `--help` does not load the server.
"""

import importlib
import os

import typer

from mnemon.cli import keys, serve

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
    if wanted:
        from importlib.metadata import version

        typer.echo(version("mnemon"))
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
app.add_typer(keys.orgs, name="orgs")
app.add_typer(keys.keys, name="keys")
for _name in COMMAND_MODULES:
    importlib.import_module(f"mnemon.cli.{_name}").register(app)


def main() -> None:
    """Run the command line; the entry point of the package."""
    app()
