"""Every metric in the source has its row in the docs, and `/metrics` has no others of ours."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import REGISTRY

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "operations.md"
_ROW = re.compile(r"^\| `(mnemon_\w+)` \| (\w+) \| (.*?) \| (.+) \|$", re.MULTILINE)
_TYPES = ("Counter", "Gauge", "Histogram")
Row = tuple[str, str, str, str]
"""Name, type, labels and meaning, as the docs write them."""


def metrics_in_source() -> Iterator[tuple[str, Row]]:
    """Give the module and the row of every metric that a module makes."""
    package = ROOT / "src"
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in _TYPES and is_named(node):
                yield ".".join(path.relative_to(package).with_suffix("").parts), row_of(node)


def is_named(node: ast.Call) -> bool:
    """Tell a metric from a `collections.Counter`."""
    return bool(node.args) and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)


def row_of(node: ast.Call) -> Row:
    kind = ast.unparse(node.func).lower()
    name, meaning, *labels = [ast.literal_eval(argument) for argument in node.args]
    if kind == "counter":  # the library adds it where it is missing
        name = f"{name.removesuffix('_total')}_total"
    return name, kind, ", ".join(f"`{label}`" for label in (labels[0] if labels else ())) or "–", meaning


def test_the_docs_have_a_row_for_every_metric() -> None:
    rows = sorted(row for _, row in metrics_in_source())
    assert len(rows) > 10
    assert _ROW.findall(DOCS.read_text(encoding="utf-8")) == rows


def test_the_registries_hold_the_metrics_that_the_source_shows() -> None:
    for module, _ in metrics_in_source():
        importlib.import_module(module)
    from mnemon.api.health import DATABASE_METRICS

    held = {(metric.name, metric.type) for registry in (REGISTRY, DATABASE_METRICS) for metric in registry.collect()}
    ours = {(name, kind) for name, kind in held if name.startswith("mnemon_")}
    assert ours == {(name.removesuffix("_total"), kind) for _, (name, kind, _, _) in metrics_in_source()}
