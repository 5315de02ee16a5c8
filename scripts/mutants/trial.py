"""Trials: a copy of the project, one mutant in it, and what the area's tests say."""

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import TestOutcome

from mutants.areas import ROOT, Area
from mutants.mutations import Mutant, mutated_code

Verdict = Literal["killed", "survived", "timeout"]
_PLUGINS = ("pytest_asyncio.plugin", "pytest_timeout", "xdist", "_hypothesis_pytestplugin")
"""What our configuration names; the rest would only be imported."""


class Trials:
    """A copy of the project in which mutants are tried, one at a time; the project itself is never touched."""

    def __init__(self, folder: Path, area: Area) -> None:
        self._folder = folder
        tests = [f"tests/{path}" for path in area.tests]
        plugins = [word for name in _PLUGINS for word in ("-p", name)]
        options = ["-x", "-q", "-n0", "--no-header", "-p", "no:cacheprovider", *plugins]
        self._command = shlex.join([sys.executable, "-m", "pytest", *options, *tests])
        self.timeout_s = 300.0

    def prove_green(self) -> float:
        """Run the tests without a mutant, and give a mutant's tests three times as long and ten seconds.

        Two runs, for the first one reads everything from the disk. Raises when they fail: then nothing can be told.
        """
        seconds = []
        for _ in range(2):
            began = time.monotonic()
            outcome, output = run_tests(self._command, self.timeout_s)
            if outcome is not TestOutcome.SURVIVED:
                raise SystemExit(f"The tests fail without any mutant:\n{output[-3000:]}")
            seconds.append(time.monotonic() - began)
        self.timeout_s = 3 * seconds[-1] + 10
        return seconds[-1]

    def try_mutant(self, mutant: Mutant) -> Verdict:
        """Run the tests with the mutant in place."""
        file = self._folder / "src" / "mnemon" / mutant.path
        code = file.read_text(encoding="utf-8")
        file.write_text(mutated_code(code, mutant.operator, mutant.occurrence), encoding="utf-8")
        try:
            outcome, output = run_tests(self._command, self.timeout_s)
        finally:
            file.write_text(code, encoding="utf-8")
        if output == "timeout":
            return "timeout"
        return "survived" if outcome is TestOutcome.SURVIVED else "killed"


@contextmanager
def trials_of(area: Area) -> Iterator[Trials]:
    """A copy of the project, with a database server if the area's tests need one."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True)))
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        # The same examples for every mutant (tests/conftest.py), and no plugins but ours.
        os.environ |= {"PYTHONPATH": str(folder / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": "1"}
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder / "src")], check=False)
        if area.database:
            stack.enter_context(_database())
        here = Path.cwd()
        stack.callback(os.chdir, here)
        os.chdir(folder)
        yield Trials(folder, area)


@contextmanager
def _database() -> Iterator[None]:
    """One server for all trials, and one migrated database that every test's is copied from."""
    from mnemon.db.migrate import migrate
    from support.cluster import embedded_cluster
    from support.databases import name_of, new_database

    with ExitStack() as stack:
        url = os.environ.get("MNEMON_TEST_DATABASE_URL")
        if not url:
            folder = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True))
            )
            url = stack.enter_context(embedded_cluster(folder / "cluster"))
        template = stack.enter_context(new_database(url))
        asyncio.run(migrate(template, datetime.now(UTC)))
        os.environ |= {"MNEMON_TEST_DATABASE_URL": url, "MNEMON_TEST_TEMPLATE": name_of(template)}
        yield
