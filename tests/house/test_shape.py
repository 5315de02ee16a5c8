"""The house rules that a reader of one file cannot see: sizes, names, excepts, docstrings, imports."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from generate_sync_client import GENERATED as WRITTEN
from generate_sync_client import generated

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "mnemon"
CLIENT = ROOT / "client" / "src" / "mnemon_client"
FILES = sorted([*SOURCE.rglob("*.py"), *CLIENT.rglob("*.py")])
GENERATED = {CLIENT / name for name in WRITTEN}
PUBLIC_PACKAGES = {CLIENT, SOURCE / "client", SOURCE / "integrations"}
"""Packages whose `__init__` gives names, since other people's programs import them."""
DATA_TABLES: frozenset[Path] = frozenset()
"""Files that are one table of data and may be long; none at the moment."""

MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 60
VAGUE = {"service", "manager", "engine", "utils", "util", "helpers", "helper", "common", "core", "base", "misc"}
NO_VERBS = {"A", "An", "All", "As", "Each", "Every", "For", "How", "If", "In", "It", "Its", "Of", "The", "This", "To"}
NO_VERBS |= {"What", "When", "Where", "Whether", "Which", "Who", "Whom", "Whose", "Why"}
"""Words that begin a first line which names something instead of saying what the function does."""
BROAD_EXCEPTS = {"jobs/runner.py": 1, "api/middleware.py": 1, "supervisor.py": 1, "reflection/reflect.py": 1}
"""The only places that catch everything: the job runner, the door, the task supervisor, and a section of the
reflection, whose fault goes on to the runner once the other sections are stored."""

trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def named(path: Path) -> str:
    return str(path.relative_to(SOURCE if path.is_relative_to(SOURCE) else CLIENT.parent))


def test_files_stay_within_the_wall() -> None:
    long = {
        named(p): n
        for p in FILES
        if (n := p.read_text().count("\n")) > MOST_FILE_LINES and p not in GENERATED | DATA_TABLES
    }
    assert long == {}


def test_functions_stay_within_the_wall() -> None:
    long = [
        f"{named(path)}:{node.lineno} {node.name}"
        for path, tree in trees.items()
        if path not in GENERATED
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= MOST_FUNCTION_LINES
    ]
    assert long == []


def test_no_file_has_a_vague_name() -> None:
    assert [named(p) for p in FILES if set(p.stem.split("_")) & VAGUE or re.search(r"_v\d+$", p.stem)] == []


def test_every_room_says_what_it_is_for_and_nothing_else() -> None:
    wrong = []
    for path, tree in trees.items():
        if path.name == "__init__.py" and path.parent not in PUBLIC_PACKAGES:
            docstring = ast.get_docstring(tree)
            if not docstring or len(tree.body) != 1:
                wrong.append(named(path))
    assert wrong == []


def test_every_module_has_a_docstring() -> None:
    assert [named(path) for path, tree in trees.items() if not ast.get_docstring(tree)] == []


def test_every_function_says_in_one_line_what_it_does() -> None:
    """The first line is a sentence in the imperative; special methods and overloads may go without."""
    wrong = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_special(node):
                first = (ast.get_docstring(node) or "").partition("\n")[0]
                if not first.endswith((".", "…")) or first.split()[0] in NO_VERBS:
                    wrong.append(f"{named(path)}:{node.lineno} {node.name}: {first}")
    assert wrong == []


def _is_special(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    overloads = any(isinstance(one, ast.Name) and one.id == "overload" for one in node.decorator_list)
    return overloads or (node.name.startswith("__") and node.name.endswith("__"))


def test_broad_excepts_stand_at_supervised_boundaries_only() -> None:
    found: dict[str, int] = {}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler) and _is_broad(node.type):
                reraises = isinstance(last := node.body[-1], ast.Raise) and last.exc is None
                if not reraises:
                    found[named(path)] = found.get(named(path), 0) + 1
    assert found == BROAD_EXCEPTS


def _is_broad(kind: ast.expr | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(_is_broad(element) for element in kind.elts)
    return kind is None or (isinstance(kind, ast.Name) and kind.id in {"Exception", "BaseException"})


def test_only_the_clock_tells_the_time() -> None:
    pattern = re.compile(r"datetime\.(now|utcnow|today)\(|time\.time\(")
    assert [named(p) for p in FILES if pattern.search(p.read_text()) and named(p) != "clock.py"] == []


def test_nothing_is_left_for_later() -> None:
    pattern = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError|#.*\bfor now\b|\bplaceholder\b")
    assert [f"{named(p)}: {m[0]}" for p in FILES if (m := pattern.search(p.read_text()))] == []


def test_handlers_are_short() -> None:
    long = []
    for path, tree in trees.items():
        if path.parent.name != "api":
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.AsyncFunctionDef) and _is_route(node):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
                if lines > 15:
                    long.append(f"{named(path)}:{node.lineno} {node.name}: {lines}")
    assert long == []


def _is_route(node: ast.AsyncFunctionDef) -> bool:
    return any(
        isinstance(d, ast.Call)
        and isinstance(d.func, ast.Attribute)
        and d.func.attr in {"get", "post", "put", "patch", "delete"}
        for d in node.decorator_list
    )


def test_imports_go_down_only() -> None:
    linted = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert linted.returncode == 0, linted.stdout


@pytest.mark.parametrize("word", ["/" + "work/", "/" + "tmp/guide", "pypi" + ".org"])
def test_no_path_or_index_of_some_machine_is_committed(word: str) -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    if not tracked:
        pytest.skip("not a git checkout")
    readable = [ROOT / name for name in tracked if not name.endswith((".png", ".svg")) and (ROOT / name).is_file()]
    assert [str(p.relative_to(ROOT)) for p in readable if word in p.read_text(encoding="utf-8", errors="replace")] == []


def test_the_sync_client_is_fresh() -> None:
    for name in WRITTEN:
        assert (CLIENT / name).read_text() == generated(name), "run scripts/generate_sync_client.py"
