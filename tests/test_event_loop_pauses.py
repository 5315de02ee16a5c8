"""Others run while something goes through many items."""

import asyncio

from mnemon.event_loop import with_pauses


async def test_every_item_comes_in_order_and_others_run_after_every_third() -> None:
    order: list[str] = []

    async def other() -> None:
        for turn in range(4):
            order.append(f"other {turn}")
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    async for item in with_pauses("abcdefg", 3):
        order += [item]
    await task
    assert order == [*"abc", "other 0", *"def", "other 1", "g", "other 2", "other 3"]


async def test_nothing_gives_nothing() -> None:
    assert [item async for item in with_pauses(list[int](), 3)] == []
