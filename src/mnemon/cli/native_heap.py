"""Return memory that Python has freed to the operating system, where the C library is glibc; elsewhere do nothing.

glibc keeps a heap for each thread and returns little of what is freed inside one. Under mixed load the resident memory
of a server grew by 100 MB in half an hour in this way, while what Python held stayed the same (docs/soak.md, `memory`).
"""

import asyncio
import ctypes
import platform
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mnemon.supervisor import supervise

TRIM_EVERY_S = 30.0
_M_ARENA_MAX = -8
"""The number of `mallopt`'s option in glibc's malloc.h."""
_ARENAS = 2
"""Heaps for all threads together: the event loop's, and one that threads take turns at."""


@asynccontextmanager
async def trimmed_heap() -> AsyncIterator[None]:
    """Limit glibc's heaps and trim them every 30 seconds while the block runs. Enter it before threads are started."""
    if platform.libc_ver()[0] != "glibc":
        yield
        return
    libc = ctypes.CDLL(None)
    libc.mallopt(_M_ARENA_MAX, _ARENAS)

    async def trim_forever() -> None:
        """Trim the heap every 30 seconds until cancelled."""
        while True:
            await asyncio.sleep(TRIM_EVERY_S)
            await asyncio.to_thread(libc.malloc_trim, 0)  # takes milliseconds; ctypes releases the GIL

    async with supervise("heap_trimmer", trim_forever):
        yield
