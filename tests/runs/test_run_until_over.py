"""Watching whether anybody ended a run while it is performed."""

import asyncio

import pytest

from mnemon.errors import DatabaseDown
from mnemon.runs import task_runner
from mnemon.runs.run import RunStatus
from mnemon.runs.task_runner import TaskStopped, run_until_over


@pytest.fixture(autouse=True)
def watches_closely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_runner, "STATUS_POLL_S", 0.0)


class Row:
    """A run's row that is looked at, and whose database fails as often as it is told."""

    def __init__(self, *, failures: int = 0, status: RunStatus = RunStatus.RUNNING) -> None:
        self.looked = asyncio.Event()
        """It was seen after all failures."""
        self._failures = failures
        self._status = status

    async def look(self) -> RunStatus | None:
        if self._failures:
            self._failures -= 1
            raise DatabaseDown("The connection to the database was lost.")
        self.looked.set()
        return self._status


async def test_a_look_that_fails_stops_nothing() -> None:
    row = Row(failures=2)

    async def work() -> str:
        await row.looked.wait()
        return "done"

    assert await run_until_over(work(), 60, row.look) == "done"


async def test_a_run_that_is_over_is_stopped() -> None:
    row = Row(failures=1, status=RunStatus.CANCELLED)
    with pytest.raises(TaskStopped):
        await run_until_over(asyncio.Event().wait(), 60, row.look)


async def test_a_look_that_fails_for_another_reason_is_no_stop() -> None:
    async def look() -> RunStatus | None:
        raise LookupError

    with pytest.raises(LookupError):
        await run_until_over(asyncio.Event().wait(), 60, look)
