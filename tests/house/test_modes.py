"""A test of tests/acceptance is kept from offline mode by what it is about, and by nothing else."""

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def words(node: ast.AST) -> set[str]:
    """Every name that stands in the code, an attribute with its dot."""
    plain = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    arguments = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    return plain | arguments | {f".{one.attr}" for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def defined(paths: Iterable[Path]) -> dict[str, set[str]]:
    """What stands in each function and class of these files, by its name."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {
        node.name: words(node) for path in paths for node in ast.parse(path.read_text()).body if isinstance(node, kinds)
    }


def scripts(name: str, known: dict[str, set[str]], seen: frozenset[str] = frozenset()) -> bool:
    """Whether what is called so reaches for the script, itself or through what it calls."""
    said = known.get(name, set())
    if ".script" in said:
        return True
    return any(scripts(other, known, seen | {name}) for other in said & known.keys() - seen - {name})


def marked(function: Function) -> bool:
    return any(".scripted" in words(one) for one in function.decorator_list)


SUPPORT = defined((TESTS / "support").glob("*.py"))
TAKEN = [
    pytest.param(node, SUPPORT | defined([path]), id=f"{path.stem}:{node.name}")
    for path in sorted((TESTS / "acceptance").glob("test_*.py"))
    for node in ast.parse(path.read_text()).body
    if isinstance(node, Function) and node.name.startswith("test_") and marked(node)
]


@pytest.mark.parametrize(("test", "known"), TAKEN)
def test_a_test_that_is_not_tried_offline_scripts_the_model_or_reads_what_it_was_asked(
    test: Function, known: dict[str, set[str]]
) -> None:
    assert scripts(test.name, known), f"{test.name} holds with any model: take the mark `scripted` off"
