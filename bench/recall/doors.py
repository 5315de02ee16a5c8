"""Write and search over the HTTP API: `/api/turns`, `/api/memories/batch` and `/api/memories/search`."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import httpx2

from bench.recall.locomo import LocomoConversation, LocomoLine
from bench.recall.seed import random_sentences
from mnemon.access.keys import create_key
from mnemon.access.organizations import create_organization
from mnemon.api.server import HttpServer, bind_socket
from mnemon.app import embeddable_texts, make_app
from mnemon.clock import format_time
from mnemon.jobs.runner import Runner
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.vectors.embed_job import job_kinds

BENCH_ORG = "bench"
SEARCH_LIMIT = 50
_BATCH_SIZE = 500


@dataclass(frozen=True, kw_only=True)
class WriteThroughput:
    """How much was written, and how long that took."""

    number: int = 0
    seconds: float = 0.0

    def __add__(self, other: "WriteThroughput") -> "WriteThroughput":
        return WriteThroughput(number=self.number + other.number, seconds=self.seconds + other.seconds)

    @property
    def per_s(self) -> float:
        """Items per second; 0 when nothing was written."""
        return self.number / self.seconds if self.seconds else 0.0


@asynccontextmanager
async def bench_client(services: Services) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield a client with a key for a server in this process, which has no worker."""
    async with services.db.tx(BENCH_ORG) as tx:
        await create_organization(tx)
        _, key = await create_key(tx, Scope(org_id=BENCH_ORG), name="bench")
    server = HttpServer(make_app(services, worker=False), bind_socket("127.0.0.1", 0))
    await server.wait_until_ready()
    try:
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{server.port}", headers={"Authorization": f"Bearer {key}"}, timeout=120
        ) as client:
            yield client
    finally:
        server.should_exit = True
        await server.wait_closed()


async def post_turns(client: httpx2.AsyncClient, conversation: LocomoConversation) -> WriteThroughput:
    """Store the conversation as turns of two messages; return how many and how long it took."""
    began, turns = time.perf_counter(), 0
    for _, lines in groupby(conversation.lines, key=lambda line: line.session):
        for pair in _turn_pairs(list(lines)):
            messages = [_message_body(line, conversation.lines[0].speaker) for line in pair]
            await _post_json(client, "/api/turns", {"userId": conversation.name, "messages": messages})
            turns += 1
    return WriteThroughput(number=turns, seconds=time.perf_counter() - began)


async def post_memories(client: httpx2.AsyncClient, conversation: LocomoConversation) -> WriteThroughput:
    """Store each line of the conversation as a memory, for a second person; return how many and how long it took."""
    facts = [_memory_body(line, f"{conversation.name}-memories") for line in conversation.lines]
    began = time.perf_counter()
    for start in range(0, len(facts), _BATCH_SIZE):
        await _post_json(client, "/api/memories/batch", facts[start : start + _BATCH_SIZE])
    return WriteThroughput(number=len(facts), seconds=time.perf_counter() - began)


async def seed_context(client: httpx2.AsyncClient, user: str, now: datetime, *, days: int = 5, turns: int = 8) -> None:
    """Give the person the rest of a context: a profile, todos, earlier sessions and an open one."""
    profile = {"profile": [{"type": "PROFILE", "content": text} for text in random_sentences(6, seed=1)]}
    (await client.put(f"/api/users/{user}/seed", json=profile)).raise_for_status()
    for text in random_sentences(4, seed=2):
        await _post_json(client, "/api/memories", {"userId": user, "type": "OPEN_LOOP", "content": text})
    words = iter(random_sentences(2 * days * turns, seed=3))
    for day in range(days):
        begin = now - timedelta(days=days - 1 - day, minutes=turns)
        for turn in range(turns):
            at = format_time(begin + timedelta(minutes=turn))
            messages = [{"role": role, "content": next(words), "at": at} for role in ("user", "assistant")]
            await _post_json(client, "/api/turns", {"userId": user, "messages": messages})


async def embed_pending(services: Services) -> None:
    """Embed every text that waits for its vector."""
    await Runner(
        services.db, services.clock, {kind.name: kind for kind in job_kinds(services, embeddable_texts())}
    ).drain()


async def search_turns(
    client: httpx2.AsyncClient, conversation: LocomoConversation, query: str, *, ranking: str, kind: str
) -> tuple[list[str], float]:
    """Return the ids of the lines found, best first, and the seconds the response took."""
    # Results carry no LoCoMo id; the time of a line is unique within its conversation.
    at = {line.at: line.id for line in conversation.lines}
    user = conversation.name if kind == "messages" else f"{conversation.name}-memories"
    body = {"userId": user, "query": query, "limit": SEARCH_LIMIT, "ranking": ranking, "kinds": [kind]}
    began = time.perf_counter()
    answer = await client.post("/api/memories/search", json=body)
    took = time.perf_counter() - began
    answer.raise_for_status()
    return [at[_hit_time(hit)] for hit in answer.json()["data"]["results"]], took


async def time_requests(client: httpx2.AsyncClient, path: str, bodies: Sequence[dict[str, Any]]) -> list[float]:
    """Post each body and return the seconds of each response."""
    took = []
    for body in bodies:
        began = time.perf_counter()
        await _post_json(client, path, body)
        took.append(time.perf_counter() - began)
    return took


async def _post_json(client: httpx2.AsyncClient, path: str, body: object) -> None:
    (await client.post(path, json=body)).raise_for_status()


def _turn_pairs(lines: list[LocomoLine]) -> list[list[LocomoLine]]:
    return [lines[start : start + 2] for start in range(0, len(lines), 2)]


def _message_body(line: LocomoLine, first: str) -> dict[str, Any]:
    role = "user" if line.speaker == first else "assistant"
    return {"role": role, "content": line.text, "name": line.speaker, "at": format_time(line.at)}


def _memory_body(line: LocomoLine, user: str) -> dict[str, Any]:
    content, place = f"{line.speaker}: {line.text}", line.id.replace(":", " turn ")
    return {
        "userId": user,
        "type": "PROFILE",
        "content": content,
        "attribute": place,
        "validFrom": format_time(line.at),
    }


def _hit_time(hit: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(hit["message"]["at"] if "message" in hit else hit["memory"]["validFrom"])
