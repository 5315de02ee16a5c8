"""SIGKILLs of the server during acknowledged writes: none lost, none twice."""

import asyncio
import random
import statistics
import sys
import time
from pathlib import Path

import pytest

from support.soaking import Load, Server, judge


async def kill_and_count(folder: Path, kills: int) -> dict[str, float]:
    """Kills a server so many times in the middle of its writes; the figures, after every promise was checked."""
    server = Server(folder)
    starts: list[float] = []
    began = time.monotonic()
    try:
        await server.start()
        async with Load(server) as load:
            for _ in range(kills):
                await load.more(random.randint(1, 20))
                await asyncio.sleep(random.random() * 0.05)
                server.kill()
                starts.append(await server.start())
            await load.more(20)
        verdict = judge(server, load.ledger)
        assert verdict.lost == 0, verdict
        assert verdict.duplicated == 0, verdict
        assert server.stop() == 0, server.said()
        assert server.postgres() is None
    finally:
        server.end()
    return {
        "kills": kills,
        "acknowledged": verdict.acknowledged,
        "lost": verdict.lost,
        "duplicated": verdict.duplicated,
        "answers lost": load.ledger.lost_answers,
        "writes asked again": verdict.asked_again,
        "seconds to ready, median": round(statistics.median(starts), 2),
        "seconds to ready, longest": round(max(starts), 2),
        "minutes": round((time.monotonic() - began) / 60, 1),
    }


@pytest.mark.timeout(900)
async def test_a_few_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    figures = await kill_and_count(tmp_path, kills=3)
    assert figures["acknowledged"] >= 20


@pytest.mark.soak
@pytest.mark.timeout(7200)
async def test_300_kills_lose_nothing_and_double_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = await kill_and_count(tmp_path, kills=300)
    with capsys.disabled():
        sys.stderr.write(f"\nSIGKILL of the server: {figures}\n")
