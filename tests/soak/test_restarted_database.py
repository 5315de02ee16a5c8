"""Immediate restarts of PostgreSQL under load: nothing lost, and the server ready within 5 s of the database."""

import asyncio
import os
import random
import signal
import statistics
import sys
import time
from pathlib import Path

import pytest

from support.bounds import HANGS_S
from support.soaking import Load, Server, judge

READY_WITHIN_SECONDS = 5.0


async def database_is_back(server: Server, old_pid: int) -> float:
    """The moment at which a new PostgreSQL accepts connections."""
    end = time.monotonic() + HANGS_S
    while time.monotonic() < end:
        found = server.postgres()
        if found is not None and found.pid != old_pid and found.ready:
            return time.monotonic()
        await asyncio.sleep(0.01)
    raise AssertionError(f"the database did not come back: {server.said()}")


async def restart_and_count(folder: Path, restarts: int, *, ready_within: float) -> dict[str, float]:
    """Ends PostgreSQL at once so many times in the middle of writes; the figures, after every promise was checked."""
    server = Server(folder)
    back: list[float] = []
    behind: list[float] = []
    try:
        await server.start()
        async with Load(server) as load:
            for _ in range(restarts):
                await load.more(random.randint(20, 100))
                postgres = server.postgres()
                assert postgres is not None
                gone = time.monotonic()
                os.kill(postgres.pid, signal.SIGQUIT)  # what pg_ctl stop -m immediate does
                came = await database_is_back(server, postgres.pid)
                await server.ready(HANGS_S)
                back.append(came - gone)
                behind.append(time.monotonic() - came)
            await load.more(20)
        verdict = judge(server, load.ledger)
        assert verdict.lost == 0, verdict
        assert verdict.duplicated == 0, verdict
        assert max(behind) < ready_within, behind
        assert server.stop() == 0, server.said()
    finally:
        server.end()
    return {
        "restarts": restarts,
        "acknowledged": verdict.acknowledged,
        "lost": verdict.lost,
        "duplicated": verdict.duplicated,
        "seconds until the database was back, median": round(statistics.median(back), 2),
        "seconds until the database was back, longest": round(max(back), 2),
        "seconds ready after the database, median": round(statistics.median(behind), 2),
        "seconds ready after the database, longest": round(max(behind), 2),
    }


@pytest.mark.timeout(900)
async def test_an_immediate_restart_loses_nothing_and_is_over_soon(tmp_path: Path) -> None:
    figures = await restart_and_count(tmp_path, restarts=2, ready_within=HANGS_S)
    assert figures["acknowledged"] >= 40


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_20_immediate_restarts_lose_nothing_and_are_over_soon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = await restart_and_count(tmp_path, restarts=20, ready_within=READY_WITHIN_SECONDS)
    with capsys.disabled():
        sys.stderr.write(f"\nImmediate restarts of PostgreSQL: {figures}\n")
