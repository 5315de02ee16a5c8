"""SIGKILLs of `mnemon worker` beside `mnemon serve --no-worker`: every turn reflected exactly once and in order."""

import asyncio
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from mnemon.llm.scripted.script import Script, ScriptedRequest
from mnemon.llm.scripted.server import ScriptedServer
from support.soak.figures import Figures
from support.soak.judging import FULL, SUITE, Bounds, judge
from support.soak.options import Part
from support.soak.server import Program, Server
from support.soak.writing import Load, Write
from support.turning import remembers_each, verdict

ROUND = 50
PEOPLE = 8
TURNS_FOR_EACH_KILL = 6
WORKERS = 2
_ASKED_WITHIN_S = 120.0
_PAUSE_S = 5.0


class Notes:
    """Turns whose order can be told from their text: each person counts up."""

    def __init__(self) -> None:
        self._numbers: Counter[int] = Counter()

    def __call__(self, number: int) -> Write:
        content = f"Note {self._numbers[number]} of u{number}."
        self._numbers[number] += 1
        body = {"userId": f"u{number}", "messages": [{"role": "user", "content": content}]}
        return Write(route="/api/turns", body=body, contents=(content,))


async def kill_workers_and_count(folder: Path, kills: int, bounds: Bounds) -> Figures:
    """Kill workers so many times while a model thinks and check every promise."""
    with ScriptedServer() as scripted:
        scripted.script.set_default_answer("Reflection", _think_and_remember)
        server = Server(
            folder,
            worker=False,
            clock=True,
            model="openai:scripted",
            model_base_url=scripted.url,
            model_api_key="none",
            log_level="error",
        )
        workers = [server.worker(f"worker-{number}") for number in range(WORKERS)]
        try:
            await server.start()
            async with Load(server, Notes(), writers=PEOPLE, rationed=True) as load:
                cut = await _kill(server, workers, scripted.script, load, kills)
            await _reflect_all(server, len(load.ledger.written), bounds.ended_s)
            judged = await judge(server, load.ledger, bounds)
            came = verdict(server.database_url)
            assert server.stop() == 0, server.said()
        finally:
            for worker in workers:
                worker.kill()
            server.end()
    sent = len(load.ledger.written)
    assert came.out_of_order == 0, came
    return Figures(
        count=kills,
        acknowledged=sent,
        lost=judged.lost + max(0, sent - came.memories),
        twice=judged.twice + came.repeated + max(0, came.turns - sent) + max(0, came.memories - sent),
        stuck=judged.stuck,
        summed={
            "turns reflected": came.done,
            "reflections running at a kill": cut,
            "sessions out of order": came.out_of_order,
            "model calls": len(scripted.script.requests_on("Reflection")),
        },
    )


async def _kill(server: Server, workers: list[Program], script: Script, load: Load, kills: int) -> int:
    """Kill one worker after the other while there is work; gives how many reflections ran at those moments."""
    cut = 0
    for worker in workers:
        worker.start()
    for number in range(kills):
        asked = len(script.asked)
        load.allow(TURNS_FOR_EACH_KILL)
        await load.more(1)
        await _until_asked(server, script, asked, workers)
        await asyncio.sleep(random.random() * 0.1)
        worker = workers[number % len(workers)]
        worker.kill()
        cut += _running(server)
        server.advance(minutes=2)  # past the lease of whoever was killed
        worker.start()
    return cut


async def _until_asked(server: Server, script: Script, asked: int, workers: list[Program]) -> None:
    """Wait until the model is asked again: somebody works then."""
    end = time.monotonic() + _ASKED_WITHIN_S
    while len(script.asked) == asked:
        assert all(worker.alive for worker in workers), [worker.said() for worker in workers]
        assert time.monotonic() < end, f"nobody works: {server.said()}"
        await asyncio.sleep(0.01)


async def _reflect_all(server: Server, sent: int, seconds: float) -> None:
    """Wait until every turn is reflected; time is moved whenever nothing has happened for a while."""
    end = time.monotonic() + seconds
    done, since = -1, time.monotonic()
    while time.monotonic() < end:
        now_done = verdict(server.database_url).done
        if now_done >= sent:
            return
        if now_done != done:
            done, since = now_done, time.monotonic()
        elif time.monotonic() - since > _PAUSE_S:
            server.advance(minutes=2)
            since = time.monotonic()
        await asyncio.sleep(0.1)


def _think_and_remember(asked: ScriptedRequest) -> dict[str, object]:
    time.sleep(0.05)
    return remembers_each(asked)


def _running(server: Server) -> int:
    with server.connect() as connection:
        row = connection.execute("select count(*) from reflections where status = 'running'").fetchone()
    return int(row[0]) if row else 0


@pytest.mark.timeout(600)
async def test_a_few_killed_workers_lose_nothing_and_apply_nothing_twice(tmp_path: Path) -> None:
    figures = await kill_workers_and_count(tmp_path, 2, SUITE)
    figures.assert_clean()
    assert figures.acknowledged >= 2


@pytest.mark.soak("worker-kills", count=200, unit="SIGKILLs of workers")
@pytest.mark.timeout(4 * 3600)
async def test_200_killed_workers_lose_nothing_and_apply_nothing_twice(tmp_path: Path, soak_part: Part) -> None:
    for number, kills in enumerate(soak_part.rounds(ROUND)):
        soak_part.record(await kill_workers_and_count(tmp_path / str(number), kills, FULL))
