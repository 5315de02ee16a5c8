"""Measure how easy the package is to read, and write the table of docs/house.md: `python scripts/house_figures.py`.

Most figures are counted in the source; the files of a chat request are counted in a running server (`chat_files.py`).
"""

import ast
import asyncio
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mnemon"
PAGE = ROOT / "docs" / "house.md"
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
SMALL_FILE = 50
Function = ast.FunctionDef | ast.AsyncFunctionDef

# Irregular participles that were in use as names of functions; regular ones end in "ed".
PARTICIPLES = {"begun", "bound", "done", "drawn", "found", "given", "gone", "held", "kept", "known", "left", "lost"}
PARTICIPLES |= {"made", "put", "read", "said", "seen", "sent", "shown", "spoken", "taken", "told", "worn", "written"}


@dataclass(frozen=True, kw_only=True)
class HouseFigures:
    """What was counted in one package."""

    files: int
    lines: int
    small_files: int
    functions: int
    one_word_percent: float
    participle_percent: float
    comment_percent: float
    forwarders: int
    length_p95: int
    repeated_classes: tuple[str, ...]
    scope_first: int


def functions_of(tree: ast.AST) -> Iterator[Function]:
    """Yield every function, method and inner function but those that Python names (`__init__`)."""
    for node in ast.walk(tree):
        if isinstance(node, Function) and not node.name.startswith("__"):
            yield node


def is_one_word(name: str) -> bool:
    """Say whether a function's name is a single word."""
    return "_" not in name.strip("_")


def is_participle(name: str) -> bool:
    """Say whether a function's name is nothing but a participle."""
    word = name.strip("_")
    return is_one_word(word) and (word in PARTICIPLES or (word.endswith("ed") and not word.endswith(("eed", "embed"))))


def is_forwarder(function: Function) -> bool:
    """Say whether a function only calls another one with its own parameters, in their order."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    if len(body) != 1 or function.decorator_list:
        return False
    value = getattr(body[0], "value", None)
    call = value.value if isinstance(value, ast.Await) else value
    if not isinstance(call, ast.Call) or call.keywords:
        return False
    given = [argument.id for argument in call.args if isinstance(argument, ast.Name)]
    own = [argument.arg for argument in function.args.args if argument.arg not in {"self", "cls"}]
    return bool(own) and len(given) == len(call.args) and given == own


def takes_scope_first(function: Function) -> bool:
    """Say whether a function takes `(scope, tx)` where the others take `(tx, scope)`."""
    names = [argument.arg for argument in function.args.args]
    return "scope" in names and "tx" in names and names.index("scope") < names.index("tx")


def measure_package(package: Path) -> HouseFigures:
    """Count everything in a package's Python files."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))}
    trees = [ast.parse(text) for text in texts.values()]
    functions = [one for tree in trees for one in functions_of(tree)]
    lines = [line for text in texts.values() for line in text.splitlines()]
    classes = Counter(
        node.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    lengths = sorted((one.end_lineno or one.lineno) - one.lineno + 1 for one in functions)
    return HouseFigures(
        files=len(texts),
        lines=len(lines),
        small_files=sum(len(text.splitlines()) < SMALL_FILE for text in texts.values()),
        functions=len(functions),
        one_word_percent=_percent(sum(is_one_word(one.name) for one in functions), len(functions)),
        participle_percent=_percent(sum(is_participle(one.name) for one in functions), len(functions)),
        comment_percent=_percent(sum(line.lstrip().startswith("#") for line in lines), len(lines)),
        forwarders=sum(map(is_forwarder, functions)),
        length_p95=lengths[int(len(lengths) * 0.95)],
        repeated_classes=tuple(sorted(name for name, number in classes.items() if number > 1)),
        scope_first=sum(map(takes_scope_first, functions)),
    )


def table_of(found: HouseFigures, chat_files: int) -> str:
    """Return the figures as a table in Markdown."""
    rows = {
        "Python files": f"{found.files:,}",
        f"of these, under {SMALL_FILE} lines": f"{found.small_files:,}",
        "lines": f"{found.lines:,}",
        "functions": f"{found.functions:,}",
        "functions with a one-word name": f"{found.one_word_percent:.1f} %",
        "functions named by a bare participle": f"{found.participle_percent:.1f} %",
        "lines that are comments": f"{found.comment_percent:.1f} %",
        "length of a function, 95th percentile": f"{found.length_p95} lines",
        "functions that only forward a call": f"{found.forwarders:,}",
        "functions that take `(scope, tx)`": f"{found.scope_first:,}",
        "public class names that stand more than once": f"{len(found.repeated_classes):,}",
        "files that one chat request runs through": f"{chat_files:,}",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {figure} |" for name, figure in rows.items())])


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1)


def main() -> None:
    """Write the table into the page."""
    # Imported when used: whoever counts in the source alone need not load the server.
    from chat_files import measure_chat_anew

    found = measure_package(PACKAGE)
    table = table_of(found, len(asyncio.run(measure_chat_anew())))
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
    sys.stdout.write(f"{table}\n{', '.join(found.repeated_classes)}\n")


if __name__ == "__main__":
    main()
