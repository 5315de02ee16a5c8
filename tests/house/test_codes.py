"""Every error code in the source is in the registry with its status, and the docs have the registry's rows."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from mnemon import errors
from mnemon.api.codes import BODY_CODES, CODES_BY_STATUS, FRAMEWORK_CODES
from mnemon.api.health import READINESS_FAULTS
from mnemon.api.problems import STATUS_BY_ERROR
from mnemon.llm import failure

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "errors.md"
NOT_THE_SERVER = {"cli", "client"}
_ROW = re.compile(r"^\| (\d{3}|in a body) \| `(\w+)` \| (.+) \|$", re.MULTILINE)
Found = tuple[int | None, str, str]
"""The status where the source tells it, the code, and the place."""


def trees() -> Iterator[tuple[str, ast.Module]]:
    package = ROOT / "src" / "mnemon"
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in NOT_THE_SERVER:
            yield str(path.relative_to(package)), ast.parse(path.read_text(encoding="utf-8"))


def statuses() -> dict[str, int]:
    """The status of every class of errors that has one, by its name; a subclass has its parent's."""
    known = {kind.__name__: status for kind, status in STATUS_BY_ERROR.items()}
    classes = [node for _, tree in trees() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for _ in range(4):  # the tree is less deep than that
        for node in classes:
            for base in node.bases:
                if ast.unparse(base) in known:
                    known.setdefault(node.name, known[ast.unparse(base)])
    return known


def in_source() -> Iterator[Found]:
    known = statuses()
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                yield from in_call(node, known, path)
            elif isinstance(node, ast.ClassDef) and node.name != errors.MnemonError.__name__:
                for line in node.body:
                    if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "code":
                        yield known.get(node.name), ast.literal_eval(line.value), path
            elif isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == "code" and isinstance(value, ast.Constant):
                        yield None, str(value.value), path


def in_call(node: ast.Call, known: dict[str, int], path: str) -> Iterator[Found]:
    """The code that stands in the call of an error, of `problem` or of a connection's refusal."""
    name = ast.unparse(node.func)
    where = f"{path}:{node.lineno}"
    if name == "problem" and isinstance(node.args[3], ast.Constant):
        yield ast.literal_eval(node.args[1]), str(node.args[3].value), where
    for word in node.keywords:
        if isinstance(word.value, ast.Constant) and isinstance(word.value.value, str):
            if word.arg == "code":
                yield known.get(name), word.value.value, where
            elif word.arg == "why" and name == "self._refuse":
                yield ast.literal_eval(node.args[0]), word.value.value, where


def registered() -> set[str]:
    return {code for codes in CODES_BY_STATUS.values() for code in codes} | set(BODY_CODES)


def made_elsewhere() -> set[str]:
    """Codes that stand in a constant."""
    return {
        *READINESS_FAULTS,
        failure.UNAVAILABLE_CODE,
        failure.UNUSABLE_CODE,
        failure.REFUSED_CODE,
        *FRAMEWORK_CODES.values(),
    }


def test_every_code_is_registered_with_its_status() -> None:
    unknown = [
        (status, code, where)
        for status, code, where in in_source()
        if code not in (CODES_BY_STATUS.get(status, {}) | BODY_CODES if status else registered())
    ]
    assert unknown == [], "add them to src/mnemon/api/codes.py"
    assert made_elsewhere() <= registered()


def test_every_row_of_the_registry_has_its_code_in_the_source() -> None:
    assert registered() - {code for _, code, _ in in_source()} - made_elsewhere() == set()


def test_the_docs_have_the_same_rows() -> None:
    assert _ROW.findall(DOCS.read_text(encoding="utf-8")) == rows()


def rows() -> list[tuple[str, str, str]]:
    """Status, code and next step, as the docs write them."""
    at_status = [(str(status), code, step) for status, codes in CODES_BY_STATUS.items() for code, step in codes.items()]
    return at_status + [("in a body", code, step) for code, step in BODY_CODES.items()]


def test_each_next_step_is_a_sentence() -> None:
    for _, code, step in rows():
        assert step.endswith("."), code
        assert "|" not in step, code
