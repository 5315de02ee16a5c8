"""A command that a message tells somebody to run can be run as it stands: it names every option it needs."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from mnemon.cli.main import app

SOURCE = Path(__file__).parents[2] / "src" / "mnemon"
_COMMAND = re.compile(r"`(mnemon [^`]+)`")


def quoted_commands() -> Iterator[tuple[str, str]]:
    """Every command in backquotes in a text of the source that is no docstring, with its place."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                for found in _COMMAND.findall(node.value):
                    yield f"{path.relative_to(SOURCE)}:{node.lineno}", found


def missing_options(words: list[str]) -> list[str]:
    """The required options that a command lacks."""
    command: Any = typer.main.get_command(app)
    for word in words:
        # Not by its class: Typer brings a copy of Click's.
        command = getattr(command, "commands", {}).get(word, command)
    required = [one for one in command.params if one.param_type_name == "option" and one.required and not one.prompt]
    return [one.opts[0] for one in required if not set(one.opts) & set(words)]


def test_a_missing_option_is_found() -> None:
    assert missing_options(["mnemon", "keys", "create"]) == ["--name"]
    assert missing_options(["mnemon", "keys", "create", "--name", "laptop"]) == []


def test_a_quoted_command_names_every_required_option() -> None:
    found = list(quoted_commands())
    assert len(found) > 20
    assert [(place, text, lacks) for place, text in found if (lacks := missing_options(shlex.split(text)))] == []
