"""The child's side of `isolation.py`: a process that runs one item and ends when its worker does."""

import asyncio
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress

from mnemon.clock import Clock
from mnemon.db.database import Database
from mnemon.jobs.isolation import ChildOrder, ChildReport, parse_order
from mnemon.jobs.kind import JobKind
from mnemon.jobs.runner import Runner
from mnemon.supervisor import end_tasks

_PR_SET_PDEATHSIG = 1
_ORPHANED_EXIT_CODE = 70
"""The exit code of a child whose worker is gone; nobody reads it."""


class ParentWorker:
    """The child's connection to the worker that started it: orders on stdin, reports on stdout."""

    def __init__(self) -> None:
        """Take over stdin and stdout as the pipes to the worker, and give the item's programs others."""
        # Programs that the item starts inherit stdin and stdout. They get /dev/null and stderr instead, so that the
        # pipes to the worker close when this process ends.
        self._orders = os.dup(0)
        self._reports = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)

    def send_report(self, report: ChildReport) -> None:
        """Write the worker a line on the item's progress to stdout."""
        with suppress(OSError):  # the worker is gone, and this process ends in a moment
            os.write(self._reports, f"{report}\n".encode())

    def receive_order(self) -> ChildOrder:
        """Read the worker's order from stdin; from now on this process exits when the worker ends."""
        if sys.platform == "linux":
            # Also by the kernel: while a C library holds the interpreter lock, the thread below does not run.
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        line = b""
        while not line.endswith(b"\n"):
            if not (read := os.read(self._orders, 65536)):
                os._exit(_ORPHANED_EXIT_CODE)
            line += read
        order = parse_order(line)
        if os.getppid() != order.parent:  # the worker ended before prctl was called
            os._exit(_ORPHANED_EXIT_CODE)
        # Without the worker nobody renews the item's lease: another worker may claim and run it.
        threading.Thread(target=self._exit_with_parent, name="parent", daemon=True).start()
        return order

    def _exit_with_parent(self) -> None:
        """Wait until the worker closes the pipe to this child process, then exit at once."""
        with suppress(OSError):
            while os.read(self._orders, 4096):
                pass
        # Not sys.exit, which would end this thread only.
        os._exit(_ORPHANED_EXIT_CODE)


async def run_order(
    order: ChildOrder, parent: ParentWorker, db: Database, clock: Clock, kinds: Mapping[str, JobKind]
) -> None:
    """Run the ordered item like any runner and report to the parent; hand it back on SIGINT or SIGTERM."""
    stop_requested = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop_requested.set)
    runner = Runner(db, clock, kinds, on_progress=lambda: parent.send_report(ChildReport.PROGRESS))
    parent.send_report(ChildReport.READY)
    attempt = runner.start_attempt(order.item)
    stop = asyncio.create_task(stop_requested.wait())
    await asyncio.wait({attempt, stop}, return_when=asyncio.FIRST_COMPLETED)
    # No grace: the attempt has ended, or the worker that asks to stop has waited for it already.
    await runner.stop(grace_s=0)
    await end_tasks(stop)
    # An error of the runner itself is logged by it; the parent then sees a process that ended without an outcome.
    if attempt.cancelled() or attempt.exception() is None:
        parent.send_report(ChildReport.OVER)
