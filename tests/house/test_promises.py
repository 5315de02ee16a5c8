"""docs/promises.md: each promise stands in the README or in docs/honesty.md, and each test it names exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split(" | "))
    for line in PAGE.splitlines()
    if line.startswith("| ") and line != "| promise | test |"
]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def on_one_line(text: str) -> str:
    return " ".join(text.split())


PROMISING = on_one_line(
    "\n".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/honesty.md"))
)


@cache
def functions_of(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))


def test_there_are_promises() -> None:
    assert len(ROWS) > 20
    assert len({promise for promise, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("promise", "tests"), ROWS, ids=[row[0][:40] for row in ROWS])
def test_a_promise_is_made_and_kept_by_a_test_that_exists(promise: str, tests: str) -> None:
    assert on_one_line(promise) in PROMISING
    named = NAMED.findall(tests)
    assert named
    assert NAMED.sub("", tests).strip(", ") == "", "a cell holds names of tests alone"
    for path, name in named:
        assert (ROOT / path).is_file(), path
        assert name in functions_of(path), f"{path}::{name}"
