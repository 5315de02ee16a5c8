"""What the database holds against what was acknowledged, and whether all work has ended."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import httpx2

from support.soak.figures import Figures
from support.soak.server import Connection, Server
from support.soak.writing import Ledger

# Reservations are no work. A row whose try failed waits for the next one: it has not ended either.
_OPEN = """
select kind, key, attempts, lease_until, parked_at, error from work
where kind <> 'reservation'
  and (parked_at is not null or lease_until is not null or due_at <= %(now)s or attempts > 0)
"""
_TEXTS = """
select content from memories where source = 'api'
union all select content from memory_versions where source = 'api'
"""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How long things may take; the issue's own figures in a full run, generous ones in the suite."""

    ready_s: float
    """Until `/readyz` says 200 once the database is back."""
    answer_s: float
    """Until `/healthz` and `/readyz` answer, whatever they say."""
    reflected_s: float
    """Until a turn that is posted after the fault is reflected."""
    ended_s: float
    """Until all work has ended. A killed worker's lease lasts 60 s."""


FULL = Bounds(ready_s=5, answer_s=5, reflected_s=10, ended_s=180)
SUITE = Bounds(ready_s=60, answer_s=60, reflected_s=120, ended_s=200)


class Judged(Protocol):
    """An installation whose database can be read past all doors."""

    def connect(self) -> Connection: ...

    def now(self) -> datetime: ...


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What became of the acknowledged writes."""

    acknowledged: int
    lost: int
    twice: int
    stuck: int

    def figures(self, *, count: int, **further: Any) -> Figures:
        """The verdict as figures of a run that did so many; `further` are the other fields of Figures."""
        return Figures(
            count=count, acknowledged=self.acknowledged, lost=self.lost, twice=self.twice, stuck=self.stuck, **further
        )


async def judge(server: Judged, ledger: Ledger, bounds: Bounds) -> Verdict:
    """Wait until all work has ended, then count past all doors what became of every write."""
    left = await work_left(server, bounds.ended_s)
    with server.connect() as connection:
        turns = {row[0] for row in connection.execute("select id from turns").fetchall()}
        done = {
            row[0] for row in connection.execute("select turn_id from reflections where status = 'done'").fetchall()
        }
        said = connection.execute("select content from messages where role = 'user'").fetchall()
        messages = Counter(row[0] for row in said)
        texts = Counter(row[0] for row in connection.execute(_TEXTS).fetchall())
    lost = twice = unreflected = 0
    for one in ledger.written:
        of_turn = one.write.route == "/api/turns"
        held = messages if of_turn else texts
        lost += sum(held[content] == 0 for content in one.write.contents) or (of_turn and one.id not in turns)
        twice += sum(held[content] > 1 for content in one.write.contents)
        # A second application of a single memory would have found the first and said 200, updated.
        twice += one.write.route == "/api/memories" and one.status != 201
        unreflected += of_turn and one.id not in done
    return Verdict(acknowledged=len(ledger.written), lost=lost, twice=twice, stuck=len(left) + unreflected)


async def work_left(server: Judged, seconds: float) -> list[str]:
    """What work has not ended within the bound, in words without content; empty as soon as all has."""
    end = time.monotonic() + seconds
    with server.connect() as connection:
        connection.autocommit = True
        while True:
            rows = connection.execute(_OPEN, {"now": server.now()}).fetchall()
            if not rows or time.monotonic() >= end:
                return [f"{kind} tries {tries}, error {error}" for kind, _, tries, _, _, error in rows]
            await asyncio.sleep(0.1)


async def reflected_after(server: Server, user: str, seconds: float) -> float:
    """Post a turn and wait for its reflection; gives the seconds from its acknowledgement."""
    headers = {"Authorization": f"Bearer {server.key}"}
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=60) as client:
        body = {"userId": user, "messages": [{"role": "user", "content": "My sister Ann lives in Oslo."}]}
        answer = await client.post("/api/turns", json=body)
        assert answer.status_code == 202, answer.text
        turn = answer.json()["data"]["turnId"]
        began = time.monotonic()
        while (waited := time.monotonic() - began) < seconds:
            told = (await client.get(f"/api/turns/{turn}")).json()["data"]["reflection"]
            if told and told["status"] == "done":
                return waited
            await asyncio.sleep(0.05)
    raise AssertionError(f"a turn posted afterwards was not reflected within {seconds} s: {told}")
