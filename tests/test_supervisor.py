"""The supervisor: a loop that ends is logged, counted and started again; a cancelled one ends."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from mnemon.errors import DatabaseDown
from mnemon.supervisor import RESTARTS, Backoff, keep_running, supervise


class Ended(Exception):
    """Ends the loop under test from its own pause."""


async def run_with(run: Any, *, pauses: int) -> list[float]:
    """Keep the loop running through this many pauses; give how long each was."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == pauses:
            raise Ended

    with pytest.raises(Ended):
        await keep_running("test", run, backoff=Backoff(), sleep=sleep)
    return waited


def restarts() -> float:
    return float(RESTARTS.labels("test")._value.get())


async def fail() -> None:
    raise RuntimeError("what a person said")


async def return_at_once() -> None: ...


async def cancel_inside() -> None:
    """Await something that was cancelled by somebody else: CancelledError comes out, and nobody asked for it."""
    other = asyncio.get_running_loop().create_future()
    other.cancel()
    await other


@pytest.mark.parametrize("run", [fail, return_at_once, cancel_inside])
async def test_a_loop_that_ends_is_started_again_and_counted(run: Any) -> None:
    before = restarts()
    await run_with(run, pauses=3)
    assert restarts() == before + 3


async def test_the_pause_doubles_up_to_the_most() -> None:
    assert await run_with(fail, pauses=7) == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]


async def test_an_outage_is_logged_at_doubling_distances_and_never_in_a_persons_words() -> None:
    with capture_logs() as lines:
        await run_with(fail, pauses=9)
    assert [line["failures"] for line in lines] == [1, 2, 4, 8]
    assert all(line["error"] == "RuntimeError" and line["task"] == "test" for line in lines)


async def test_another_failure_is_logged_at_once() -> None:
    causes = iter([DatabaseDown("away"), DatabaseDown("away"), DatabaseDown("away"), ValueError(), ValueError()])

    async def run() -> None:
        raise next(causes)

    with capture_logs() as lines:
        await run_with(run, pauses=5)
    assert [(line["failures"], line["error"]) for line in lines] == [
        (1, "database_unavailable"),
        (2, "database_unavailable"),
        (4, "ValueError"),
    ]


async def test_it_runs_beside_the_block_and_ends_with_it() -> None:
    ended = asyncio.Event()

    async def run() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with capture_logs() as lines:
        async with supervise("test", run) as task:
            await asyncio.sleep(0)
            assert not task.done()
    assert task.done()
    assert ended.is_set()
    assert lines == []


async def test_a_loop_that_loses_a_cancellation_is_cancelled_again() -> None:
    heard = 0

    async def run() -> None:
        nonlocal heard
        while heard < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                heard += 1
        raise asyncio.CancelledError

    async with supervise("test", run) as task:
        await asyncio.sleep(0)
    assert task.cancelled()
    assert heard == 2


async def test_an_outage_is_logged_with_something_to_do() -> None:
    async def be_away() -> None:
        raise DatabaseDown("away")

    with capture_logs() as lines:
        await run_with(be_away, pauses=1)
    assert [line["next_step"].startswith("Run `mnemon doctor`") for line in lines] == [True]
