"""Clients that store batches about the same people at once: no deadlock, every job ends, the worker goes on."""

import asyncio
import time
from pathlib import Path

import pytest

from support.soak.batches import SIZE, batch
from support.soak.deadlocks import count_deadlocks, log_statements, statements_in_deadlocks
from support.soak.figures import Figures
from support.soak.judging import FULL, SUITE, Bounds, judge, reflected_after
from support.soak.options import Part
from support.soak.server import Server
from support.soak.writing import Load

_CLAIMS = "select kind, key, token from work where lease_until is not null and kind <> 'reservation'"


async def storm_and_count(folder: Path, bounds: Bounds, *, seconds: float = 0.0, batches: int = 0) -> Figures:
    """Store colliding batches for so long, and at least so many, and check every promise."""
    server = Server(folder)
    claims = Claims()
    try:
        await server.start()
        log_statements(server)
        async with Load(server, batch) as load:
            end = time.monotonic() + seconds
            while time.monotonic() < end or len(load.ledger.written) < batches:
                load.raise_fault()
                claims.look(server)
                await asyncio.sleep(0.5)
        deadlocks = count_deadlocks(server)
        assert deadlocks == 0, "\n".join(statements_in_deadlocks(server))
        reflected = await reflected_after(server, "afterwards", bounds.reflected_s)
        verdict = await judge(server, load.ledger, bounds)
        assert server.stop() == 0, server.said()
    finally:
        server.end()
    return Figures(
        count=round(seconds / 60),
        acknowledged=verdict.acknowledged * SIZE,
        lost=verdict.lost,
        twice=verdict.twice,
        stuck=verdict.stuck,
        summed={"deadlocks": deadlocks, "batches": verdict.acknowledged, **load.ledger.refused()},
        longest={
            "seconds that one try at a job lasted": round(claims.longest_s, 2),
            "seconds until a turn posted afterwards was reflected": round(reflected, 2),
            "seconds for a batch": round(load.ledger.longest_answer_s, 2),
        },
    )


class Claims:
    """How long each claim of work was held, as seen from outside."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._since: dict[tuple[str, str, int], float] = {}

    def look(self, server: Server) -> None:
        """Note which claims are held now."""
        with server.connect() as connection:
            held = {(str(kind), str(key), int(token)) for kind, key, token in connection.execute(_CLAIMS).fetchall()}
        now = time.monotonic()
        self._since = {claim: self._since.get(claim, now) for claim in held}
        self.longest_s = max([self.longest_s, *(now - since for since in self._since.values())])


@pytest.mark.timeout(600)
async def test_a_short_storm_deadlocks_nobody_and_every_job_ends(tmp_path: Path) -> None:
    figures = await storm_and_count(tmp_path, SUITE, batches=60)
    figures.assert_clean()
    assert figures.acknowledged >= 60 * SIZE


@pytest.mark.soak("storm", count=10, unit="minutes of colliding batches")
@pytest.mark.timeout(3 * 3600)
async def test_a_storm_of_ten_minutes_deadlocks_nobody_and_every_job_ends(tmp_path: Path, soak_part: Part) -> None:
    soak_part.record(await storm_and_count(tmp_path, FULL, seconds=60 * soak_part.count))
