"""Writing log lines in a thread of its own, so that logging never waits for the reader of the log.

A pipe that nobody reads is full after 64 KiB, and a write to it then blocks. On the event loop, that would stop the
whole server. So lines go through a bounded queue to a thread that may block; while the queue is full, further lines are
dropped and counted, and a notice in the log says how many are missing. The cost: lines that are still in the queue are
lost when the process is killed.
"""

import os
import select
import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue

from prometheus_client import Counter

DROPPED_LINES = Counter(
    "mnemon_log_lines_dropped", "Log lines that were dropped because the log was not read fast enough."
)

MAX_WAITING_LINES = 10_000
"""Lines that may be queued, about 3 MB."""
_LINES_PER_WRITE = 500
"""Lines that are joined for one write."""
CLOSE_SECONDS = 2.0
"""How long the exit of the process waits for queued lines."""


class LogWriter:
    """Takes lines from any thread and writes them to a file descriptor, in order."""

    def __init__(
        self, fd: int, *, most_waiting: int = MAX_WAITING_LINES, notice: Callable[[int], str | None] = lambda _: None
    ) -> None:
        """Start the thread that writes to this descriptor; `notice` words the line for dropped ones."""
        self._fd = fd
        self.on_terminal = os.isatty(fd)
        self._most = most_waiting
        # Returns the line that says how many are missing, or None for no line.
        self._notice = notice
        # SimpleQueue, because its put is reentrant: a finalizer that logs would deadlock on Queue's mutex.
        self._lines: SimpleQueue[str | int | None] = SimpleQueue()
        """Lines; a number where that many were dropped, and None where the writer is closed."""
        self._dropped = 0
        self._counting = threading.RLock()  # reentrant for the same reason
        self._thread = threading.Thread(target=self._write_lines, name="mnemon-log", daemon=True)
        self._thread.start()

    def put(self, line: str) -> None:
        """Queue the log line to be written; drop and count it if too many are queued."""
        if self._lines.qsize() >= self._most:
            self._count_dropped(1)
            DROPPED_LINES.inc()
            return
        if self._dropped:
            # Regardless of the limit, since the notice of dropped lines must not be dropped itself.
            self._lines.put(self._take_dropped())
        self._lines.put(line)

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Write the queued log lines and end the thread; give up after these seconds."""
        self._lines.put(None)
        self._thread.join(seconds)

    def _write_lines(self) -> None:
        """Write queued lines until the writer is closed, and count those that could not be written."""
        open_ = True
        while open_:
            taken, open_ = self._next_lines()
            if not self._write_bytes("".join(self._format_lines(taken)).encode("utf-8", "backslashreplace")):
                lost = sum(isinstance(one, str) for one in taken)
                DROPPED_LINES.inc(lost)
                self._count_dropped(lost + sum(one for one in taken if isinstance(one, int)))

    def _next_lines(self) -> tuple[list[str | int], bool]:
        """Wait for a log line; return it with those queued behind it, and whether more may come."""
        taken: list[str | int] = []
        more = True
        try:
            one = self._lines.get()
            while one is not None:
                taken.append(one)
                if len(taken) == _LINES_PER_WRITE:
                    return taken, True
                one = self._lines.get_nowait()
            more = False
        except Empty:
            pass
        # The queue is empty, so everything put before the dropped lines is taken and this is their place.
        taken.append(self._take_dropped())
        return taken, more

    def _format_lines(self, taken: list[str | int]) -> Iterator[str]:
        """Yield each log line as it is written, and a notice where lines are missing."""
        for one in taken:
            line = one if isinstance(one, str) else self._notice(one) if one else None
            if line is not None:
                yield f"{line}\n"

    def _count_dropped(self, number: int) -> None:
        """Add to the number of dropped lines, from any thread."""
        with self._counting:
            self._dropped += number

    def _take_dropped(self) -> int:
        """Return how many log lines were dropped since the last notice, and reset the count."""
        with self._counting:
            number, self._dropped = self._dropped, 0
            return number

    def _write_bytes(self, data: bytes) -> bool:
        """Write all bytes to the descriptor; return whether that was possible."""
        # os.write and not sys.stderr: a daemon thread that holds a stream's lock at exit makes the interpreter abort.
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._fd, left) :]
            except BlockingIOError:
                # Another process that shares the descriptor made it non-blocking.
                select.select([], [self._fd], [], 1.0)
            except OSError:  # closed, or its reader is gone: that must not stop the server
                return False
        return True
