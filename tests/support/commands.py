"""The program's commands, read from the program itself."""

import inspect
from collections.abc import Iterator

import typer
from typer.models import CommandInfo


def commands(program: typer.Typer) -> set[str]:
    """Every command of the program by its words."""
    return {words for words, _ in _registered(program, ())}


def data_commands(program: typer.Typer) -> set[str]:
    """The commands that speak to a server: those that take its address."""
    return {
        words
        for words, command in _registered(program, ())
        if command.callback is not None
        and {"url", "key", "profile", "org"} <= set(inspect.signature(command.callback).parameters)
    }


def _registered(program: typer.Typer, before: tuple[str, ...]) -> Iterator[tuple[str, CommandInfo]]:
    for command in program.registered_commands:
        yield " ".join((*before, str(command.name))), command
    for group in program.registered_groups:
        assert group.typer_instance is not None
        yield from _registered(group.typer_instance, (*before, str(group.name)))
