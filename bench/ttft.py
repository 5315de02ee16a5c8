"""How much later the first token comes through Mnemon than from the model itself.

    .venv/bin/python -m bench.ttft [--database-url postgresql://…] [--turns 200] [--memories 1000] [--rounds 2]

Starts the scripted model and the server as processes of their own, with the embedded database unless another is named,
loads a person's memories, then takes turns in pairs: one streamed reply straight from the model, one through
`/api/chat`. The difference of the medians is what Mnemon adds: authentication, storing the message, recall and the
whole context. While reflection stands still and while it works on every turn at the same time, by turns. The local
embedder's time is in it, and told apart as well.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psycopg

from mnemon.db.embedded.cluster import ensure_running
from mnemon.embedding.connect import connect_embedder
from mnemon.vectors.text_vectors import embed_query

BIN = Path(sys.executable).parent
TOPICS = (
    "tea",
    "jazz",
    "the lake house",
    "running",
    "the dashboard",
    "her sister",
    "Lisbon",
    "chess",
    "bread",
    "taxes",
)


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", help="a PostgreSQL where a scratch database may be made")
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--memories", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    with scratch(given.database_url) as url, model() as model_url, tempfile.TemporaryDirectory() as folder:
        figures: dict[str, list[dict[str, float]]] = {"reflection_idle": [], "reflection_working": []}
        for number in range(given.rounds):
            for name, flag in (("reflection_idle", "--no-worker"), ("reflection_working", "--worker")):
                with server(url, model_url, folder, flag) as (base, key):
                    client = httpx2.Client(base_url=base, headers={"Authorization": f"Bearer {key}"}, timeout=60)
                    if number == 0 and name == "reflection_idle":
                        load(client, given.memories)
                        asyncio.run(settle(url, folder))
                    figures[name].append(measured(client, model_url, given.turns))
                    client.close()
        told = {**figures, "of_which_embedding_ms": asyncio.run(embedding(given.turns))}
        sys.stdout.write(json.dumps(told, indent=2) + "\n")


async def settle(url: str | None, folder: str) -> None:
    """What was loaded is vacuumed and analyzed, as the database does by itself after a minute."""
    made = None if url else await ensure_running(Path(folder))
    with psycopg.connect(url or (made.url if made else ""), autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE) memories, embeddings, users")
    if made is not None:
        await made.stop()  # this process leaves; the server stays


async def embedding(number: int) -> float:
    """The median of what the local embedder takes for the same questions."""
    embedder = connect_embedder("local")
    took = []
    for place in range(number + 10):
        began = time.perf_counter()
        await embed_query(embedder, question(place))
        took.append((time.perf_counter() - began) * 1000)
    await embedder.close()
    return round(statistics.median(took[10:]), 2)


def question(number: int) -> str:
    return f"What do you know about {TOPICS[number % len(TOPICS)]}, number {number}?"


def measured(client: httpx2.Client, model_url: str, turns: int) -> dict[str, float]:
    """Medians and 95th percentiles in milliseconds, direct and through."""
    direct_client = httpx2.Client(base_url=model_url, timeout=60)
    direct: list[float] = []
    through: list[float] = []
    for number in range(turns + 10):
        asked = question(number)
        one, other = first_direct(direct_client, asked), first_through(client, asked)
        if number >= 10:  # the first ones warm connections and statements
            direct.append(one)
            through.append(other)
    direct_client.close()
    return {
        "turns": turns,
        "direct_median_ms": round(statistics.median(direct), 2),
        "through_median_ms": round(statistics.median(through), 2),
        "overhead_median_ms": round(statistics.median(through) - statistics.median(direct), 2),
        "overhead_p95_ms": round(quantile(through, 0.95) - quantile(direct, 0.95), 2),
    }


def first_direct(client: httpx2.Client, asked: str) -> float:
    body = {"model": "scripted", "stream": True, "messages": [{"role": "user", "content": asked}]}
    began = time.perf_counter()
    with client.stream("POST", "/chat/completions", json=body) as answer:
        took = None
        for line in answer.iter_lines():
            if took is None and line.startswith("data: ") and '"content": "' in line.replace('":"', '": "'):
                took = time.perf_counter() - began
    assert took is not None
    return took * 1000


def first_through(client: httpx2.Client, asked: str) -> float:
    began = time.perf_counter()
    with client.stream("POST", "/api/chat", json={"userId": "bench", "message": asked}) as answer:
        took = None
        for line in answer.iter_lines():
            if took is None and line == "event: delta":
                took = time.perf_counter() - began
    assert took is not None
    return took * 1000


def load(client: httpx2.Client, number: int) -> None:
    """The person has this many memories, each different, embedded."""
    facts = [
        {
            "userId": "bench",
            "type": ("PROFILE", "PEOPLE", "PROJECT")[place % 3],
            "content": f"Fact {place}: something about {TOPICS[place % len(TOPICS)]} that happened on day {place}",
            "attribute": f"fact {place}",
        }
        for place in range(number)
    ]
    for start in range(0, number, 500):
        answer = client.post("/api/memories/batch", json=facts[start : start + 500])
        if answer.status_code == 422:
            answer = client.post("/api/memories/batch", json={"memories": facts[start : start + 500]})
        answer.raise_for_status()


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))]


@contextmanager
def scratch(url: str | None) -> Iterator[str | None]:
    """A database of this run's own; None where the server makes one for itself."""
    if url is None:
        yield None
        return
    name = f"mnemon_ttft_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    try:
        yield psycopg.conninfo.make_conninfo(url, dbname=name)
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def model() -> Iterator[str]:
    port = 19_009
    process = subprocess.Popen([sys.executable, "-m", "mnemon.llm.scripted", "--port", str(port)])
    try:
        answered(f"http://127.0.0.1:{port}/v1/models")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


@contextmanager
def server(url: str | None, model_url: str, folder: str, flag: str) -> Iterator[tuple[str, str]]:
    port = 19_010
    environment = {
        **os.environ,
        "MNEMON_DATA_DIR": folder,
        **({"MNEMON_DATABASE_URL": url} if url else {}),
        "MNEMON_MODEL": "openai:scripted",
        "MNEMON_MODEL_BASE_URL": model_url,
        "MNEMON_MODEL_API_KEY": "none",
        "MNEMON_RATE_LIMIT_PER_MINUTE": "0",
        "MNEMON_LOG_LEVEL": "error",
        "MNEMON_PORT": str(port),
    }
    process = subprocess.Popen([BIN / "mnemon", "serve", flag], env=environment, stdout=subprocess.DEVNULL)
    try:
        answered(f"http://127.0.0.1:{port}/healthz")
        made = subprocess.run(
            [BIN / "mnemon", "keys", "create", "--name", "bench", "--json"],
            env=environment, check=True, capture_output=True, text=True,
        )  # fmt: skip
        yield f"http://127.0.0.1:{port}", json.loads(made.stdout)["key"]
    finally:
        process.terminate()
        process.wait()


def answered(url: str) -> None:
    for _ in range(300):
        try:
            httpx2.get(url, timeout=1)
        except httpx2.HTTPError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit(f"{url} did not answer")


if __name__ == "__main__":
    main()
