"""Reading of long texts beside the event loop, so that whoever sends one delays nobody else.

One thread for the whole process: Python runs one at a time anyway, and each further one would make the loop wait longer
for its turn. What runs there reads text in linear time (`outside.py`), and a field's longest text bounds that time.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

INLINE = 4_000
"""Characters that are read on the spot: the slowest reader takes 20 µs for each 1,000 of them in prose, 20 ms at worst;
a thread costs 0.1 ms."""


async def read_aside(size: int, read: Callable[[], T]) -> T:
    """Give what `read` makes of texts of this many characters in all, on the spot where they are short."""
    if size <= INLINE:
        return read()
    return await asyncio.get_running_loop().run_in_executor(_thread(), copy_context().run, read)


@lru_cache(maxsize=1)
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="text")
