"""Kinds of work that end or freeze whoever runs them, and the programs that run them: a worker, and its child.

    python lone_items.py worker URL FOLDER GRACE_S      a worker, until SIGTERM
    python lone_items.py child                          a child of it, see `mnemon.jobs.isolation`

What runs leaves lines in files of the folder: `begun` and `ended`, each with the key and the process that ran it.
"""

import asyncio
import os
import re
import signal
import sys
from datetime import timedelta
from pathlib import Path

from mnemon.clock import FileClock
from mnemon.db.database import Database
from mnemon.errors import ModelDown
from mnemon.jobs.child import ParentWorker, run_order
from mnemon.jobs.isolation import ChildOrder, Isolation
from mnemon.jobs.kind import DEFAULT_TIME_LIMIT, Attempt, JobHandler, JobKind, SlotGroup
from mnemon.jobs.runner import Runner
from mnemon.logs import configure_logs

LIMIT = timedelta(seconds=0.5)
"""The time limit of work that never ends by itself; no other work has a short one."""


class Works:
    """A handler for each kind of work, named like it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def plain(self, attempt: Attempt) -> None:
        """Do nothing."""

    async def waiting(self, attempt: Attempt) -> None:
        """End when `go` is there."""
        while not (self._folder / "go").exists():
            await asyncio.sleep(0.01)

    async def stepping(self, attempt: Attempt) -> None:
        """Make progress when `step` is there, and end when `go` is."""
        while not (self._folder / "step").exists():
            await asyncio.sleep(0.01)
        attempt.extend_time_limit()
        await self.waiting(attempt)

    async def killing(self, attempt: Attempt) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    async def leaving(self, attempt: Attempt) -> None:
        os._exit(0)

    async def stopping(self, attempt: Attempt) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)

    async def holding(self, attempt: Attempt) -> None:
        """Hold the interpreter for longer than the world stands."""
        re.match(r"(a+)+$", "a" * 100 + "b")

    async def failing(self, attempt: Attempt) -> None:
        raise ModelDown("away")

    async def endless(self, attempt: Attempt) -> None:
        await asyncio.Event().wait()


def kinds_in(folder: Path) -> dict[str, JobKind]:
    """Every kind of work, leaving its lines in this folder."""
    works = Works(folder)

    def noting(work: JobHandler) -> JobHandler:
        async def run(attempt: Attempt) -> None:
            note(folder / "begun", attempt)
            await work(attempt)
            note(folder / "ended", attempt)

        return run

    def kind(name: str, *, group: SlotGroup = SlotGroup.UPKEEP, limit: timedelta = DEFAULT_TIME_LIMIT) -> JobKind:
        return JobKind(name=name, run=noting(getattr(works, name)), group=group, time_limit=limit)

    every = (
        *(kind(name) for name in ("plain", "stepping", "killing", "leaving", "failing")),
        *(kind(name, limit=LIMIT) for name in ("stopping", "holding", "endless")),
        kind("waiting", group=SlotGroup.RUNS),
    )
    return {one.name: one for one in every}


def note(file: Path, attempt: Attempt) -> None:
    """Add a line in one write, so that lines of several processes do not mix."""
    with file.open("ab", buffering=0) as lines:
        lines.write(f"{attempt.key} {os.getpid()}\n".encode())


def noted(file: Path) -> list[tuple[str, int]]:
    """The lines that were added, as key and process."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [(line.split()[0], int(line.split()[1])) for line in lines]


def isolation_in(url: str, folder: Path, *, grace_s: float = 0.5) -> Isolation:
    """How a worker over this database starts its children."""
    opening = {"url": url, "folder": str(folder)}
    return Isolation(command=(sys.executable, __file__, "child"), opening=opening, grace_s=grace_s)


async def work(url: str, folder: Path, grace_s: float) -> None:
    """Work on everything that is due until SIGTERM."""
    configure_logs("info")
    clock = FileClock(folder / "clock")
    db = Database(url, clock)
    await db.open()
    asked = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked.set)
    isolation = isolation_in(url, folder, grace_s=grace_s)
    async with Runner(db, clock, kinds_in(folder), isolation=isolation).run_in_background():
        await asked.wait()
    await db.close()


async def work_alone(parent: ParentWorker, order: ChildOrder) -> None:
    """Run the one item of the order."""
    configure_logs("info")
    folder = Path(order.opening["folder"])
    clock = FileClock(folder / "clock")
    db = Database(order.opening["url"], clock)
    await db.open()
    await run_order(order, parent, db, clock, kinds_in(folder))
    await db.close()


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        asyncio.run(work(sys.argv[2], Path(sys.argv[3]), float(sys.argv[4])))
    else:
        mine = ParentWorker()
        asyncio.run(work_alone(mine, mine.receive_order()))
