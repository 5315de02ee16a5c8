"""Clients that use and delete the same agents at once: no deadlock, no fault of the server, every run ends."""

import asyncio
import time
from collections import Counter
from pathlib import Path

import pytest

from support.soak.deadlocks import count_deadlocks, log_statements, statements_in_deadlocks
from support.soak.figures import Figures
from support.soak.judging import FULL, SUITE, Bounds, work_left
from support.soak.options import Part
from support.soak.server import Server
from support.soak.staff import CLIENTS, Client, Staff, act_until

_UNFINISHED = """
select count(*) from (
  select status from runs union all select status from exchanges) as asked where status in ('queued', 'running')
"""


async def storm_agents(folder: Path, bounds: Bounds, *, seconds: float = 0.0, least: int = 0) -> Figures:
    """Use the agents for so long, and each client at least so often, and check every promise."""
    server = Server(folder)
    staff, over = Staff(), asyncio.Event()
    try:
        await server.start()
        log_statements(server)
        acting = asyncio.create_task(act_until(server, staff, over, least=least))
        end = time.monotonic() + seconds
        while not acting.done():
            staff.waiting = _count_unfinished(server)
            if time.monotonic() >= end:
                over.set()
            await asyncio.sleep(0.2)
        clients = await acting
        deadlocks = count_deadlocks(server)
        assert deadlocks == 0, "\n".join(statements_in_deadlocks(server))
        left = await work_left(server, bounds.ended_s)
        unfinished = _count_unfinished(server)
        assert server.stop() == 0, server.said()
    finally:
        server.end()
    return _figures(clients, round(seconds / 60), stuck=len(left) + unfinished, deadlocks=deadlocks)


def _figures(clients: list[Client], minutes: int, *, stuck: int, deadlocks: int) -> Figures:
    statuses: Counter[int] = sum((one.statuses for one in clients), Counter())
    done: Counter[str] = sum((one.done for one in clients), Counter())
    refused = {f"status {status}": n for status, n in sorted(statuses.items()) if status >= 300}
    return Figures(
        count=minutes,
        acknowledged=sum(n for status, n in statuses.items() if status < 300),
        stuck=stuck,
        summed={"deadlocks": deadlocks, **dict(sorted(done.items())), **refused},
    )


def _count_unfinished(server: Server) -> int:
    """Count the runs and chat turns that have no end."""
    with server.connect() as connection:
        row = connection.execute(_UNFINISHED).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.timeout(600)
async def test_a_short_storm_over_agents_deadlocks_nobody_and_every_run_ends(tmp_path: Path) -> None:
    figures = await storm_agents(tmp_path, SUITE, least=50)
    figures.assert_clean()
    assert sum(n for name, n in figures.summed.items() if not name.startswith("status")) >= 50 * CLIENTS


@pytest.mark.soak("agents-storm", count=10, unit="minutes of colliding agents")
@pytest.mark.timeout(3 * 3600)
async def test_a_storm_over_agents_of_ten_minutes_deadlocks_nobody(tmp_path: Path, soak_part: Part) -> None:
    soak_part.record(await storm_agents(tmp_path, FULL, seconds=60 * soak_part.count))
