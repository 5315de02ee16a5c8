"""Keep the event loop free: requests before jobs, long texts in a thread, and pauses in long loops.

- Requests and jobs may run in one process, on one processor. A reflection takes as long as a reply does to begin, so a
  job lets requests that came just now go first before each of its steps, though never for long (`RequestPriority`).
- Long texts are read in one thread for the whole process: Python runs one at a time anyway, and each further one would
  make the loop wait longer for its turn. What runs there is linear in its text (`untrusted_text.py`).
- Work that is short for each item and long for all of them pauses in between.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import lru_cache
from typing import TypeVar

MAX_YIELD_S = 0.05
"""Longest wait before one step, and for any one who waits."""

is_background: ContextVar[bool] = ContextVar("stands_back", default=False)
"""Whether what runs here is a job."""


class PriorityTicket:
    """Somebody who goes first, until the answer begins or has taken long."""

    def __init__(self, way: "RequestPriority") -> None:
        self._way = way
        self._until = asyncio.get_running_loop().call_later(MAX_YIELD_S, self.release_priority)
        self._passing = True

    def release_priority(self) -> None:
        """The first word is there, or never will be; said twice it counts once."""
        if self._passing:
            self._passing = False
            self._until.cancel()
            self._way.end_request()


class RequestPriority:
    """Who goes first in one application, and who waits for them. The database has it: every step passes there."""

    def __init__(self) -> None:
        self._ahead = 0
        self._waiting: set[asyncio.Future[None]] = set()

    def begin_request(self) -> PriorityTicket:
        """Somebody waits."""
        self._ahead += 1
        return PriorityTicket(self)

    def end_request(self) -> None:
        self._ahead -= 1
        if not self._ahead:
            for one in self._waiting:
                if not one.done():
                    one.set_result(None)

    async def yield_to_requests(self) -> None:
        """A job may take its next step: nobody waits, or the job has waited long enough."""
        if not self._ahead or not is_background.get():
            return
        free = asyncio.get_running_loop().create_future()
        self._waiting.add(free)
        try:
            await asyncio.wait((free,), timeout=MAX_YIELD_S)
        finally:
            self._waiting.discard(free)


ReadResult = TypeVar("ReadResult")

INLINE_CHARS = 4_000
"""Characters that are read on the spot: the slowest reader takes 20 µs for each 1,000 of them in prose, 20 ms at worst;
a thread costs 0.1 ms."""


async def run_off_loop(size: int, read: Callable[[], ReadResult]) -> ReadResult:
    """Give what `read` makes of texts of this many characters in all, on the spot where they are short."""
    if size <= INLINE_CHARS:
        return read()
    return await asyncio.get_running_loop().run_in_executor(_text_executor(), copy_context().run, read)


@lru_cache(maxsize=1)
def _text_executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="text")


PausedItem = TypeVar("PausedItem")


async def with_pauses(items: Iterable[PausedItem], every: int) -> AsyncIterator[PausedItem]:
    """Give the items, and let the event loop do what else is due after each `every` of them."""
    for number, item in enumerate(items, start=1):
        yield item
        if number % every == 0:
            await asyncio.sleep(0)
