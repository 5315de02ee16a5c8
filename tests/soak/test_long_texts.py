"""The longest texts a caller may send, made to be slow: the server goes on answering everybody else."""

import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from mnemon.services import Services
from support.console_door import signed_in
from support.served import Served, served
from support.soak.figures import Figures
from support.soak.options import Part

LONGEST = 200_000
LONGEST_MEMORY = 20_000
STALL_S = 1.0
"""Processor time that the server may take between two steps of its event loop. What this is for took 13 s and more,
what is left takes a tenth of a second; so the verdict does not depend on the machine."""


@dataclass
class Watch:
    """Measures, inside the server, how long its event loop could not go on, in processor time of the whole process.

    Of the process, since a thread that does not let go of the interpreter holds up the loop as well; processor time,
    since other processes do not count.
    """

    longest_s: float = 0.0
    tasks: list["asyncio.Task[None]"] = field(default_factory=list)

    def dress(self, app: FastAPI, services: Services) -> None:
        self.tasks.append(asyncio.get_running_loop().create_task(self._measure()))

    async def _measure(self) -> None:
        while True:
            before = time.process_time()
            await asyncio.sleep(0.001)
            self.longest_s = max(self.longest_s, time.process_time() - before)


def filled(prefix: str, unit: str, end: str, size: int = LONGEST) -> str:
    return prefix + unit * ((size - len(prefix) - len(end)) // len(unit)) + end


TURNS = {
    "blanks after a sentence": filled("I will call. ", " ", "x"),
    "line breaks": filled("I will call. ", "\n", "x"),
    "equals signs": filled("", "=", ""),
    "marks upon marks": filled("é", "\u0323\u0334", ""),
    "figures": filled("", "1½ ", ""),
    "digits": filled("a", "1", ""),
    "section signs": filled("", "§", ""),
    "an open question": filled("We don't know why", " ", "x"),
    "one sign for eighteen": filled("", "\ufdfa", ""),
    "words nobody says twice": " ".join(f"{number}z" for number in range(40_000))[:LONGEST],
}


def send_turns(client: httpx2.Client, user: str, text: str, times: int = 4) -> None:
    """So many turns with this text: the fourth makes the rolling summary due."""
    for _ in range(times):
        body = {"userId": user, "messages": [{"role": "user", "content": text}]}
        answer = client.post("/api/turns", json=body)
        assert answer.status_code == 202, answer.text


def send_completion(client: httpx2.Client, user: str, text: str) -> None:
    """The same as a chat message in OpenAI's words."""
    body = {"model": "mnemon", "user": user, "messages": [{"role": "user", "content": text}]}
    answer = client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text


def send_many_at_once(client: httpx2.Client, user: str, text: str) -> None:
    """A turn as large as one may be, then the first search, which reads all of it."""
    messages = [{"role": "user", "content": text}] * (7_500_000 // len(json.dumps(text, ensure_ascii=False).encode()))
    answer = client.post("/api/turns", json={"userId": user, "messages": messages})
    assert answer.status_code == 202, answer.text
    for query in ("where", text[:500]):
        body = {"userId": user, "query": query, "kinds": ["memories", "messages"]}
        found = client.post("/api/memories/search", json=body)
        assert found.status_code == 200, found.text


def look_at_changes(server: Served, client: httpx2.Client, user: str) -> None:
    """A memory as long as one may be, changed once all over, and its page in the console."""
    before, after = filled("", "a b ", "x", LONGEST_MEMORY), filled("", "b a ", "y", LONGEST_MEMORY)
    body = {"userId": user, "type": "PROFILE", "content": before}
    made = client.post("/api/memories", json=body).json()["data"]["id"]
    assert client.patch(f"/api/memories/{made}", json={"content": after}).status_code == 200
    with signed_in(server, server.org("acme")) as browser:
        page = browser.get(f"/memories/{made}")
    assert page.status_code == 200
    assert page.text.count("<del") >= 1


@pytest.fixture
def own_garbage() -> Iterator[None]:
    """Keep the collector from looking through what other tests of this process left: that would take the time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.timeout(280)
@pytest.mark.usefixtures("own_garbage")
@pytest.mark.parametrize("model", ["offline", "scripted"])
def test_no_long_text_holds_up_the_event_loop(model: str, database_url: str, tmp_path: Path) -> None:
    watch = Watch()
    options: dict[str, Any] = {"model": "offline"} if model == "offline" else {}
    with served(database_url, tmp_path, dress=watch.dress, **options) as server:
        if model == "scripted":
            server.script.set_default_answer("Reflection", lambda asked: {})
        client = server.client("acme")
        client.timeout = httpx2.Timeout(120)
        send_turns(client, "warm", "I will call.")  # what is loaded at the first use is not what is measured
        server.settled(client, seconds=60)
        watch.longest_s = 0.0
        for number, text in enumerate(TURNS.values()):
            send_turns(client, f"u{number}", text)
        if model == "offline":
            send_completion(client, "chats", TURNS["equals signs"])
            for name in ("marks upon marks", "one sign for eighteen", "words nobody says twice"):
                send_many_at_once(client, f"many {name}", TURNS[name])
        look_at_changes(server, client, "edits")
        server.settled(client, seconds=200)
        parked = client.get("/api/jobs?status=parked").json()["data"]
    assert parked == []
    assert watch.longest_s < STALL_S


def test_more_than_the_longest_text_is_refused_with_its_place(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, model="offline") as server:
        client = server.client("acme")
        message = {"role": "user", "content": "x" * (LONGEST + 1)}
        body = {"model": "mnemon", "user": "ann", "messages": [message]}
        answer = client.post("/v1/chat/completions", json=body)
        assert answer.status_code in (400, 422)
        assert "messages" in answer.text
        assert "200000" in answer.text.replace(",", "")


ASKING = """
import http.client, sys, time
host, port = sys.argv[1].removeprefix("http://").split(":")
connection = http.client.HTTPConnection(host, int(port), timeout=600)
while True:
    began = time.perf_counter()
    connection.request("GET", "/healthz")
    assert connection.getresponse().read()
    print(time.perf_counter() - began, flush=True)
    time.sleep(0.01)
"""


@contextmanager
def asked_again_and_again(url: str, took: list[float]) -> Iterator[None]:
    """Someone else, in a process of their own, asks for /healthz all the while."""
    asking = subprocess.Popen([sys.executable, "-c", ASKING, url], stdout=subprocess.PIPE, text=True)
    try:
        yield
    finally:
        asking.terminate()
        told, _ = asking.communicate()
        took += [float(line) for line in told.splitlines()]


def healthz_beside(server: Served, client: httpx2.Client, name: str, text: str, rounds: int) -> list[float]:
    """Seconds that /healthz took, in order, while every door was given the text again and again."""
    took: list[float] = []
    with asked_again_and_again(server.url, took):
        for number in range(rounds):
            user = f"{name} {number}"
            send_turns(client, user, text)
            send_completion(client, user, text)
            look_at_changes(server, client, user)
        send_many_at_once(client, name, text)
        server.settled(client, seconds=600)
    return sorted(took)


@pytest.mark.soak("long-texts", count=5, unit="rounds of each of ten texts, offline and with a model")
@pytest.mark.timeout(3600)
def test_healthz_answers_within_100_ms_while_long_texts_come_in_a_loop(
    database_url: str, tmp_path: Path, soak_part: Part
) -> None:
    latest: dict[str, float] = {}
    asked = 0
    for model in ("offline", "scripted"):
        options: dict[str, Any] = {"model": "offline"} if model == "offline" else {}
        worst: list[float] = []
        (tmp_path / model).mkdir()
        with served(database_url, tmp_path / model, **options) as server:
            if model == "scripted":
                server.script.set_default_answer("Reflection", lambda asked: {})
            client = server.client("acme")
            client.timeout = httpx2.Timeout(600)
            send_turns(client, "warm", "I will call.")  # what is loaded at the first use is not what is measured
            send_completion(client, "warm", "I will call.")
            look_at_changes(server, client, f"{model} warm")
            server.settled(client, seconds=60)
            for name, text in TURNS.items():
                took = healthz_beside(server, client, f"{model} {name}", text, soak_part.count)
                worst.append(took[int(len(took) * 0.99)])
                asked += len(took)
                print(f"{model}, {name}: {len(took)} asked, p99 {worst[-1] * 1000:.0f} ms, most {took[-1] * 1000:.0f}")  # noqa: T201
        latest[f"ms p99 of /healthz beside the slowest text, {model}"] = round(max(worst) * 1000)
        assert max(worst) < 0.1
    soak_part.record(Figures(count=soak_part.count, acknowledged=0, summed={"times asked": asked}, latest=latest))
