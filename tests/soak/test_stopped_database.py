"""A database that stands still (SIGSTOP): the server lives, says that it is not ready, and loses nothing."""

import asyncio
import time
from pathlib import Path

import pytest

from support.soak.figures import Figures
from support.soak.judging import FULL, SUITE, Bounds, judge, reflected_after
from support.soak.options import Part
from support.soak.probing import Probing, longest_s
from support.soak.server import Server
from support.soak.writing import Load, turn_or_memory

ANSWERED_WITHIN_S = 60.0
"""A write is answered, with 503 or with success once the database goes on, before its client gives up."""


async def stop_and_count(folder: Path, spells: int, seconds: float, bounds: Bounds) -> Figures:
    """Stop every process of PostgreSQL for so many spells in the middle of writes and check every promise."""
    server = Server(folder)
    ready: list[float] = []
    refused = 0
    try:
        await server.start()
        async with Load(server, turn_or_memory, patience=ANSWERED_WITHIN_S) as load:
            async with Probing(server, ["/healthz", "/readyz"]) as probing:
                for _ in range(spells):
                    await load.more(20)
                    with server.database_stopped():
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
        alive, asked = probing.of("/healthz"), probing.of("/readyz")
        assert {one.status for one in alive} == {200}, alive
        assert longest_s(alive) < bounds.answer_s, longest_s(alive)
        assert {one.status for one in asked} <= {200, 503}, asked
        assert longest_s(asked) < bounds.answer_s, longest_s(asked)
        assert max(ready) < bounds.ready_s, ready
        assert load.ledger.lost_answers == 0, "a write was not answered at all"
        assert server.stop() == 0, server.said()
    finally:
        server.end()
    return verdict.figures(
        count=spells,
        ready_s=round(max(ready), 2),
        summed={**load.ledger.refused(), "times /readyz said 503": refused},
        longest={
            "seconds for /healthz": round(longest_s(alive), 2),
            "seconds for /readyz": round(longest_s(asked), 2),
            "seconds for a write": round(load.ledger.longest_answer_s, 2),
            "seconds until a turn posted afterwards was reflected": round(reflected, 2),
        },
    )


@pytest.mark.timeout(600)
async def test_a_database_that_stands_still_for_a_moment_loses_nothing(tmp_path: Path) -> None:
    figures = await stop_and_count(tmp_path, 1, 3.0, SUITE)
    figures.assert_clean()
    assert figures.acknowledged >= 40


@pytest.mark.soak("database-stopped", count=10, unit="spells of 20 s of a stopped PostgreSQL")
@pytest.mark.timeout(2 * 3600)
async def test_10_spells_of_a_stopped_database_lose_nothing(tmp_path: Path, soak_part: Part) -> None:
    soak_part.record(await stop_and_count(tmp_path, soak_part.count, 20.0, FULL))
