"""Lets others run while something goes through many items: for work that is short for each and long for all."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")


async def with_pauses(items: Iterable[T], every: int) -> AsyncIterator[T]:
    """Give the items, and let the event loop do what else is due after each `every` of them."""
    for number, item in enumerate(items, start=1):
        yield item
        if number % every == 0:
            await asyncio.sleep(0)
