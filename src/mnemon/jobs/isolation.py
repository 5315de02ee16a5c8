"""A child process for an item that was lost with its worker, and the worker's watch over that process.

An expired lease does not tell what went wrong: a worker that is killed from outside takes along every item it had.
So such an item is run once more, alone, in a child process, and the worker that started it watches:

    worker                            child
      ── order, one line on stdin ─────►
      ◄────────────────────────── ready    services are open; the item's time limit begins
      ◄─────────────────────── progress    the item's time limit begins anew
      ◄─────────────────────────── over    the outcome is in the database

A child that ends between `ready` and `over`, or does not end in time, was ended or frozen by its item. The worker lives
and can park it. The worker keeps its end of stdin open while it lives, and the child exits when it closes.
"""

import asyncio
import json
import os
import signal
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypeVar

from prometheus_client import Counter

from mnemon.errors import MnemonError
from mnemon.event_loop import write_to_program
from mnemon.jobs.work import WorkerDied, WorkItem

R = TypeVar("R")

CHILDREN_STARTED = Counter(
    "mnemon_work_children_total", "Processes started for one work item that had been lost before."
)
CHILDREN_DIED = Counter(
    "mnemon_work_children_died_total", "Processes started for one work item that the item ended or froze."
)


class ChildReport(StrEnum):
    """A line that a child writes to its stdout."""

    READY = "ready"
    PROGRESS = "progress"
    OVER = "over"


class ChildNotStarted(MnemonError):
    """The process for the item could not be started, which says nothing about the item."""

    code = "child_not_started"


@dataclass(frozen=True, kw_only=True)
class ChildOrder:
    """The order that a child receives."""

    parent: int
    """The process id of the worker; the child exits when that process does."""
    item: WorkItem
    """Claimed by the parent, which renews its lease."""
    opening: Mapping[str, Any] = field(repr=False)
    """What the child needs to open its services; it may hold secrets."""

    def to_line(self) -> bytes:
        """Return the child's order as one line of JSON."""
        return json.dumps({"parent": self.parent, "item": asdict(self.item), "opening": self.opening}).encode() + b"\n"


def parse_order(line: bytes) -> ChildOrder:
    """Return the child's order from a line of JSON."""
    read = json.loads(line)
    return ChildOrder(parent=read["parent"], item=WorkItem(**read["item"]), opening=read["opening"])


