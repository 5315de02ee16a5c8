"""What changes while the server runs belongs to an object that was made at the start, never to a module."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "mnemon"
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}

ALLOWED = {
    "cli/terminal.py: err": "a command has one stderr, as Python's own sys has it; no server prints",
    "cli/terminal.py: out": "a command has one stdout, as Python's own sys has it; no server prints",
    "console/live.py: _topics": "filled while the pages are imported, as their routes are, and never afterwards",
    "console/pages.py: _PAGE_ROUTES": "filled while the pages are imported, as their routes are, and never afterwards",
    "console/pages.py: _UNDO_FORMS": "filled while the pages are imported, as their routes are, and never afterwards",
    "db/statements.py: _LABELS": "filled while the rooms' statements are read at import, and never afterwards",
    "evidence/stems.py: _STEMMER": "a stemmer for each thread, whose answer depends on the word alone",
    "logs.py: _writer": "a process has one log, as Python's own logging has it",
    "memory/words.py: _STEMS": "a bounded cache of a pure function, which a dict makes faster than lru_cache",
    "spans.py: _tracer": "OpenTelemetry has one tracer for a process",
    "event_loop.py: is_background": "a context variable: each task has its own value",
}
"""What a module may hold although it changes, and why."""

CONTAINERS = {
    "asyncio": {"Condition", "Event", "Future", "Lock", "Queue", "Semaphore"},
    "builtins": {"bytearray", "dict", "list", "set"},
    "collections": {"ChainMap", "Counter", "OrderedDict", "defaultdict", "deque"},
    "concurrent.futures": {"ProcessPoolExecutor", "ThreadPoolExecutor"},
    "contextvars": {"ContextVar"},
    "queue": {"Queue", "SimpleQueue"},
    "threading": {"Condition", "Event", "Lock", "RLock", "Semaphore", "local"},
    "weakref": {"WeakKeyDictionary", "WeakSet", "WeakValueDictionary"},
}
"""Of the standard library. Metrics are prometheus_client's own affair and are not among them."""


def test_no_module_holds_what_changes_while_the_server_runs() -> None:
    found = {f"{path.relative_to(SOURCE)}: {name}" for path, tree in TREES.items() for name in changing(tree)}
    assert found == set(ALLOWED)


def test_the_search_sees_what_it_is_for() -> None:
    tree = ast.parse(
        "import asyncio\nfrom collections import Counter, deque as Deck\nfrom prometheus_client import Gauge\n"
        "class Shelf:\n    pass\n"
        "@dataclass(frozen=True)\nclass Place:\n    pass\n"
        "A = Shelf()\nB: dict[str, int] = {}\nC = asyncio.Lock()\nD = Counter()\nE = Deck()\nF = []\nG = set()\n"
        "H, I = 1, 2\nJ = Place()\nK = Gauge('k', '')\nL = {'a': 1}\nM = frozenset()\n"
        "def f():\n    global N\n    own = Shelf()\n"
        "if True:\n    O = Shelf()\n"
    )
    assert set(changing(tree, classes=changeable({Path(): tree}))) == {*"ABCDEFG", "N", "O"}


def changing(tree: ast.Module, classes: frozenset[str] | None = None) -> Iterator[str]:
    """The names of a module that are bound to something that can change, or that a function binds anew."""
    origins, own = _imports(tree), OWN if classes is None else classes
    for node in _outside_functions(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and _can_change(node.value, origins, own):
            yield ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from node.names


def changeable(trees: dict[Path, ast.Module]) -> frozenset[str]:
    """The package's classes whose objects can change: neither frozen nor by their base unchangeable."""
    return frozenset(
        node.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and not any("frozen=True" in ast.unparse(one) for one in node.decorator_list)
        and not {ast.unparse(base).split(".")[-1] for base in node.bases}
        & {"NamedTuple", "StrEnum", "Enum", "Protocol"}
    )


def _outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    """Everything that runs when the module is imported, classes' own attributes apart."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
            yield from _outside_functions(node)


def _can_change(value: ast.expr, origins: dict[str, str], own: frozenset[str]) -> bool:
    if isinstance(value, ast.Dict | ast.List | ast.Set):
        return not ast.unparse(value).strip("{}[]")  # a table has its rows; what is empty is to be filled
    if not isinstance(value, ast.Call):
        return False
    called = ast.unparse(value.func).split("[")[0]
    head, _, rest = called.partition(".")
    full = ".".join(filter(None, (origins.get(head, head if rest else f"builtins.{head}"), rest)))
    module, _, name = full.rpartition(".")
    if module == "builtins" and name in CONTAINERS[module]:
        return not value.args
    return name in CONTAINERS.get(module, ()) or (name in own and not module.startswith("prometheus_client"))


def _imports(tree: ast.Module) -> dict[str, str]:
    """What each imported name stands for in full."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update({one.asname or one.name: one.name for one in node.names})
        if isinstance(node, ast.ImportFrom):
            found.update({one.asname or one.name: f"{node.module}.{one.name}" for one in node.names})
    return found


OWN = changeable(TREES)
