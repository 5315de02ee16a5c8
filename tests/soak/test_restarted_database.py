"""Immediate restarts of PostgreSQL under load: nothing lost, and the server ready within 5 s of the database."""

import asyncio
import os
import random
import signal
import statistics
import time
from pathlib import Path

import pytest

from support.bounds import HANGS_S
from support.soak.figures import Figures
from support.soak.judging import FULL, SUITE, Bounds, judge, reflected_after
from support.soak.options import Part
from support.soak.server import Server
from support.soak.writing import Load, turn_or_memory

ROUND = 10


async def database_is_back(server: Server, old_pid: int) -> float:
    """The moment at which a new PostgreSQL accepts connections."""
    end = time.monotonic() + HANGS_S
    while time.monotonic() < end:
        found = server.postgres()
        if found is not None and found.pid != old_pid and found.is_ready:
            return time.monotonic()
        await asyncio.sleep(0.01)
    raise AssertionError(f"the database did not come back: {server.said()}")


async def restart_and_count(folder: Path, restarts: int, bounds: Bounds) -> Figures:
    """End PostgreSQL at once so many times in the middle of writes and check every promise."""
    server = Server(folder)
    back: list[float] = []
    behind: list[float] = []
    try:
        await server.start()
        async with Load(server, turn_or_memory) as load:
            for _ in range(restarts):
                await load.more(random.randint(20, 100))
                postgres = server.postgres()
                assert postgres is not None
                gone = time.monotonic()
                os.kill(postgres.pid, signal.SIGQUIT)  # what pg_ctl stop -m immediate does
                came = await database_is_back(server, postgres.pid)
                await server.ready(bounds.ready_s + 30)
                back.append(came - gone)
                behind.append(time.monotonic() - came)
            await load.more(20)
        reflected = await reflected_after(server, "afterwards", bounds.reflected_s)
        verdict = await judge(server, load.ledger, bounds)
        assert max(behind) < bounds.ready_s, behind
        assert server.stop() == 0, server.said()
    finally:
        server.end()
    return verdict.figures(
        count=restarts,
        ready_s=round(max(behind), 2),
        longest={
            "seconds until PostgreSQL was back": round(max(back), 2),
            "seconds until a turn posted afterwards was reflected": round(reflected, 2),
        },
        latest={"median seconds to ready": round(statistics.median(behind), 2)},
    )


@pytest.mark.timeout(600)
async def test_an_immediate_restart_loses_nothing_and_is_over_soon(tmp_path: Path) -> None:
    figures = await restart_and_count(tmp_path, 2, SUITE)
    figures.assert_clean()
    assert figures.acknowledged >= 40


@pytest.mark.soak("database-restarts", count=40, unit="immediate restarts of PostgreSQL")
@pytest.mark.timeout(2 * 3600)
async def test_40_immediate_restarts_lose_nothing_and_are_over_soon(tmp_path: Path, soak_part: Part) -> None:
    for number, restarts in enumerate(soak_part.rounds(ROUND)):
        soak_part.record(await restart_and_count(tmp_path / str(number), restarts, FULL))
