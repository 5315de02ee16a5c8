"""A disk without a byte left under the database: writes are refused, reads go on, and nothing is lost."""

import asyncio
import time
from pathlib import Path

import pytest

from support.soak.figures import Figures
from support.soak.judging import FULL, SUITE, Bounds, judge, reflected_after
from support.soak.options import Part
from support.soak.probing import Probing, longest_s
from support.soak.server import Server
from support.soak.small_disk import full, small_disk
from support.soak.writing import Load, turn_or_memory

SEES_IT_WITHIN_S = 60.0


async def fill_and_count(folder: Path, spells: int, seconds: float, bounds: Bounds) -> Figures:
    """Fill the disk for so many spells in the middle of writes and check every promise."""
    with small_disk(folder / "disk") as disk:
        server = Server(disk)
        ready: list[float] = []
        refused = 0
        try:
            await server.start()
            async with Load(server, turn_or_memory) as load:
                async with Probing(server, ["/healthz", "/readyz", "/api/memories?userId=user-0"]) as probing:
                    for _ in range(spells):
                        await load.more(20)
                        with full(disk):
                            await _until_refused(load, probing)
                            began = time.monotonic()
                            await asyncio.sleep(seconds)
                            over = time.monotonic()
                        ready.append(await server.ready(bounds.ready_s + 60))
                        during = probing.of("/readyz", since=began, until=over)
                        assert {one.status for one in during} <= {503}, during
                        refused += len(during)
                await load.more(20)
            reflected = await reflected_after(server, "afterwards", bounds.reflected_s)
            verdict = await judge(server, load.ledger, bounds)
            assert max(ready) < bounds.ready_s, ready
            for path in ("/healthz", "/api/memories?userId=user-0"):
                assert [one for one in probing.of(path) if one.status != 200] == []
            assert server.stop() == 0, server.said()
        finally:
            server.end()
    return verdict.figures(
        count=spells,
        ready_s=round(max(ready), 2),
        summed={**load.ledger.refused(), "times /readyz said 503": refused},
        longest={
            "seconds for /healthz": round(longest_s(probing.of("/healthz")), 2),
            "seconds for a read": round(longest_s(probing.of("/api/memories?userId=user-0")), 2),
            "seconds until a turn posted afterwards was reflected": round(reflected, 2),
        },
    )


async def _until_refused(load: Load, probing: Probing) -> None:
    """Wait until a write was refused and `/readyz` says so: what fits into pages that are there is still stored."""
    began, before = time.monotonic(), load.ledger.statuses[503]
    while load.ledger.statuses[503] == before or not any(
        one.status == 503 for one in probing.of("/readyz", since=began)
    ):
        load.raise_fault()
        assert time.monotonic() - began < SEES_IT_WITHIN_S, "the full disk is not noticed"
        await asyncio.sleep(0.05)


@pytest.mark.timeout(600)
async def test_a_full_disk_loses_nothing_and_is_told(tmp_path: Path) -> None:
    try:
        figures = await fill_and_count(tmp_path, 1, 2.0, SUITE)
    except PermissionError as error:
        pytest.skip(str(error))
    figures.assert_clean()
    assert figures.acknowledged >= 40


@pytest.mark.soak("full-disk", count=5, unit="spells of 20 s of a full disk")
@pytest.mark.timeout(3600)
async def test_5_spells_of_a_full_disk_lose_nothing(tmp_path: Path, soak_part: Part) -> None:
    soak_part.record(await fill_and_count(tmp_path, soak_part.count, 20.0, FULL))
