"""Many people at once, and workers killed in the middle: every turn reflected exactly once and in order."""

import asyncio
import random
import time
from pathlib import Path

import psycopg
import pytest

from mnemon.llm.scripted.script import ScriptedRequest
from support.served import Served, served
from support.turning import Worker, finished, remembers_each, talk, verdict


def crowd(server: Served, *, users: int, turns: int, minutes: float) -> dict[str, float]:
    """So many people say so much at once; the figures, after every promise was checked."""
    server.script.set_default_answer("Reflection", remembers_each)
    key = server.key("acme")
    began = time.monotonic()
    sent = asyncio.run(talk(server.url, key, users=users, turns=turns))
    stored = time.monotonic()
    finished(server, wanted=sent, minutes=minutes)
    came = verdict(server.database_url)
    assert (came.turns, came.done, came.sessions, came.memories) == (sent, sent, users, sent)
    assert (came.repeated, came.out_of_order) == (0, 0)
    return {
        "turns": sent,
        "turns stored a second": round(sent / (stored - began), 1),
        "turns reflected a second": round(sent / (time.monotonic() - began), 1),
        "model calls": len(server.script.requests_on("Reflection")),
    }


def killing(server: Served, *, users: int, turns: int, kills: int) -> dict[str, float]:
    """Workers are killed so many times while a model thinks; nothing is lost and nothing applied twice."""

    def thinking(asked: ScriptedRequest) -> dict[str, object]:
        time.sleep(0.05)
        return remembers_each(asked)

    server.script.set_default_answer("Reflection", thinking)
    sent = asyncio.run(talk(server.url, server.key("acme"), users=users, turns=turns))
    worker = Worker(server)
    midway = 0
    for _ in range(kills):
        asked = len(server.script.asked)
        worker.start()
        while len(server.script.asked) == asked and verdict(server.database_url).done < sent:
            time.sleep(0.02)
        time.sleep(random.random() * 0.1)
        worker.kill()
        midway += _running(server)
        server.advance(minutes=2)  # past the lease of whoever was killed
    worker.start()
    try:
        finished(server, wanted=sent, minutes=5, moving=True)
    finally:
        worker.kill()
    came = verdict(server.database_url)
    assert (came.turns, came.done, came.memories) == (sent, sent, sent)
    assert (came.repeated, came.out_of_order) == (0, 0)
    return {"kills": kills, "turns": sent, "reflections cut off": midway, "model calls": len(server.script.asked)}


def _running(server: Served) -> int:
    with psycopg.connect(server.database_url) as connection:
        row = connection.execute("select count(*) from reflections where status = 'running'").fetchone()
    return int(row[0]) if row else 0


@pytest.mark.timeout(900)
def test_a_few_people_at_once_are_reflected_once_and_in_order(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path) as server:
        crowd(server, users=5, turns=6, minutes=10)


@pytest.mark.timeout(900)
def test_a_few_killed_workers_lose_nothing_and_apply_nothing_twice(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, worker=False) as server:
        killing(server, users=3, turns=5, kills=2)


@pytest.mark.soak("turns")
@pytest.mark.timeout(3600)
def test_fifty_people_with_forty_turns_each(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, pool_size=30, database_timeout_s=60) as server:
        print(crowd(server, users=50, turns=40, minutes=30))  # noqa: T201  the figures are what a soak is for


@pytest.mark.soak("turns")
@pytest.mark.timeout(3600)
def test_fifty_killed_workers(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, worker=False, pool_size=30, database_timeout_s=60) as server:
        print(killing(server, users=20, turns=25, kills=50))  # noqa: T201
