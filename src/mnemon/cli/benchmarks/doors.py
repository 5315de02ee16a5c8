"""Conversations through the doors: in by `/api/turns` and `/api/memories/batch`, asked by `/api/memories/search`."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

import httpx2

from mnemon.access.keys import create_key
from mnemon.access.organizations import create_organization
from mnemon.api.listening import Listening, bound
from mnemon.app import make_app, texts
from mnemon.basement import Basement
from mnemon.cli.benchmarks.locomo import Conversation, Line
from mnemon.clock import iso
from mnemon.jobs.runner import Runner
from mnemon.scope import Scope
from mnemon.vectors.job import kinds

ORG = "bench"
DEEPEST = 50


@dataclass(frozen=True, kw_only=True)
class Ingested:
    """How long writing took."""

    turns: int
    turns_s: float
    memories: int
    memories_s: float


@asynccontextmanager
async def answering(basement: Basement) -> AsyncIterator[httpx2.AsyncClient]:
    """A client with a key, on a server of this process without a worker."""
    async with basement.db.tx(ORG) as tx:
        await create_organization(tx)
        _, key = await create_key(tx, Scope(org_id=ORG), name="bench")
    server = Listening(make_app(basement, worker=False), bound("127.0.0.1", 0))
    await server.answering()
    try:
        async with httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{server.port}", headers={"Authorization": f"Bearer {key}"}, timeout=120
        ) as client:
            yield client
    finally:
        server.should_exit = True
        await server.finished()


async def ingest(client: httpx2.AsyncClient, basement: Basement, talk: Conversation) -> Ingested:
    """The conversation is there twice: as messages of one user, and as memories of another, both embedded."""
    began = time.perf_counter()
    turns = 0
    for _, lines in groupby(talk.lines, key=lambda line: line.session):
        for pair in _pairs(list(lines)):
            said = [_message(line, talk.lines[0].speaker) for line in pair]
            (await client.post("/api/turns", json={"userId": talk.name, "messages": said})).raise_for_status()
            turns += 1
    turns_s = time.perf_counter() - began
    began = time.perf_counter()
    facts = [_memory(line, f"{talk.name}-memories") for line in talk.lines]
    for start in range(0, len(facts), 500):
        (await client.post("/api/memories/batch", json=facts[start : start + 500])).raise_for_status()
    memories_s = time.perf_counter() - began
    await Runner(basement.db, basement.clock, {kind.name: kind for kind in kinds(basement, texts())}).drain()
    return Ingested(turns=turns, turns_s=turns_s, memories=len(facts), memories_s=memories_s)


async def found(
    client: httpx2.AsyncClient, talk: Conversation, query: str, *, ranking: str, kind: str
) -> tuple[list[str], float]:
    """Ids of the turns found, best first, and how many seconds the answer took."""
    at = {line.at: line.id for line in talk.lines}
    user = talk.name if kind == "messages" else f"{talk.name}-memories"
    body = {"userId": user, "query": query, "limit": DEEPEST, "ranking": ranking, "kinds": [kind]}
    began = time.perf_counter()
    answer = await client.post("/api/memories/search", json=body)
    took = time.perf_counter() - began
    answer.raise_for_status()
    return [at[_when(hit)] for hit in answer.json()["data"]["results"]], took


def _pairs(lines: list[Line]) -> list[list[Line]]:
    return [lines[start : start + 2] for start in range(0, len(lines), 2)]


def _message(line: Line, first: str) -> dict[str, Any]:
    role = "user" if line.speaker == first else "assistant"
    return {"role": role, "content": line.text, "name": line.speaker, "at": iso(line.at)}


def _memory(line: Line, user: str) -> dict[str, Any]:
    content, place = f"{line.speaker}: {line.text}", line.id.replace(":", " turn ")
    return {"userId": user, "type": "PROFILE", "content": content, "attribute": place, "validFrom": iso(line.at)}


def _when(hit: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(hit["message"]["at"] if "message" in hit else hit["memory"]["validFrom"])
