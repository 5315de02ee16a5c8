"""Which tests enter which function, so that a mutant is tried with the tests that can notice it and with no others.

It is recorded while the area's tests run without a mutant: every function that is entered while a test, its fixtures
included, runs. That holds for threads of the test's process too; what happens in processes that it starts is not seen.
"""

import ast
import json
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

Entered = tuple[str, int]
"""A function by its file under `src/mnemon` and the line on which it begins, decorators included."""


@dataclass(frozen=True, kw_only=True)
class Reach:
    """What each test takes and what it enters."""

    seconds: dict[str, float]
    """By the test's node id."""
    tests: dict[Entered, set[str]]

    def tests_for(self, path: str, code: str, line: int) -> list[str]:
        """Return the node ids of the tests that can notice a change of this line, the quickest first.

        All of them if the line is in no function, since it then acts on import, or in one that no test enters here: it
        may be entered in another process.
        """
        first, last = _function_span(code, line)
        found = set().union(*(self.tests.get((path, number), set()) for number in range(first, last + 1)))
        return sorted(found or self.seconds, key=lambda test: (self.seconds[test], test))


def load_reach(file: Path) -> Reach:
    """Read what a `ReachRecorder` wrote."""
    tests: dict[Entered, set[str]] = {}
    seconds = {}
    for test, (took, entered) in json.loads(file.read_text()).items():
        seconds[test] = took
        for path, line in entered:
            tests.setdefault((path, line), set()).add(test)
    return Reach(seconds=seconds, tests=tests)


@dataclass(kw_only=True)
class ReachRecorder:
    """A pytest plugin that writes down what each test enters."""

    source: Path
    """The package's folder."""
    file: Path
    """What to write."""
    _found: dict[str, tuple[float, set[Entered]]] = field(default_factory=dict)
    _entered: set[Entered] = field(default_factory=set)
    _paths: dict[str, str | None] = field(default_factory=dict)

    def pytest_sessionstart(self) -> None:
        threading.settrace(self._note_call)  # a server that several tests share has its own thread
        sys.settrace(self._note_call)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        self._entered = set()
        began = time.monotonic()
        sys.settrace(self._note_call)  # again: Hypothesis takes it away
        result = yield
        self._found[item.nodeid] = (time.monotonic() - began, self._entered)
        return result

    def pytest_sessionfinish(self) -> None:
        sys.settrace(None)
        self.file.write_text(
            json.dumps({test: (took, sorted(entered)) for test, (took, entered) in self._found.items()})
        )

    def _note_call(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        path = self._paths.get(code.co_filename, "")
        if path == "":
            path = self._paths[code.co_filename] = self._path_of(code.co_filename)
        if path is not None:
            self._entered.add((path, code.co_firstlineno))

    def _path_of(self, filename: str) -> str | None:
        place = Path(filename)
        return str(place.relative_to(self.source)) if place.is_relative_to(self.source) else None


@dataclass(kw_only=True)
class ChosenTests:
    """A pytest plugin that runs these tests in this order and no others."""

    tests: list[str]
    timed_out: bool = False
    """Whether a test took longer than pytest-timeout allows."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        place = {test: number for number, test in enumerate(self.tests)}
        items[:] = sorted((one for one in items if one.nodeid in place), key=lambda one: place[one.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.timed_out = self.timed_out or (report.failed and "Failed: Timeout (>" in report.longreprtext)


def _function_span(code: str, line: int) -> tuple[int, int]:
    """Return the first and last line of the outermost function around the line; an empty span if there is none."""
    spans = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first <= line <= (node.end_lineno or first):
                spans.append((first, node.end_lineno or first))
    return min(spans, default=(1, 0))
