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

import psycopg
import pytest

from mutants.areas import ROOT, Area
from mutants.mutations import Mutant, mutated_code
from mutants.reach import ChosenTests, Reach, ReachRecorder, load_reach

Verdict = Literal["killed", "survived", "timeout"]
_PLUGINS = ("pytest_asyncio.plugin", "pytest_timeout", "_hypothesis_pytestplugin")
"""What our configuration names; the rest would only be imported."""
_LIBRARIES = (
    "fastapi", "httpx2", "hypothesis.strategies", "numpy", "prometheus_client", "psycopg", "pydantic",
    "pydantic_settings", "rapidfuzz.fuzz", "structlog",
)  # fmt: skip
_LONGEST_S = 900.0
"""For the tests without a mutant."""
_TIMED_OUT = 98
_VERDICTS: dict[int, Verdict] = {0: "survived", _TIMED_OUT: "timeout"}
"""By the code with which the tests' process ended; any other is a failure."""
_OURS = {"mnemon", "support", "conftest"}


class Trials:
    """A copy of the project in which mutants are tried, one at a time; the project itself is never touched."""

    def __init__(self, folder: Path, area: Area) -> None:
        self._folder = folder
        self._area = area
        self._reach: Reach | None = None

    def prove_green(self) -> float:
        """Run the tests without a mutant, note which of them enters which function, and return how long they take.

        Two runs: the first one reads everything from the disk and is slowed down by the noting. Raises when they
        fail: then nothing can be told.
        """
        file = self._folder / "reach.json"
        recorder = ReachRecorder(source=self._folder / "src" / "mnemon", file=file)
        if self._run_tests(self._area.tests, recorder, test_s=_LONGEST_S, loud=True) != "survived":
            raise SystemExit("The tests fail without any mutant.")
        self._reach = load_reach(file)
        began = time.monotonic()
        if self._run_tests(self._area.tests, test_s=_LONGEST_S, loud=True) != "survived":
            raise SystemExit("The tests fail without any mutant, though not always.")
        return time.monotonic() - began

    def try_mutant(self, mutant: Mutant) -> Verdict:
        """Run the tests that can notice the mutant; each has three times its usual time and half a minute."""
        assert self._reach is not None
        file = self._folder / "src" / "mnemon" / mutant.path
        code = file.read_text(encoding="utf-8")
        tests = self._reach.tests_for(mutant.path, code, mutant.line)
        files = tuple(dict.fromkeys(one.partition("::")[0].removeprefix("tests/") for one in tests))
        usual = [self._reach.seconds[one] for one in tests]
        file.write_text(mutated_code(code, mutant.operator, mutant.occurrence), encoding="utf-8")
        try:
            return self._run_tests(
                files, ChosenTests(tests=tests), test_s=3 * max(usual) + 30, timeout_s=3 * sum(usual) + 60
            )
        finally:
            file.write_text(code, encoding="utf-8")

    def _run_tests(
        self,
        files: tuple[str, ...],
        plugin: object | None = None,
        *,
        test_s: float,
        timeout_s: float = _LONGEST_S,
        loud: bool = False,
    ) -> Verdict:
        """Run the files' tests in a fork; kill it, with whatever it started, when it takes too long as a whole."""
        child = os.fork()
        if child == 0:
            self._be_the_tests(files, plugin, test_s, loud)
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return _VERDICTS.get(os.waitstatus_to_exitcode(status), "killed")
            time.sleep(0.01)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "timeout"

    def _be_the_tests(self, files: tuple[str, ...], plugin: object | None, test_s: float, loud: bool) -> None:
        """Run them in this process, which is a fork, and end it with pytest's code."""
        code = 99
        try:
            os.setsid()
            if not loud:
                silence = os.open(os.devnull, os.O_RDWR)
                for stream in (0, 1, 2):
                    os.dup2(silence, stream)
            os.chdir(self._folder)
            if isinstance(plugin, ChosenTests):  # no compiled mutants; what the runs before compiled is used
                os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
                sys.dont_write_bytecode = True
            # What this process needed of the project to start a database is not the mutant.
            for name in [one for one in sys.modules if one.partition(".")[0] in _OURS]:
                del sys.modules[name]
            projects = {str(ROOT / "src"), str(ROOT / "tests")}
            sys.path[:] = [
                str(self._folder / "src"),
                *(one for one in map(os.path.abspath, sys.path) if one not in projects),
            ]
            plugins = [word for name in _PLUGINS for word in ("-p", name)]
            options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", f"--timeout={test_s}", *plugins]
            code = int(pytest.main([*options, *(f"tests/{path}" for path in files)], [plugin] if plugin else []))
            if isinstance(plugin, ChosenTests) and plugin.timed_out:
                code = _TIMED_OUT
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
        # The same examples for every mutant (tests/conftest.py), and no plugins but ours.
        os.environ |= {"PYTHONPATH": str(folder / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": "1"}
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
        url = os.environ.get("MNEMON_TEST_DATABASE_URL")
        if url is None:
            url = stack.enter_context(embedded_cluster(stack.enter_context(_folder()) / "cluster"))
            _stop_syncing(url)
        template = stack.enter_context(new_database(url))
        asyncio.run(migrate_database(template, datetime.now(UTC)))
        before = dict(os.environ)
        os.environ |= {"MNEMON_TEST_DATABASE_URL": url, "MNEMON_TEST_TEMPLATE": name_of(template)}
        yield
        os.environ.clear()
        os.environ |= before


def _stop_syncing(url: str) -> None:
    """Keep the server from waiting for the disk: most of what a test's database took was that."""
    with psycopg.connect(url, autocommit=True) as connection:
        for name in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(f"alter system set {name} = off")
        connection.execute("select pg_reload_conf()")


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as name:
        yield Path(name)
