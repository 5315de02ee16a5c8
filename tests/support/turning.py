"""Many people talking at once, and what must be true of their turns afterwards."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psycopg

from mnemon.llm.scripted.script import ScriptedRequest
from support.asked import turn_of
from support.served import Served

MNEMON = str(Path(sys.executable).with_name("mnemon"))
_SAID = re.compile(r"Note (\S+) of (\S+)\.")


def remembers_each(asked: ScriptedRequest) -> dict[str, Any]:
    """A reflection that keeps one memory and one item of every message, so that twice or never would show."""
    found = _SAID.search(turn_of(asked))
    assert found is not None
    number, user = found.groups()
    memory = {
        "type": "PROFILE",
        "content": f"Note {number} of {user}",
        "quote": found[0],
        "entity": {"type": "person", "label": "self"},
        "factType": "fact",
        "attribute": f"note {number}",
    }
    item = {
        "id": f"note-{number}",
        "kind": "note",
        "title": number,
        "status": "active",
        "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-01T00:00:00Z",
    }
    deltas = {"agent_state_item_updates": [{"op": "add", "item": item}], "agent_state_updates": {}}
    return {"memories": [memory], "todos": [], "agent_state": deltas, "rolling_summary": f"{user} is at {number}."}


async def talk(url: str, key: str, *, users: int, turns: int) -> int:
    """Every person sends their messages one after the other, all people at once; how many were taken."""

    async def person(client: httpx2.AsyncClient, user: str) -> int:
        for number in range(turns):
            body = {"userId": user, "messages": [{"role": "user", "content": f"Note {number} of {user}."}]}
            answer = await client.post("/api/turns", json=body)
            assert answer.status_code == 202, answer.text
        return turns

    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=120) as client:
        return sum(await asyncio.gather(*(person(client, f"u{one}") for one in range(users))))


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the store says about all turns."""

    turns: int
    done: int
    sessions: int
    memories: int
    repeated: int
    """Memories that were told more than once."""
    out_of_order: int
    """Sessions whose agent state changed in another order than their turns."""


def verdict(database_url: str) -> Verdict:
    """Counts over everybody, read as the owner of the tables."""

    def number(connection: psycopg.Connection[tuple[Any, ...]], sql: str) -> int:
        row = connection.execute(sql.encode()).fetchone()
        assert row is not None
        return int(row[0])

    with psycopg.connect(database_url) as connection:
        return Verdict(
            turns=number(connection, "select count(*) from turns"),
            done=number(connection, "select count(*) from reflections where status = 'done'"),
            sessions=number(connection, "select count(*) from sessions"),
            memories=number(connection, "select count(*) from memories"),
            repeated=number(connection, "select count(*) from memories where mentions <> 1"),
            out_of_order=number(connection, _OUT_OF_ORDER),
        )


_OUT_OF_ORDER = """
select count(distinct session_id) from (
  select j.session_id, t.seq - lag(t.seq) over (partition by j.session_id order by j.seq) as step
  from agent_state_journal j join turns t on t.id = j.turn_id
) steps where step <> 1
"""


def finished(server: Served, *, wanted: int, minutes: float, moving: bool = False) -> None:
    """Waits until so many reflections are done; with `moving`, the clock goes on whenever nothing gets done.

    The clock ends the leases of whoever works, too, so each time it stands still for longer: in the end long enough.
    """
    deadline = time.monotonic() + minutes * 60
    patience, moved, before = 1.0, time.monotonic(), 0
    while (done := verdict(server.database_url).done) < wanted:
        assert time.monotonic() < deadline, verdict(server.database_url)
        if done > before:
            before, moved = done, time.monotonic()
        elif moving and time.monotonic() - moved > patience:
            server.advance(seconds=61)
            patience, moved = patience * 1.5, time.monotonic()
        time.sleep(0.25)


class Worker:
    """A `mnemon worker` that can be killed."""

    def __init__(self, server: Served) -> None:
        self._environment = {
            **os.environ,
            "MNEMON_DATABASE_URL": server.database_url,
            "MNEMON_CLOCK_FILE": str(server.clock_file),
            "MNEMON_DATA_DIR": str(server.clock_file.parent),
            "MNEMON_MODEL": "openai:scripted",
            "MNEMON_MODEL_BASE_URL": server.app.state.services.settings.model_base_url,
            "MNEMON_MODEL_API_KEY": "none",
            "MNEMON_LOG_LEVEL": "error",
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen([MNEMON, "worker"], env=self._environment)

    def kill(self) -> None:
        """No chance to tidy up."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
