"""The wheels hold their packages and nothing that only a checkout can run (decisions 28 and 31)."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "mnemon"


def wheel_files(project: Path = ROOT) -> set[Path]:
    """What a build of this checkout would put into the wheel, the metadata apart."""
    return {Path(one.distribution_path) for one in WheelBuilder(str(project)).recurse_included_files()}


def test_the_clients_wheel_holds_the_client_alone() -> None:
    source = ROOT / "client" / "src"
    there = {path.relative_to(source) for path in source.rglob("*") if path.suffix == ".py" or path.name == "py.typed"}
    assert wheel_files(ROOT / "client") == there


def test_the_server_needs_the_client_of_its_own_version() -> None:
    server, client = (
        tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for folder in (ROOT, ROOT / "client")
    )
    assert server["version"] == client["version"]
    assert f"mnemon-client=={client['version']}" in server["dependencies"]


def test_the_wheel_holds_the_package_alone() -> None:
    assert {path.parts[0] for path in wheel_files()} == {"mnemon"}


def test_the_wheel_holds_no_benchmark() -> None:
    assert [path for path in wheel_files() if any("bench" in part for part in path.parts)] == []


def test_every_statement_template_and_migration_is_in_the_wheel() -> None:
    suffixes = {".py", ".sql", ".html", ".css", ".js", ".toml", ".txt"}
    there = {Path("mnemon", path.relative_to(SOURCE)) for path in SOURCE.rglob("*") if path.suffix in suffixes}
    assert there - wheel_files() == set()


def test_the_package_imports_nothing_that_stays_outside() -> None:
    outside = {path.name for path in ROOT.iterdir() if path.is_dir()} | {"support"}
    found = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in SOURCE.rglob("*.py")
        for name in _imported_modules(ast.parse(path.read_text(encoding="utf-8")))
        if name.partition(".")[0] in outside
    ]
    assert found == []


def _imported_modules(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
