"""The program `mnemon`. Heavy imports happen inside commands, so that `--help` answers at once."""

import importlib
import os

import typer

from mnemon.cli import keys, serve

# One query is answered on one core: threads of BLAS would wait for each other longer than they compute.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

app = typer.Typer(
    name="mnemon",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A memory and state server for AI agents: a memory they can account for.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("mnemon"))
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print it."),
) -> None:
    """Options of the program itself."""


COMMAND_MODULES = (
    "agents",
    "audit",
    "backup",
    "bench",
    "chat",
    "console",
    "custody",
    "demo",
    "doctor",
    "engagement",
    "jobs",
    "mcp",
    "memory",
    "reembed",
    "runs",
    "sources",
)
"""Modules that register their commands themselves."""

serve.register(app)
app.add_typer(keys.orgs, name="orgs")
app.add_typer(keys.keys, name="keys")
for _name in COMMAND_MODULES:
    importlib.import_module(f"mnemon.cli.{_name}").register(app)


def main() -> None:
    """Runs the command line."""
    app()
