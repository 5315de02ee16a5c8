"""Through the doors: in by `/api/turns` and `/api/memories/batch`, asked by `/api/memories/search`."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import httpx2

from mnemon.access.keys import create_key
from mnemon.access.organizations import create_organization
from mnemon.api.listening import Listening, bound
from mnemon.app import make_app, texts
from mnemon.basement import Basement
from mnemon.cli.benchmarks.locomo import Conversation, Line
from mnemon.cli.benchmarks.seed import sentences
from mnemon.clock import iso
from mnemon.jobs.runner import Runner
from mnemon.scope import Scope
from mnemon.vectors.job import kinds

ORG = "bench"
DEEPEST = 50
_BATCH = 500


@dataclass(frozen=True, kw_only=True)
class Written:
    """How much was written, and how long that took."""

    number: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Written") -> "Written":
        return Written(number=self.number + other.number, seconds=self.seconds + other.seconds)

    @property
    def per_s(self) -> float:
        return self.number / self.seconds if self.seconds else 0.0


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


async def tell(client: httpx2.AsyncClient, talk: Conversation) -> Written:
    """The conversation is there as messages, two a turn; how many turns that were."""
    began, turns = time.perf_counter(), 0
    for _, lines in groupby(talk.lines, key=lambda line: line.session):
        for pair in _pairs(list(lines)):
            said = [_message(line, talk.lines[0].speaker) for line in pair]
            await _post(client, "/api/turns", {"userId": talk.name, "messages": said})
            turns += 1
    return Written(number=turns, seconds=time.perf_counter() - began)


async def remember(client: httpx2.AsyncClient, talk: Conversation) -> Written:
    """The conversation is there a second time, each line as a memory of another person."""
    facts = [_memory(line, f"{talk.name}-memories") for line in talk.lines]
    began = time.perf_counter()
    for start in range(0, len(facts), _BATCH):
        await _post(client, "/api/memories/batch", facts[start : start + _BATCH])
    return Written(number=len(facts), seconds=time.perf_counter() - began)


async def live(client: httpx2.AsyncClient, user: str, now: datetime, *, days: int = 5, turns: int = 8) -> None:
    """The person has what else a prompt is made of: a profile, todos, earlier sessions and one that runs."""
    profile = {"profile": [{"type": "PROFILE", "content": text} for text in sentences(6, seed=1)]}
    (await client.put(f"/api/users/{user}/seed", json=profile)).raise_for_status()
    for text in sentences(4, seed=2):
        await _post(client, "/api/memories", {"userId": user, "type": "OPEN_LOOP", "content": text})
    words = iter(sentences(2 * days * turns, seed=3))
    for day in range(days):
        begin = now - timedelta(days=days - 1 - day, minutes=turns)
        for turn in range(turns):
            at = iso(begin + timedelta(minutes=turn))
            said = [{"role": role, "content": next(words), "at": at} for role in ("user", "assistant")]
            await _post(client, "/api/turns", {"userId": user, "messages": said})


async def embedded(basement: Basement) -> None:
    """Nothing waits for its vector."""
    await Runner(basement.db, basement.clock, {kind.name: kind for kind in kinds(basement, texts())}).drain()


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


async def asked(client: httpx2.AsyncClient, path: str, bodies: Sequence[dict[str, Any]]) -> list[float]:
    """How many seconds each answer took."""
    took = []
    for body in bodies:
        began = time.perf_counter()
        await _post(client, path, body)
        took.append(time.perf_counter() - began)
    return took


async def _post(client: httpx2.AsyncClient, path: str, body: object) -> None:
    (await client.post(path, json=body)).raise_for_status()


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
