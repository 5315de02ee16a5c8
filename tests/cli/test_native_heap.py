"""Freed memory goes back to the system while a server runs."""

import asyncio
import platform

import psutil
import pytest

from mnemon.cli import native_heap

MB = 1024 * 1024
pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps what is freed")


async def test_freed_memory_returns_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_heap, "TRIM_EVERY_S", 0.01)
    # Every second piece stays, so that nothing can be returned from the heap's end.
    pieces = [bytes(20_000) for _ in range(6_000)]
    kept = pieces[::2]
    del pieces
    held = psutil.Process().memory_info().rss
    async with native_heap.trimmed_heap(), asyncio.timeout(60):
        while held - psutil.Process().memory_info().rss < 30 * MB:
            await asyncio.sleep(0.01)
    assert len(kept) == 3_000
