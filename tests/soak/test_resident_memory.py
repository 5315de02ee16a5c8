"""Half an hour of mixed load: the server's resident memory stays flat, and nothing is lost, twice or stuck."""

import asyncio
import statistics
from pathlib import Path

import pytest

from support.soak.figures import Figures
from support.soak.judging import FULL, SUITE, Bounds, judge
from support.soak.mixed import ACTIONS, act_until
from support.soak.options import Part
from support.soak.resident import Resident, growth_mb, is_flat
from support.soak.server import Server
from support.soak.writing import Load, turn_or_memory

VISITORS = 3
INDEX_MEMORY_MB = "32"
"""What people's indexes may hold: reached in the warm-up. Data that is stored and cached is no leak, and hides none."""
JUDGED_FROM_MINUTES = 10
"""A shorter run is all warm-up: its figures say nothing about growth."""


async def use_and_count(folder: Path, bounds: Bounds, *, seconds: float, least: int = 0) -> tuple[Figures, Resident]:
    """Use everything for so long, beside one person who is never forgotten, and sample the server's memory."""
    server = Server(folder, index_memory_mb=INDEX_MEMORY_MB)
    resident = Resident(server)
    over = asyncio.Event()
    try:
        await server.start()
        async with Load(server, turn_or_memory, writers=1, rationed=True) as load:
            async with asyncio.TaskGroup() as tasks:  # the first that fails ends the others
                using = tasks.create_task(act_until(server, over, visitors=VISITORS, least=least))
                tasks.create_task(_write_slowly(load, over))
                await resident.sample(seconds)
                over.set()
            done = using.result()
        verdict = await judge(server, load.ledger, bounds)
        assert server.stop() == 0, server.said()
    finally:
        server.end()
    figures = verdict.figures(
        count=round(seconds / 60),
        summed={name: done[name] for name in ACTIONS},
        longest={"minutes in one run": round(seconds / 60, 1), "MB of RSS": round(max(resident.server_mb), 1)},
    )
    return figures, resident


async def _write_slowly(load: Load, over: asyncio.Event) -> None:
    """One write a second of the person who stays, for the ledger."""
    while not over.is_set():
        load.allow(1)
        await asyncio.sleep(1)


def _growth(resident: Resident) -> dict[str, float]:
    return {
        "MB of RSS at the median": round(statistics.median(resident.server_mb), 1),
        "MB of RSS grown from the middle third to the last": round(growth_mb(resident.server_mb), 1),
        "MB of PostgreSQL's processes at the median": round(statistics.median(resident.database_mb), 1),
        "MB of PostgreSQL's processes grown": round(growth_mb(resident.database_mb), 1),
    }


@pytest.mark.timeout(600)
async def test_mixed_use_leaves_nothing_lost_twice_or_stuck(tmp_path: Path) -> None:
    figures, resident = await use_and_count(tmp_path, SUITE, seconds=1, least=15)
    figures.assert_clean()
    assert sum(figures.summed.values()) >= 15 * VISITORS
    assert min(resident.server_mb) > 0
    assert min(resident.database_mb) > 0


def test_memory_is_flat_unless_the_last_third_holds_more_than_the_middle() -> None:
    warm_up = [100.0 + 5 * minute for minute in range(20)]
    assert is_flat([*warm_up, *[200.0] * 20, *[205.0] * 20])
    assert is_flat([*warm_up, *[200.0] * 20, *[180.0] * 20])
    assert not is_flat([*warm_up, *[200.0] * 20, *[212.0] * 20])
    assert not is_flat([100.0 + minute for minute in range(60)])
    assert growth_mb([0.0, 0.0, 3.0, 3.0, 10.0, 10.0]) == 7.0


@pytest.mark.soak("memory", count=30, unit="minutes of mixed load")
@pytest.mark.timeout(4 * 3600)
async def test_half_an_hour_of_mixed_load_leaves_memory_flat(tmp_path: Path, soak_part: Part) -> None:
    figures, resident = await use_and_count(tmp_path, FULL, seconds=60 * soak_part.count)
    soak_part.record(figures.plus(Figures(count=0, acknowledged=0, latest=_growth(resident))))
    if soak_part.count >= JUDGED_FROM_MINUTES:
        assert is_flat(resident.server_mb), resident.server_mb
