"""Many writers at once, and an embedder that is down."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2

from support.bounds import HANGS_S
from support.served import Served, served

WRITERS = 1000
TRIES = 50
FACT = {"userId": "anna", "type": "PROFILE", "content": "Lives in Austin", "attribute": "city"}


def test_a_thousand_identical_writes_at_once_make_one_memory_and_no_failure(server: Served) -> None:
    headers = {"Authorization": f"Bearer {server.key()}"}

    async def write_until_stored(client: httpx2.AsyncClient, number: int) -> int:
        """Write as a client does that is told to come back: on a slow machine the queue for one person is long."""
        for _ in range(TRIES):
            answer = await client.post("/api/memories", json=FACT, headers={"Idempotency-Key": f"writer-{number}"})
            if answer.status_code != 503:
                return answer.status_code
            assert answer.json()["code"] == "contended"
        return answer.status_code

    async def write() -> list[int]:
        limits = httpx2.Limits(max_connections=WRITERS)
        async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=HANGS_S, limits=limits) as client:
            return list(await asyncio.gather(*(write_until_stored(client, number) for number in range(WRITERS))))

    assert sorted(asyncio.run(write())) == [200] * (WRITERS - 1) + [201]
    with httpx2.Client(base_url=server.url, headers=headers, timeout=HANGS_S) as client:
        kept = client.get("/api/memories", params={"userId": "anna"}).json()["data"]
    assert [one["mentions"] for one in kept] == [WRITERS]


def test_with_the_embedder_down_a_write_succeeds_and_is_found_by_its_words(database_url: str, tmp_path: Path) -> None:
    nowhere: dict[str, Any] = {
        "embedder": "openai:text-embedding-3-small",
        "embedder_base_url": "http://127.0.0.1:9/v1",
        "embedder_api_key": "x",
    }
    with served(database_url, tmp_path, **nowhere) as server:
        client = server.client()
        assert client.post("/api/memories", json=FACT).status_code == 201
        client.post("/api/memories", json={**FACT, "content": "Plays the violin", "attribute": "instrument"})
        for ranking in ("similarity", "blended", "hybrid"):
            body = {"userId": "anna", "query": "what does she play on the violin", "ranking": ranking}
            results = client.post("/api/memories/search", json=body).json()["data"]["results"]
            assert results[0]["memory"]["content"] == "Plays the violin"
        waiting = client.get("/api/jobs", params={"kind": "embed"}).json()["data"]
        assert len(waiting) == 1
    again = tmp_path / "again"
    again.mkdir()
    with served(database_url, again, start="2026-04-12T16:00:00Z") as server:
        client = server.client()
        server.settled(client)
        body = {"userId": "anna", "query": "Plays the violin", "ranking": "similarity"}
        best = client.post("/api/memories/search", json=body).json()["data"]["results"][0]
        assert best["why"]["similarity"] > 0.99
