"""Trials: a copy of the project, one mutant in it, and what the area's tests say.

Every trial is a fork of this process, which has imported pytest and the libraries but nothing of the project: so a
trial costs its tests and not the second that imports take.
"""

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Literal

import pytest

from mutants.areas import ROOT, Area
from mutants.mutations import Mutant, mutated_code

Verdict = Literal["killed", "survived", "timeout"]
_PLUGINS = ("pytest_asyncio.plugin", "pytest_timeout", "_hypothesis_pytestplugin")
"""What our configuration names; the rest would only be imported."""
_LIBRARIES = ("fastapi", "httpx2", "hypothesis.strategies", "numpy", "psycopg", "pydantic", "structlog")
_OURS = {"mnemon", "support", "conftest"}


class Trials:
    """A copy of the project in which mutants are tried, one at a time; the project itself is never touched."""

    def __init__(self, folder: Path, area: Area) -> None:
        self._folder = folder
        plugins = [word for name in _PLUGINS for word in ("-p", name)]
        tests = [f"tests/{path}" for path in area.tests]
        self._arguments = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", *plugins, *tests]
        self._timeout_s = 600.0

    def prove_green(self) -> float:
        """Run the tests without a mutant, and give a mutant's tests three times as long and ten seconds.

        Two runs, for the first one reads everything from the disk. Raises when they fail: then nothing can be told.
        """
        seconds = []
        for _ in range(2):
            began = time.monotonic()
            if self._run_tests(loud=True) != "survived":
                raise SystemExit("The tests fail without any mutant.")
            seconds.append(time.monotonic() - began)
        self._timeout_s = 3 * seconds[-1] + 10
        return seconds[-1]

    def try_mutant(self, mutant: Mutant) -> Verdict:
        """Run the tests with the mutant in place."""
        file = self._folder / "src" / "mnemon" / mutant.path
        code = file.read_text(encoding="utf-8")
        file.write_text(mutated_code(code, mutant.operator, mutant.occurrence), encoding="utf-8")
        try:
            return self._run_tests()
        finally:
            file.write_text(code, encoding="utf-8")

    def _run_tests(self, *, loud: bool = False) -> Verdict:
        child = os.fork()
        if child == 0:
            self._be_the_tests(loud)
        deadline = time.monotonic() + self._timeout_s
        while time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return "survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"
            time.sleep(0.01)
        os.killpg(child, signal.SIGKILL)  # with whatever it started
        os.waitpid(child, 0)
        return "timeout"

    def _be_the_tests(self, loud: bool) -> None:
        """Run them in this process, which is a fork, and end it with pytest's code."""
        code = 99
        try:
            os.setsid()
            if not loud:
                silence = os.open(os.devnull, os.O_RDWR)
                for stream in (0, 1, 2):
                    os.dup2(silence, stream)
            os.chdir(self._folder)
            # What this process needed of the project to start a database is not the mutant.
            for name in [one for one in sys.modules if one.partition(".")[0] in _OURS]:
                del sys.modules[name]
            projects = {str(ROOT / "src"), str(ROOT / "tests")}
            sys.path[:] = [
                str(self._folder / "src"),
                *(one for one in map(os.path.abspath, sys.path) if one not in projects),
            ]
            code = int(pytest.main(self._arguments))
        finally:
            os._exit(code)


@contextmanager
def trials_of(area: Area) -> Iterator[Trials]:
    """A copy of the project, with a database server if the area's tests need one."""
    with ExitStack() as stack:
        folder = stack.enter_context(_folder())
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        # The same examples for every mutant (tests/conftest.py), no plugins but ours, and no compiled mutants.
        os.environ |= {"PYTHONPATH": str(folder / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": "1"}
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True
        for name in _LIBRARIES:
            import_module(name)
        if area.database:
            stack.enter_context(_database())
        yield Trials(folder, area)


@contextmanager
def _database() -> Iterator[None]:
    """One server for all trials, and one migrated database that every test's is copied from."""
    from mnemon.db.migrate import migrate_database
    from support.cluster import embedded_cluster
    from support.databases import name_of, new_database

    with ExitStack() as stack:
        url = os.environ.get("MNEMON_TEST_DATABASE_URL") or stack.enter_context(
            embedded_cluster(stack.enter_context(_folder()) / "cluster")
        )
        template = stack.enter_context(new_database(url))
        asyncio.run(migrate_database(template, datetime.now(UTC)))
        before = dict(os.environ)
        os.environ |= {"MNEMON_TEST_DATABASE_URL": url, "MNEMON_TEST_TEMPLATE": name_of(template)}
        yield
        os.environ.clear()
        os.environ |= before


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as name:
        yield Path(name)
