"""A database that refuses to write for a while (SQLSTATE 25006): writes are 503, reads work, the worker catches up."""

import asyncio
from pathlib import Path

import pytest

from support.soak.figures import Figures
from support.soak.judging import FULL, SUITE, Bounds, judge, reflected_after
from support.soak.options import Part
from support.soak.probing import Probing, longest_s
from support.soak.server import Server
from support.soak.writing import Load, turn_or_memory

READS = ("/api/memories?userId=user-0", "/api/jobs", "/api/sessions?userId=user-0")
REFUSED_WITHIN_S = 60.0


async def refuse_and_count(folder: Path, spells: int, seconds: float, bounds: Bounds) -> Figures:
    """Make the database read-only for so many spells in the middle of writes and check every promise."""
    server = Server(folder)
    ready: list[float] = []
    try:
        await server.start()
        async with Load(server, turn_or_memory) as load, Probing(server, [*READS, "/healthz"]) as probing:
            for _ in range(spells):
                await load.more(20)
                before = load.ledger.statuses[503]
                server.set_default("default_transaction_read_only", "on")
                try:
                    await asyncio.sleep(seconds)
                    await _one_more_refusal(load, before)
                finally:
                    server.set_default("default_transaction_read_only", "off")
                ready.append(await server.ready(bounds.ready_s + 30))
            await load.more(20)
        reflected = await reflected_after(server, "afterwards", bounds.reflected_s)
        verdict = await judge(server, load.ledger, bounds)
        assert {one.status for one in probing.probes} == {200}, [one for one in probing.probes if one.status != 200]
        assert max(ready) < bounds.ready_s, ready
        assert load.ledger.lost_answers == 0, "a write was not answered at all"
        assert server.stop() == 0, server.said()
    finally:
        server.end()
    return verdict.figures(
        count=spells,
        ready_s=round(max(ready), 2),
        summed={**load.ledger.refused(), "reads answered": sum(one.path in READS for one in probing.probes)},
        longest={
            "seconds for a read": round(longest_s(probing.probes), 2),
            "seconds until a turn posted afterwards was reflected": round(reflected, 2),
        },
    )


async def _one_more_refusal(load: Load, before: int) -> None:
    """Wait until a write was refused in this spell: without one, the spell has shown nothing."""
    async with asyncio.timeout(REFUSED_WITHIN_S):
        while load.ledger.statuses[503] == before:
            load.raise_fault()
            await asyncio.sleep(0.05)


@pytest.mark.timeout(600)
async def test_a_read_only_spell_refuses_writes_and_loses_nothing(tmp_path: Path) -> None:
    figures = await refuse_and_count(tmp_path, 1, 1.0, SUITE)
    figures.assert_clean()
    assert figures.acknowledged >= 40


@pytest.mark.soak("read-only", count=10, unit="read-only spells of 5 s")
@pytest.mark.timeout(3600)
async def test_10_read_only_spells_refuse_writes_and_lose_nothing(tmp_path: Path, soak_part: Part) -> None:
    soak_part.record(await refuse_and_count(tmp_path, soak_part.count, 5.0, FULL))
