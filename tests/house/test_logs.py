"""docs/logs.md lists every event that the code logs, with its levels and its fields, and no other."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mnemon.logs import NEXT_STEPS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "logs.md"
LEVELS = {"debug", "info", "warning", "error"}
_LOGGER = re.compile(r"(^|[._])(log|words)$|^log\.bind\(")
_ROW = re.compile(r"^\| `(?P<event>\w+)` \| (?P<levels>[\w, ]+) \| (?P<fields>.*?) \| (?P<todo>.+?) \|$", re.MULTILINE)


@dataclass
class Event:
    """An event, over all places that log it."""

    levels: set[str] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)
    more: bool = False
    """Whether some of its fields cannot be read off the call."""


def in_code() -> dict[str, Event]:
    found: dict[str, Event] = {}
    for path in sorted((ROOT / "src" / "mnemon").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "structlog" in text:
            for call, method, bound in _calls(ast.parse(text)):
                _note(found, call, method, f"{path.name}:{call.lineno}").more |= bound
    return found


def _calls(tree: ast.AST) -> Iterator[tuple[ast.Call, str, bool]]:
    """Every call of a logger, its method, and whether the logger had fields of its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            target = ast.unparse(node.func.value)
            if node.func.attr in LEVELS | {"log", "exception"} and _LOGGER.search(target):
                yield node, node.func.attr, target != "log"


def _note(found: dict[str, Event], call: ast.Call, method: str, where: str) -> Event:
    name = call.args[1] if method == "log" else call.args[0]
    assert isinstance(name, ast.Constant), f"{where}: an event's name stands in the call, so that it can be looked up"
    event = found.setdefault(str(name.value), Event())
    if method == "log":
        event.levels |= {n.attr.lower() for n in ast.walk(call.args[0]) if isinstance(n, ast.Attribute)} & LEVELS
    else:
        event.levels.add("error" if method == "exception" else method)
    named = {"exception" if one.arg == "exc_info" else one.arg for one in call.keywords if one.arg is not None}
    event.fields |= named | ({"exception"} if method == "exception" else set())
    event.more = event.more or any(one.arg is None for one in call.keywords)
    return event


def with_next_step() -> set[str]:
    """The events whose warnings say what to do: the call does, or the table in logs.py."""
    return {name for name, event in in_code().items() if "next_step" in event.fields} | set(NEXT_STEPS)


def in_docs() -> dict[str, tuple[set[str], set[str]]]:
    return {
        row["event"]: (set(re.findall(r"\w+", row["levels"])), set(re.findall(r"`(\w+)`", row["fields"])))
        for row in _ROW.finditer(DOCS.read_text(encoding="utf-8"))
    }


def test_every_event_is_in_the_table_and_nothing_else() -> None:
    # `library` is made of what libraries log, in logs.py itself.
    assert set(in_docs()) == set(in_code()) | {"library"}


def test_levels_are_the_same() -> None:
    documented = in_docs()
    wrong = {name: (event.levels, documented[name][0]) for name, event in in_code().items()}
    assert {name: both for name, both in wrong.items() if both[0] != both[1]} == {}


def test_fields_are_the_same() -> None:
    documented = in_docs()
    wrong = []
    for name, event in in_code().items():
        fields = documented[name][1]
        event.fields |= {"next_step"} if name in NEXT_STEPS else set()
        if event.fields - fields or (fields - event.fields and not event.more):
            wrong.append((name, sorted(event.fields ^ fields)))
    assert wrong == []


def test_every_warning_and_error_says_what_to_do() -> None:
    troubling = {name for name, (levels, _) in in_docs().items() if levels & {"warning", "error"}}
    assert troubling - with_next_step() == set()
    assert set(NEXT_STEPS) - troubling == set()
