"""Writes log lines in a thread of its own: whoever logs never waits for whoever reads the log.

A pipe that nobody reads is full after 64 KiB, and a write to it then blocks. Done on the event loop, that would stop
the whole server. So lines go through a bounded queue to a thread that may block; while the queue is full, further
lines are dropped and counted. What this costs: lines that are still in the queue are lost when the process is killed.
"""

import os
import select
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from prometheus_client import Counter

DROPPED = Counter("mnemon_log_lines_dropped", "Log lines that were dropped because the log was not read fast enough.")

MOST_WAITING = 10_000
"""Lines that may wait, about 3 MB."""
_AT_ONCE = 500
"""Lines that are written in one go."""
CLOSE_SECONDS = 2.0
"""How long the end of the process waits for lines that are still to be written."""


class LogWriter:
    """Takes lines from any thread and writes them to a file descriptor, in order."""

    def __init__(self, fd: int, *, most_waiting: int = MOST_WAITING, on_recovery: Callable[[int], None] | None = None):
        self._fd = fd
        self._most = most_waiting
        self._on_recovery = on_recovery  # told how many lines were dropped, once lines can be written again
        # SimpleQueue, because its put may run inside itself: a finalizer that logs would deadlock on Queue's mutex.
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._dropped = 0
        self._thread = threading.Thread(target=self._write_lines, name="mnemon-log", daemon=True)
        self._thread.start()

    def put(self, line: str) -> None:
        """Have the line written, unless too many wait already."""
        if self._lines.qsize() >= self._most:
            self._dropped += 1
            DROPPED.inc()
            return
        self._lines.put(line)

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Write what waits and end the thread; give up after these seconds."""
        self._lines.put(None)
        self._thread.join(seconds)

    def _write_lines(self) -> None:
        open_ = True
        while open_:
            lines, open_ = self._next_lines()
            if not self._write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")):
                DROPPED.inc(len(lines))
            elif self._dropped and self._on_recovery is not None:
                count, self._dropped = self._dropped, 0
                self._on_recovery(count)

    def _next_lines(self) -> tuple[list[str], bool]:
        """Wait for a line; give it with those behind it, and whether more may come."""
        lines: list[str] = []
        try:
            line = self._lines.get()
            while line is not None:
                lines.append(line)
                if len(lines) == _AT_ONCE:
                    return lines, True
                line = self._lines.get_nowait()
        except Empty:
            return lines, True
        return lines, False

    def _write(self, data: bytes) -> bool:
        """Write everything; tell whether that was possible."""
        # os.write and not sys.stderr: a daemon thread that holds a stream's lock at exit makes the interpreter abort.
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._fd, left) :]
            except BlockingIOError:  # somebody who shares the descriptor made it non-blocking
                select.select([], [self._fd], [], 1.0)
            except OSError:  # closed, or its reader is gone: a log that nobody can read stops nothing
                return False
        return True