@dataclass(frozen=True, kw_only=True)
class Isolation:
    """How to start a child, and how long a worker waits for it."""

    command: tuple[str, ...]
    """The command line; it holds no secret, since every user of the machine can read it."""
    opening: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What the child needs to open its services; passed on stdin, which nobody else can read."""
    start_s: float = 300.0
    """Longest time from its start to `ready`. Much longer than it takes: a slow start says nothing about the item."""
    grace_s: float = 60.0
    """Time beyond the item's limit: a child that still runs stops the item itself and records that, for which it may
    have to wait for the database."""
    end_s: float = 10.0
    """Longest time from `over` to its end."""
    stop_s: float = 3.0
    """Longest time from a request to stop to its end: a stopping worker has waited for it already."""


class ItemProcess:
    """The child process of one item, from its start to its end."""

    def __init__(self, isolation: Isolation, item: WorkItem, limit: timedelta) -> None:
        """Prepare a child process for the item, which must report `ready` within the start time."""
        self._isolation = isolation
        self._item = item
        self._running_s = limit.total_seconds() + isolation.grace_s
        self._last: ChildReport | None = None
        self._stopping = False
        self._deadline = asyncio.get_running_loop().time() + isolation.start_s

    def deadline(self) -> float:
        """Return the loop's time at which the item's child process is given up unless it reports before."""
        return self._deadline

    async def run(self) -> None:
        """Run the child process until it has written the item's outcome; raise if it could not or did not.

        On cancellation, have the child hand the item back, and raise unless it did.
        """
        process = await self._start_child()
        CHILDREN_STARTED.inc()
        try:
            in_time = await self._follow_reports(process)
        except asyncio.CancelledError:
            if not await _finish_uncancelled(self._stop_child(process)):
                raise
            return
        finally:
            # A late child is killed at once: a frozen interpreter cannot stop itself.
            code = await _finish_uncancelled(
                _reap_child(process, wait_s=0 if self._is_late() else self._isolation.end_s)
            )
        if self._last is ChildReport.OVER:
            return
        # Before `ready` a failure says nothing about the item, which is tried again (decision 25).
        if self._last is None:
            raise ChildNotStarted("The process in which this item was to run alone did not start; it is tried again.")
        # Between `ready` and `over` the end is the item's doing, whatever the exit code (decision 25).
        CHILDREN_DIED.inc()
        raise WorkerDied(death_text(code if in_time else None, self._running_s))

    def _is_late(self) -> bool:
        """Say whether the child has not reported by its deadline."""
        return asyncio.get_running_loop().time() >= self._deadline

    async def _start_child(self) -> asyncio.subprocess.Process:
        """Start the child process and write it its order; raise ChildNotStarted where the system refuses."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._isolation.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,  # it inherits stderr and so logs where the worker does
                start_new_session=True,  # a Ctrl-C is for the worker, which then stops the child
            )
        except OSError as error:
            raise ChildNotStarted(f"A process for this item cannot be started: {error.strerror}.") from error
        assert process.stdin is not None
        order = ChildOrder(parent=os.getpid(), item=self._item, opening=self._isolation.opening)
        with suppress(BrokenPipeError):  # it has ended already, and `run` sees how
            # The order fits the pipe's buffer. stdin stays open, see the module's docstring.
            write_to_program(process.stdin, order.to_line())
        return process

    async def _follow_reports(self, process: asyncio.subprocess.Process) -> bool:
        """Read the child's reports until it ends or is late; return whether it ended in time."""
        assert process.stdout is not None
        while True:
            try:
                async with asyncio.timeout_at(self._deadline):
                    line = await process.stdout.readline()
            except TimeoutError:
                return False
            if not line:
                return True
            self._record_report(line)

    def _record_report(self, line: bytes) -> None:
        """Note a report of the child and set the deadline of the next one; ignore a line that is no report."""
        try:
            self._last = ChildReport(line.decode(errors="replace").strip())
        except ValueError:
            return
        if self._last is ChildReport.OVER:
            self._deadline = asyncio.get_running_loop().time() + self._isolation.end_s
        elif not self._stopping:  # else a report that was under way, or a child that goes on, would put off the stop
            self._deadline = asyncio.get_running_loop().time() + self._running_s

    async def _stop_child(self, process: asyncio.subprocess.Process) -> bool:
        """Send the child SIGTERM and wait, without killing it; return whether it handed its item back."""
        self._stopping = True
        self._deadline = asyncio.get_running_loop().time() + self._isolation.stop_s
        with suppress(ProcessLookupError):
            process.terminate()
        await self._follow_reports(process)
        return self._last is ChildReport.OVER


def death_text(code: int | None, seconds: float) -> str:
    """Return a sentence on how the child was lost, by its exit code (a signal if negative; None: it froze)."""
    if code is None:
        how = f"did not end within {seconds:g} s and was killed"
    elif code < 0:
        how = f"was ended by signal {-code} ({_signal_name(-code)})"
    else:
        how = f"ended with exit code {code}"
    return (
        "It ended its process twice: a worker was lost while it had this item, and then the process in which the item "
        f"ran alone {how}. It is not tried again."
    )


def _signal_name(number: int) -> str:
    """Return the name of a signal's number, like `SIGKILL`; `unknown` where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


async def _reap_child(process: asyncio.subprocess.Process, *, wait_s: float) -> int:
    """Return the child's exit code once it ended; kill it, and its whole session, if it does not end in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(wait_s):
            await process.wait()
    if process.returncode is None:
        with suppress(ProcessLookupError):
            # The whole session, since the item may have started programs of its own.
            os.killpg(process.pid, signal.SIGKILL)
    code = await process.wait()
    if process.stdin is not None:
        process.stdin.close()
    return code


async def _finish_uncancelled(work: Coroutine[Any, Any, R]) -> R:
    """Return the result of work, waiting for it even if this task is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    return task.result()
