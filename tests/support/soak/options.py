"""`make soak PART=… COUNT=…` as options of pytest: which part runs, how much of it, and where its figures go.

A part is every test marked `soak` under one name: `@pytest.mark.soak("server-kills", count=600, unit="SIGKILLs")`.
Without a name it is called after its file.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from support.soak.figures import Figures
from support.soak.totals import DOCUMENT, Run, code_version, record_run

LIST = "list"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("soak", "the long counts")
    group.addoption("--soak-part", default="", help="Run this part of the soak only; `list` names them.")
    group.addoption("--soak-count", type=int, default=0, help="Count so far instead of the part's full count.")
    group.addoption("--soak-fresh", action="store_true", help="Begin a new total instead of adding to the last.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("--soak-part")
    if not wanted:
        return
    parts = {name for item in items if (name := part_of(item))}
    if wanted != LIST and wanted not in parts:
        raise pytest.UsageError(f"There is no part {wanted!r} of the soak. The parts: {', '.join(sorted(parts))}.")
    chosen = [item for item in items if part_of(item) == wanted]
    if wanted == LIST:
        _print_parts(items)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if session.config.getoption("--soak-part") == LIST and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


def part_of(item: pytest.Item) -> str | None:
    """The part that a test belongs to; None for one that is not of the soak."""
    mark = item.get_closest_marker("soak")
    if mark is None:
        return None
    return str(mark.args[0]) if mark.args else item.path.stem.removeprefix("test_").replace("_", "-")


@dataclass
class Part:
    """The part of the soak that a test runs in full."""

    name: str
    goal: int
    unit: str
    count: int
    """How many this run does: the goal, or what `COUNT` says."""
    fresh: bool
    _done: list[Figures] = field(default_factory=list)

    def rounds(self, most: int) -> Iterator[int]:
        """The count in pieces, so that a run which is broken off keeps what it has counted."""
        for begun in range(0, self.count, most):
            yield min(most, self.count - begun)

    def record(self, figures: Figures) -> None:
        """Add the figures to the running total, whatever they are, and fail unless they are clean."""
        run = Run(
            part=self.name,
            goal=self.goal,
            unit=self.unit,
            figures=figures,
            version=code_version(),
            day=datetime.now(UTC).date().isoformat(),
        )
        record_run(DOCUMENT, run, fresh=self.fresh and not self._done)
        self._done.append(figures)
        if figures.count < self.count:
            self.say(figures.line(f"{self.name} (a round)"))
        figures.assert_clean()

    def close(self) -> None:
        """Print one line with the figures of the whole run."""
        if self._done:
            whole = self._done[0]
            for one in self._done[1:]:
                whole = whole.plus(one)
            self.say(whole.line(self.name))

    def say(self, line: str) -> None:
        """Print a line at once, for a run of hours."""
        sys.stderr.write(f"\n{line}\n")
        sys.stderr.flush()


@pytest.fixture
def soak_part(request: pytest.FixtureRequest) -> Iterator[Part]:
    """The part that the test's mark names, closed with its line of figures."""
    mark = request.node.get_closest_marker("soak")
    assert mark is not None, "only a test of the soak has a part"
    name = part_of(request.node)
    assert name is not None
    goal = int(mark.kwargs["count"])
    part = Part(
        name=name,
        goal=goal,
        unit=str(mark.kwargs["unit"]),
        count=request.config.getoption("--soak-count") or goal,
        fresh=request.config.getoption("--soak-fresh"),
    )
    yield part
    part.close()


def _print_parts(items: list[pytest.Item]) -> None:
    goals: dict[str, str] = {}
    for item in items:
        name, mark = part_of(item), item.get_closest_marker("soak")
        if name is not None and mark is not None:
            counted = f"{mark.kwargs['count']} {mark.kwargs['unit']}" if "count" in mark.kwargs else "no count"
            goals[name] = counted if goals.get(name, "no count") == "no count" else goals[name]
    sys.stdout.write("\n" + "".join(f"{name:20} {goal}\n" for name, goal in sorted(goals.items())))
