"""Hundreds of streams at once, half of them given up by their clients: the server goes on and its memory returns."""

import asyncio
import time
from collections import Counter
from pathlib import Path

import httpx2
import pytest

from mnemon.api.connections import allow_open_files
from mnemon.llm.scripted.script import Script
from mnemon.llm.scripted.server import ScriptedServer
from support.soak.figures import Figures
from support.soak.judging import FULL, SUITE, Bounds, judge
from support.soak.options import Part
from support.soak.probing import Probing, longest_s
from support.soak.resident import resident_mb
from support.soak.server import Server
from support.soak.writing import Load, turn_or_memory

MOST_GROWTH_MB = 64
"""Of resident memory from the end of the first set of streams to the end of the second: what stays is no leak."""
_WITHIN_S = 300.0
_AT_ONCE = 20
"""Streams that are opened at the same moment."""


class Listeners:
    """Clients that listen: every other one to a session's events, every other one to the reply in a chat."""

    def __init__(self, server: Server) -> None:
        self._opening = asyncio.Semaphore(_AT_ONCE)
        headers = {"Authorization": f"Bearer {server.key}"}
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        self.client = httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=_WITHIN_S, limits=limits)
        self.heard: Counter[str] = Counter()

    async def hear_events(self, session_id: str) -> None:
        """Listen to a session until it has changed."""
        await self._hear("GET", f"/api/sessions/{session_id}/events", None, last="agent_state_update")

    async def hear_reply(self, number: int) -> None:
        """Say something and listen until the reply is whole."""
        body = {"userId": f"talker-{number}", "message": "Tell me a story."}
        await self._hear("POST", "/api/chat", body, last="done")

    async def _hear(self, method: str, path: str, body: dict[str, str] | None, *, last: str) -> None:
        await self._opening.acquire()
        opened = False
        try:
            async with self.client.stream(method, path, json=body) as answer:
                assert answer.status_code == 200, answer
                self.heard["opened"] += 1
                self._opening.release()
                opened = True
                async for line in answer.aiter_lines():
                    if line.startswith("event:"):
                        self.heard[line.removeprefix("event:").strip()] += 1
                        if line.endswith(last):
                            return
        finally:
            if not opened:
                self._opening.release()


async def _session(listeners: Listeners, user: str) -> str:
    body = {"userId": user, "messages": [{"role": "user", "content": "Hello."}]}
    answer = await listeners.client.post("/api/turns", json=body)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["data"]["sessionId"])


async def _until_heard(listeners: Listeners, what: str, count: int) -> None:
    end = time.monotonic() + _WITHIN_S
    while listeners.heard[what] < count:
        assert time.monotonic() < end, f"{what}: {listeners.heard[what]} of {count}"
        await asyncio.sleep(0.02)


async def _one_set(server: Server, script: Script, streams: int, name: str) -> Counter[str]:
    """Open all of them, give up half of each kind, let the rest hear what they wait for."""
    listeners = Listeners(server)
    each = streams // 2
    script.add_fault("slow", on="chat", times=None, seconds=10 * _WITHIN_S)
    async with listeners.client, asyncio.TaskGroup() as group:
        session_id = await _session(listeners, f"watched-{name}")
        events = [group.create_task(listeners.hear_events(session_id)) for _ in range(each)]
        chats = [group.create_task(listeners.hear_reply(number)) for number in range(each)]
        await _until_heard(listeners, "opened", 2 * each)
        for given_up in (*events[::2], *chats[::2]):
            given_up.cancel()
        script.clear_faults()
        changed = await listeners.client.patch(
            f"/api/sessions/{session_id}/agent-state",
            json={"current_understanding": {"entities": [{"id": "e1", "kind": "k"}]}},
            headers={"If-Match": "*"},
        )
        assert changed.status_code == 200, changed.text
        await _until_heard(listeners, "agent_state_update", each // 2)
        await _until_heard(listeners, "done", each // 2)
    return listeners.heard


async def stream_and_count(folder: Path, streams: int, bounds: Bounds) -> Figures:
    """Hold so many streams twice in the middle of writes, and check every promise."""
    allow_open_files(streams + 500)
    with ScriptedServer() as scripted:
        scripted.script.set_default_answer("Reflection", lambda asked: {})
        server = Server(folder, model="openai:scripted", model_base_url=scripted.url, model_api_key="none")
        try:
            await server.start()
            async with Load(server, turn_or_memory, writers=2) as load, Probing(server, ["/healthz"]) as probing:
                await load.more(10)
                first = await _one_set(server, scripted.script, streams, "first")
                await load.more(10)
                before = resident_mb(server)
                second = await _one_set(server, scripted.script, streams, "second")
                await load.more(10)
            verdict = await judge(server, load.ledger, bounds)
            alive = probing.of("/healthz")
            assert [one for one in alive if one.status != 200] == []
            assert longest_s(alive) < bounds.answer_s, longest_s(alive)
            after = resident_mb(server)
            assert after - before < MOST_GROWTH_MB, (before, after)
            assert server.stop() == 0, server.said()
        finally:
            server.end()
    return verdict.figures(
        count=streams,
        summed={"replies heard to their end": first["done"] + second["done"]},
        longest={"seconds for /healthz": round(longest_s(alive), 2)},
        latest={"MB of RSS after the first set": round(before, 1), "MB of RSS after the second": round(after, 1)},
    )


@pytest.mark.timeout(600)
async def test_60_streams_are_served_or_given_up_and_nothing_is_lost(tmp_path: Path) -> None:
    figures = await stream_and_count(tmp_path, 60, SUITE)
    figures.assert_clean()
    assert figures.acknowledged >= 30


@pytest.mark.soak("streams", count=600, unit="streams at once, twice")
@pytest.mark.timeout(3600)
async def test_600_streams_are_served_or_given_up_and_nothing_is_lost(tmp_path: Path, soak_part: Part) -> None:
    soak_part.record(await stream_and_count(tmp_path, soak_part.count, FULL))
