"""SIGKILLs of the server during acknowledged writes: none lost, none twice, none stuck."""

import asyncio
import random
import statistics
import time
from pathlib import Path

import pytest

from support.soak.figures import Figures
from support.soak.judging import FULL, SUITE, Bounds, judge
from support.soak.options import Part
from support.soak.server import Server
from support.soak.writing import Load, turn_or_memory

ROUND = 50


async def kill_and_count(folder: Path, kills: int, bounds: Bounds, *, clock: bool = False) -> Figures:
    """Kill a server so many times in the middle of its writes and check every promise.

    With `clock`, leases of killed servers lapse by a moved clock instead of by waiting.
    """
    server = Server(folder, clock=clock)
    starts: list[float] = []
    began = time.monotonic()
    try:
        await server.start()
        async with Load(server, turn_or_memory) as load:
            for _ in range(kills):
                await load.more(random.randint(1, 20))
                await asyncio.sleep(random.random() * 0.05)
                server.kill()
                starts.append(await server.start())
            await load.more(20)
        if clock:
            server.advance(minutes=2)
        verdict = await judge(server, load.ledger, bounds)
        assert server.stop() == 0, server.said()
        assert server.postgres() is None
    finally:
        server.end()
    return verdict.figures(
        count=kills,
        ready_s=round(max(starts), 2),
        summed={"answers lost": load.ledger.lost_answers, "writes asked again": load.ledger.asked_again},
        latest={
            "median seconds to ready": round(statistics.median(starts), 2),
            "minutes of the last round": round((time.monotonic() - began) / 60, 1),
        },
    )


@pytest.mark.timeout(900)
async def test_a_few_kills_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    figures = await kill_and_count(tmp_path, 3, SUITE, clock=True)
    figures.assert_clean()
    assert figures.acknowledged >= 20


@pytest.mark.soak("server-kills", count=600, unit="SIGKILLs of the server")
@pytest.mark.timeout(6 * 3600)
async def test_600_kills_lose_nothing_and_double_nothing(tmp_path: Path, soak_part: Part) -> None:
    for number, kills in enumerate(soak_part.rounds(ROUND)):
        soak_part.record(await kill_and_count(tmp_path / str(number), kills, FULL))
