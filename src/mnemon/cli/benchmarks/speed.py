"""How long recall takes as memories grow, in a database that holds many more of other people."""

import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mnemon.basement import Basement
from mnemon.db.tx import Tx
from mnemon.layer import Ask
from mnemon.memory.layer import person_and_relevant
from mnemon.memory.recall.query import Query
from mnemon.memory.recall.search import search
from mnemon.memory.recall.shelf import SHELF
from mnemon.scope import Scope, person
from mnemon.vectors.embed import embed_query
from mnemon.vectors.literal import literal

WORDS = (
    "garden museum letter violin recital harbour kitchen bicycle summer concert doctor train sister bread taxes lake "
    "house painting project deadline meeting coffee market teacher football mountain camera recipe library holiday "
    "window dentist neighbour birthday orchestra budget laptop winter sailing novel theatre cousin marathon vegetable "
    "passport airport ceremony workshop chapter pottery festival volunteer scholarship adoption therapy hiking"
)
PEOPLE = ("Sam", "Anna", "Tom", "Lena", "Omar", "Ruth", "Ivan", "Mia")
_CHUNK = 5_000


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Milliseconds."""

    p50: float
    p95: float


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Recall for one person, embedding apart."""

    memories: int
    cold_ms: float
    """The first recall, which reads everything."""
    warm: Timing
    cpu_ms: float
    """Processor time of a warm one, median: what is left of it on a machine that does nothing else."""
    in_sql: Timing
    embedding: Timing
    layer: Timing
    """The whole of L5: memories, cards, messages."""


def sentences(count: int, seed: int) -> list[str]:
    """Facts that read like facts, the same for the same seed."""
    chance, words = random.Random(seed), WORDS.split()  # noqa: S311 (test data)
    return [
        f"{chance.choice(PEOPLE)} talked about the {chance.choice(words)} and the {chance.choice(words)} "
        f"of {chance.choice(words)} number {chance.randrange(count * 4)} near the {chance.choice(words)}"
        for _ in range(count)
    ]


async def fill(basement: Basement, org: str, user: str, count: int, seed: int) -> None:
    """The person has so many memories with their vectors, copied in."""
    scope = person(org, user)
    for start in range(0, count, _CHUNK):
        texts = sentences(min(_CHUNK, count - start), seed + start)
        vectors = await basement.embedder.embed(texts)
        # As the owner: PostgreSQL does not copy into a table under row-level security.
        async with basement.db.owner_tx() as tx:
            if start == 0:
                await _person(tx, scope, user)
            await _copy(tx, scope, basement.embedder.model, texts, [literal(vector) for vector in vectors], start)


async def measure(basement: Basement, org: str, user: str, count: int, *, queries: int = 60) -> Speed:
    """The person's figures."""
    scope, asked = person(org, user), sentences(queries, seed=-count)
    embedding: list[float] = []
    made: list[Query] = []
    for text in asked:
        began = time.perf_counter()
        vector = await embed_query(basement.embedder, text)
        embedding.append(time.perf_counter() - began)
        made.append(Query(text=text, vector=vector, model=basement.embedder.model))
    cold, *_ = await _timed(basement, scope, made[:1])
    await _timed(basement, scope, made[:3])
    processor = time.process_time()
    warm = await _timed(basement, scope, made)
    processor = time.process_time() - processor
    room, SHELF.megabytes = SHELF.megabytes, 0
    in_sql = await _timed(basement, scope, made[: max(3, min(20, 20_000 // count))])
    SHELF.megabytes = room
    return Speed(
        memories=count,
        cold_ms=1000 * cold,
        warm=timing(warm),
        cpu_ms=1000 * processor / len(made),
        in_sql=timing(in_sql),
        embedding=timing(embedding),
        layer=timing(await _layers(basement, scope, made)),
    )


def timing(seconds: Sequence[float]) -> Timing:
    """Median and 95th percentile."""
    ordered = sorted(seconds)
    return Timing(p50=1000 * statistics.median(ordered), p95=1000 * ordered[int(0.95 * (len(ordered) - 1))])


async def _timed(basement: Basement, scope: Scope, queries: Sequence[Query]) -> list[float]:
    took = []
    for query in queries:
        began = time.perf_counter()
        async with basement.db.tx(scope.org_id) as tx:
            await search(tx, scope, query)
        took.append(time.perf_counter() - began)
    return took


async def _layers(basement: Basement, scope: Scope, queries: Sequence[Query]) -> list[float]:
    took = []
    for query in queries:
        began = time.perf_counter()
        async with basement.db.tx(scope.org_id) as tx:
            await person_and_relevant(tx, Ask(scope=scope, query=query.text, vector=query.vector, now=tx.now, model=query.model))
        took.append(time.perf_counter() - began)
    return took


async def _person(tx: Tx, scope: Scope, user: str) -> None:
    await tx.run(
        "insert into users (org_id, user_id, external_id, revision, created_at) values (%(o)s, %(u)s, %(e)s, 1, %(n)s)",
        o=scope.org_id,
        u=scope.user,
        e=user,
        n=tx.now,
    )


async def _copy(tx: Tx, scope: Scope, model: str, texts: Sequence[str], vectors: Sequence[str], start: int) -> None:
    columns = (
        "org_id, user_id, id, type, content, entity_refs, entity_label, entity_type, fact_type, importance, "
        "memory_key, source, trust, confidence, valid_from, stated_at, revision, created_at, updated_at, recorded_at"
    )
    async with tx.connection.cursor() as cursor:
        async with cursor.copy(f"copy memories ({columns}) from stdin") as copy:
            for place, text in enumerate(texts, start):
                await copy.write_row(_row(scope, text, place, tx.now))
        async with cursor.copy(
            "copy embeddings (org_id, user_id, model, kind, id, vector, revision) from stdin"
        ) as copy:
            for place, vector in enumerate(vectors, start):
                await copy.write_row((scope.org_id, scope.user, model, "memory", _name(place), vector, 1))


def _row(scope: Scope, text: str, place: int, now: datetime) -> tuple[object, ...]:
    label, at = text.split(" ", 1)[0], now - timedelta(hours=place % 5000)
    key = f"people|person|{label.lower()}|fact|{place}"
    return (
        scope.org_id, scope.user, _name(place), "PEOPLE", text, [f"person:{label.lower()}"], label, "person", "fact", 1,
        key, "api", "person", 1.0, at, at, 1, at, at, at,
    )  # fmt: skip


def _name(place: int) -> str:
    return f"mem_bench{place:09}"
