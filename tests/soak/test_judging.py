"""The judge of the soak: what is missing, there twice or unfinished is found, and what is well is not complained of."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import httpx2
import psycopg

from mnemon.clock import parse_time
from support.served import Served, served
from support.soak.judging import SUITE, Verdict, judge
from support.soak.server import Connection
from support.soak.writing import Ledger, Write, send, turn_or_memory

WELL = Verdict(acknowledged=20, lost=0, twice=0, stuck=0)
NO_PATIENCE = replace(SUITE, ended_s=0)


@dataclass(frozen=True)
class Installation:
    """A server of this process, as the judge reads it."""

    server: Served

    def connect(self) -> Connection:
        return psycopg.connect(self.server.database_url)

    def now(self) -> datetime:
        return parse_time(self.server.clock_file.read_text())

    def change(self, statement: str) -> int:
        with psycopg.connect(self.server.database_url) as connection:
            return connection.execute(statement.encode()).rowcount


def test_the_judge_finds_each_fault_that_is_made(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, model="offline") as server:
        house = Installation(server)
        ledger = asyncio.run(_write(server))
        assert asyncio.run(judge(house, ledger, SUITE)) == WELL

        one_turn = "(select turn_id from reflections order by turn_id limit 1)"
        house.change(f"update reflections set status = 'queued' where turn_id = {one_turn}")
        assert asyncio.run(judge(house, ledger, NO_PATIENCE)) == replace(WELL, stuck=1)

        parked = "update work set parked_at = now() where job_id = (select min(job_id) from work)"
        assert house.change(parked) == 1
        assert asyncio.run(judge(house, ledger, NO_PATIENCE)) == replace(WELL, stuck=2)

        one, other = (f"(select id from memories where source = 'api' order by id limit 1 offset {n})" for n in (0, 1))
        house.change(
            f"update memories set content = (select content from memories where id = {one}) where id = {other}"
        )
        assert asyncio.run(judge(house, ledger, NO_PATIENCE)) == replace(WELL, stuck=2, lost=1, twice=1)

        house.change(f"delete from memories where id = {one}")
        assert asyncio.run(judge(house, ledger, NO_PATIENCE)) == replace(WELL, stuck=2, lost=1)


async def _write(server: Served) -> Ledger:
    """Ten turns and ten memories, acknowledged."""
    ledger = Ledger()
    headers = {"Authorization": f"Bearer {await asyncio.to_thread(server.key)}"}
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=60) as client:
        for write in _ten_of_each():
            ledger.written.append(await send(client, write, ledger))
    return ledger


def _ten_of_each() -> list[Write]:
    chosen: dict[str, list[Write]] = {"/api/turns": [], "/api/memories": []}
    while any(len(writes) < 10 for writes in chosen.values()):
        write = turn_or_memory(0)
        chosen[write.route].append(write)
    return [write for writes in chosen.values() for write in writes[:10]]
