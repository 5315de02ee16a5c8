"""Keeping the event loop responsive: requests before jobs, long texts in a thread, and pauses in long loops.

- Requests and jobs may run in one process, on one processor. A reflection computes as long as a reply takes to begin,
  so before each of its steps a job lets recent requests go first, though never for long (`RequestPriority`).
- Long texts are processed in one thread for the whole process: Python runs one thread at a time anyway, and each
  further one would make the loop wait longer for its turn. What runs there is linear in its text (`untrusted_text.py`).
- Loops that are short for each item and long in all pause in between.
- What asyncio's loop and uvloop's do differently is made the same (`write_to_program`).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import lru_cache
from typing import TypeVar

MAX_YIELD_S = 0.05
"""Longest that a job waits before one step, and that a request has priority."""

is_background: ContextVar[bool] = ContextVar("is_background", default=False)
"""Whether the current task is part of a job."""


class PriorityTicket:
    """The priority of one request, until its response begins or MAX_YIELD_S have passed."""

    def __init__(self, priority: "RequestPriority") -> None:
        """Begin the request's priority over jobs, which ends by itself after MAX_YIELD_S."""
        self._priority = priority
        # Bounded, so that under a crowd of requests jobs and replies take turns and neither starves.
        self._timer = asyncio.get_running_loop().call_later(MAX_YIELD_S, self.release_priority)
        self._active = True

    def release_priority(self) -> None:
        """End the request's priority, because its response begins or it ended; a second call does nothing."""
        if self._active:
            self._active = False
            self._timer.cancel()
            self._priority.end_request()


class RequestPriority:
    """Counts the requests that go first in one application, and holds the jobs that wait for them.

    It belongs to the database, since every step of a job passes there.
    """

    def __init__(self) -> None:
        """Begin with no request in progress and no job waiting."""
        self._ahead = 0
        self._waiting: set[asyncio.Future[None]] = set()

    def begin_request(self) -> PriorityTicket:
        """Give a request priority over background jobs; return the ticket that releases it."""
        self._ahead += 1
        return PriorityTicket(self)

    def end_request(self) -> None:
        """Count one request with priority less; after the last one, wake the waiting jobs."""
        self._ahead -= 1
        if not self._ahead:
            for one in self._waiting:
                if not one.done():
                    one.set_result(None)

    async def yield_to_requests(self) -> None:
        """Wait, in a job, until no request has priority, for at most MAX_YIELD_S; elsewhere return at once."""
        if not self._ahead or not is_background.get():
            return
        free = asyncio.get_running_loop().create_future()
        self._waiting.add(free)
        try:
            # Not `wait_for`, which in Python 3.11 can lose a cancellation.
            await asyncio.wait((free,), timeout=MAX_YIELD_S)
        finally:
            self._waiting.discard(free)


ReadResult = TypeVar("ReadResult")

INLINE_CHARS = 4_000
"""Characters that are processed on the event loop: the slowest function takes 20 µs for 1,000 of them in prose, 20 ms
at worst; a thread costs 0.1 ms."""


async def run_off_loop(size: int, read: Callable[[], ReadResult]) -> ReadResult:
    """Return the result of `read`, run in a thread if its texts have more than INLINE_CHARS characters."""
    if size <= INLINE_CHARS:
        return read()
    return await asyncio.get_running_loop().run_in_executor(_text_executor(), copy_context().run, read)


@lru_cache(maxsize=1)
def _text_executor() -> ThreadPoolExecutor:
    """Return the executor with the one thread for long texts, made at first use."""
    # One thread: each further one would only make the event loop wait longer for the interpreter lock.
    return ThreadPoolExecutor(1, thread_name_prefix="text")


PausedItem = TypeVar("PausedItem")


async def with_pauses(items: Iterable[PausedItem], every: int) -> AsyncIterator[PausedItem]:
    """Yield the items, and let other asyncio tasks run after every `every` of them."""
    for number, item in enumerate(items, start=1):
        yield item
        if number % every == 0:
            await asyncio.sleep(0)


def write_to_program(stdin: asyncio.StreamWriter, data: bytes) -> None:
    """Write to a program's standard input; raise BrokenPipeError where the program has closed it or ended.

    asyncio's loop discards such a write, and uvloop's raises RuntimeError.
    """
    if stdin.is_closing():
        raise BrokenPipeError("The program has closed its standard input.")
    stdin.write(data)
