"""The worker's side of a child process, against children of a line of shell that do what a real one might."""

import asyncio
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest

from mnemon.jobs.isolation import (
    CHILDREN_DIED,
    CHILDREN_STARTED,
    ChildNotStarted,
    Isolation,
    ItemProcess,
    death_text,
    parse_order,
)
from mnemon.jobs.work import WorkerDied, WorkItem
from support.bounds import HANGS_S

ITEM = WorkItem(org_id="acme", kind="k", key="a", job_id="job_1", attempts=2, token=7, deaths=1)
NO_TIME = timedelta(0)


def child(script: str, **options: Any) -> Isolation:
    """A child that runs this shell script after it has read its order."""
    waits: dict[str, Any] = {"start_s": HANGS_S, "grace_s": HANGS_S, "end_s": HANGS_S, "stop_s": HANGS_S}
    return Isolation(command=("/bin/sh", "-c", f"read -r order; {script}"), **{**waits, **options})


async def run(script: str, **options: Any) -> None:
    await ItemProcess(child(script, **options), ITEM, NO_TIME).run()


def counts() -> tuple[float, float]:
    return CHILDREN_STARTED._value.get(), CHILDREN_DIED._value.get()


async def until(met: Callable[[], object]) -> None:
    async with asyncio.timeout(HANGS_S):
        while not met():
            await asyncio.sleep(0.005)


async def test_a_child_that_reports_its_outcome_is_done(tmp_path: Path) -> None:
    started, died = counts()
    await run(f'echo ready; echo progress; echo over; echo "$order" > {tmp_path}/order')
    assert counts() == (started + 1, died)
    order = parse_order((tmp_path / "order").read_bytes())
    assert (order.parent, order.item, order.opening) == (os.getpid(), ITEM, {})


async def test_what_else_a_child_writes_is_passed_over() -> None:
    await run("echo hello; echo ready; printf '\\377\\n'; echo over; echo done")
    with pytest.raises(ChildNotStarted):
        await run("echo hello")


async def test_a_child_that_ends_before_it_is_ready_says_nothing_about_its_item() -> None:
    started, died = counts()
    with pytest.raises(ChildNotStarted, match="did not start"):
        await run("exit 3")
    assert counts() == (started + 1, died)


async def test_a_child_that_cannot_be_started_says_so() -> None:
    started = counts()
    with pytest.raises(ChildNotStarted, match="No such file"):
        await ItemProcess(Isolation(command=("/nowhere/to/be/found",)), ITEM, NO_TIME).run()
    assert counts() == started


@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("exit 3", "ended with exit code 3"),
        ("kill -9 $$", "signal 9 (SIGKILL)"),
        ("kill -15 $$", "signal 15 (SIGTERM)"),
    ],
)
async def test_a_child_that_its_item_ended_is_a_death(script: str, how: str) -> None:
    started, died = counts()
    for reported in ("ready", "progress"):
        with pytest.raises(WorkerDied) as lost:
            await run(f"echo {reported}; {script}")
        assert how in lost.value.detail
    assert counts() == (started + 2, died + 2)


async def test_a_child_that_freezes_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    limit, grace = timedelta(seconds=0.25), 0.25
    process = ItemProcess(
        child(f"sleep 600 & echo $! $$ > {tmp_path}/pids; echo ready; wait", grace_s=grace), ITEM, limit
    )
    with pytest.raises(WorkerDied, match=r"did not end within 0\.5 s and was killed"):
        await process.run()
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    await until(lambda: not any(psutil.pid_exists(pid) and _runs(pid) for pid in pids))


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_a_child_that_never_gets_ready_is_given_up() -> None:
    with pytest.raises(ChildNotStarted):
        await run("sleep 600", start_s=0.2)


async def test_a_child_that_does_not_end_after_its_outcome_is_ended(tmp_path: Path) -> None:
    await run(f"echo $$ > {tmp_path}/pid; echo ready; echo over; exec sleep 600", end_s=0.2)
    assert not _runs(int((tmp_path / "pid").read_text()))


async def test_each_report_gives_the_child_time_anew(tmp_path: Path) -> None:
    folder = tmp_path / "steps"
    folder.mkdir()
    step = "while [ ! -e {0}/{1} ]; do sleep 0.01; done; echo {1}"
    script = "; ".join(step.format(folder, name) for name in ("ready", "progress", "over")) + "; exec sleep 600"
    process = ItemProcess(child(script, start_s=100, grace_s=1000, end_s=0.3), ITEM, timedelta(seconds=500))
    loop = asyncio.get_running_loop()
    running = asyncio.create_task(process.run())
    left = [process.deadline() - loop.time()]
    for name in ("ready", "progress"):
        before = process.deadline()
        (folder / name).touch()
        await until(lambda before=before: process.deadline() != before)  # type: ignore[misc]
        left.append(process.deadline() - loop.time())
    assert 0 < left[0] <= 100
    assert all(1000 < one <= 1500 for one in left[1:]), "the item's own limit and the grace beyond it"
    (folder / "over").touch()
    await until(lambda: process.deadline() - loop.time() <= 0.3)
    await running


async def cancelled(script: str, folder: Path, *, times: int = 1, **options: Any) -> asyncio.Task[None]:
    """Run the child, cancel the run once the child is at its script, and wait for the end."""
    process = ItemProcess(child(f"{script.replace('BEGUN', f'touch {folder}/begun')}", **options), ITEM, NO_TIME)
    running = asyncio.create_task(process.run())
    await until((folder / "begun").exists)
    for _ in range(times):
        running.cancel()
        await asyncio.sleep(0.01)
    await asyncio.wait({running})
    return running


@pytest.mark.parametrize("times", [1, 3])
async def test_a_child_that_hands_its_item_back_makes_the_stop_a_clean_one(tmp_path: Path, times: int) -> None:
    script = "trap 'sleep 0.1; echo over; exit 0' TERM; echo ready; BEGUN; while :; do sleep 0.01; done"
    running = await cancelled(script, tmp_path, times=times)
    assert not running.cancelled()
    assert running.exception() is None


@pytest.mark.parametrize(
    ("script", "options"),
    [
        ("echo ready; BEGUN; while :; do sleep 0.01; done", {}),
        ("trap '' TERM; echo ready; BEGUN; while :; do sleep 0.01; done", {"stop_s": 0.2}),
        # Reports after the request do not put the end off.
        ("trap '' TERM; echo ready; BEGUN; while :; do sleep 0.01; echo progress; done", {"stop_s": 0.2}),
    ],
)
async def test_a_child_that_does_not_is_ended_and_the_run_is_cancelled(
    tmp_path: Path, script: str, options: dict[str, Any]
) -> None:
    running = await cancelled(script, tmp_path, **options)
    assert running.cancelled()


async def test_the_worker_keeps_its_end_of_the_pipe_open() -> None:
    with pytest.raises(WorkerDied, match="was killed"):
        await run("echo ready; read -r more; echo over", grace_s=0.2)


@pytest.mark.parametrize(
    ("code", "how"),
    [
        (None, "did not end within 1.5 s and was killed"),
        (0, "ended with exit code 0"),
        (1, "ended with exit code 1"),
        (-11, "was ended by signal 11 (SIGSEGV)"),
        (-1, "was ended by signal 1 (SIGHUP)"),
        (-99, "was ended by signal 99 (unknown)"),
    ],
)
def test_how_a_child_was_lost_is_said_in_words(code: int | None, how: str) -> None:
    assert how in death_text(code, 1.5)
