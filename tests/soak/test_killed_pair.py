"""Two servers and two workers on one PostgreSQL, killed in turn under writes: nothing is lost and all come back."""

import asyncio
import random
from dataclasses import dataclass
from datetime import datetime
from itertools import cycle, islice
from pathlib import Path

import psycopg
import pytest

from support.soak.figures import Figures
from support.soak.judging import FULL, SUITE, Bounds, judge, reflected_after
from support.soak.options import Part
from support.soak.server import Connection, Program, Server
from support.soak.writing import Ledger, Load, turn_or_memory

WRITES_FOR_EACH_KILL = 100
"""More than can be written in the fifth of a second before the kill, so that it comes amid writes."""


@dataclass(frozen=True)
class Shared:
    """The PostgreSQL that all of them share, read past all doors."""

    url: str
    server: Server

    def connect(self) -> Connection:
        return psycopg.connect(self.url)

    def now(self) -> datetime:
        return self.server.now()


async def kill_in_turn_and_count(folder: Path, url: str, kills: int, bounds: Bounds, *, waits: bool) -> Figures:
    """Kill a server, a worker, the other server, the other worker, and so on, and check every promise.

    Unless it waits, time is moved past the lease of a worker that was killed, and so much is written for each kill:
    without end, a slow machine would write the more the longer it takes to start a server.
    """
    one = Server(folder / "one", worker=False, clock=not waits, database_url=url)
    settings = {"database_url": url} | ({"clock_file": str(one.clock_file)} if one.clock_file else {})
    servers = [one, Server(folder / "two", worker=False, clock=False, **settings)]
    workers = [servers[0].worker(f"worker-{number}") for number in (1, 2)]
    victims: list[Server | Program] = [servers[0], workers[0], servers[1], workers[1]]
    ready: list[float] = []
    try:
        await servers[0].start()
        servers[1].key = servers[0].key
        await servers[1].start()
        for worker in workers:
            worker.start()
        async with (
            Load(servers[0], turn_or_memory, rationed=not waits) as first,
            Load(servers[1], turn_or_memory, rationed=not waits) as second,
        ):
            for victim in islice(cycle(victims), kills):
                first.allow(WRITES_FOR_EACH_KILL)
                second.allow(WRITES_FOR_EACH_KILL)
                await asyncio.gather(first.more(5), second.more(5))
                await asyncio.sleep(random.random() * 0.2)
                victim.kill()
                if isinstance(victim, Program):
                    victim.start()
                    if not waits:
                        one.advance(minutes=2)
                else:
                    ready.append(await victim.start())
            first.allow(WRITES_FOR_EACH_KILL)
            second.allow(WRITES_FOR_EACH_KILL)
            await asyncio.gather(first.more(20), second.more(20))
        ledger = Ledger(written=first.ledger.written + second.ledger.written)
        reflected = await reflected_after(servers[1], "afterwards", bounds.ended_s)
        verdict = await judge(Shared(url, one), ledger, bounds)
        for worker in workers:
            assert worker.alive, worker.said()
        for each in victims:
            assert each.stop() == 0, each.said()
    finally:
        for worker in workers:
            worker.kill()
        for server in servers:
            server.end()
    return verdict.figures(
        count=kills,
        ready_s=round(max(ready), 2) if ready else None,
        summed={"answers lost": first.ledger.lost_answers + second.ledger.lost_answers},
        longest={"seconds until a turn posted afterwards was reflected": round(reflected, 2)},
    )


@pytest.mark.timeout(600)
async def test_two_servers_and_two_workers_are_killed_and_lose_nothing(tmp_path: Path, database_url: str) -> None:
    figures = await kill_in_turn_and_count(tmp_path, database_url, 2, SUITE, waits=False)
    figures.assert_clean()
    assert figures.acknowledged >= 60


@pytest.mark.soak("pair-kills", count=8, unit="SIGKILLs over two servers and two workers")
@pytest.mark.timeout(3600)
async def test_8_kills_over_two_servers_and_two_workers_lose_nothing(
    tmp_path: Path, database_url: str, soak_part: Part
) -> None:
    soak_part.record(await kill_in_turn_and_count(tmp_path, database_url, soak_part.count, FULL, waits=True))
