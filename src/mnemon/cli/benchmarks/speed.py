"""How long recall takes as memories grow, in a database that holds many more of other people."""

import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from mnemon.basement import Basement
from mnemon.cli.benchmarks.seed import sentences
from mnemon.cli.serve import settle_heap, shorten_switches
from mnemon.context.assemble import given
from mnemon.memory.recall.query import Query
from mnemon.memory.recall.search import recall
from mnemon.memory.recall.shelf import Shelf
from mnemon.scope import person
from mnemon.vectors.embed import embed_query

WARM_UP = 5
_PATIENCE_S = 12.0
"""About how long a slow figure may take: it is measured less often then, but three times at least."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Milliseconds."""

    p50: float
    p95: float
    times: int
    """How often it was measured."""


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Recall for one person, embedding apart."""

    memories: int
    cold: Timing
    """A recall of someone not recalled before, which reads everything."""
    warm: Timing
    cpu_ms: float
    """Processor time of a warm one in this process, on average: the database's is not in it."""
    in_sql: Timing
    embedding: Timing
    context: Timing
    """The whole of what a chat turn is given, all layers, warm."""


async def measure(basement: Basement, org: str, user: str, count: int, *, queries: int = 200) -> Speed:
    """The person's figures. No query is asked twice while it is timed."""
    scope = person(org, user)
    made, embedding = await _queries(basement, sentences(queries, seed=-count))
    fresh, _ = await _queries(basement, sentences(WARM_UP + 60, seed=-count - 1))

    async def ask(query: Query) -> None:
        await recall(basement.db, scope, query)

    async def context(query: Query) -> None:
        async with basement.db.tx(scope.org_id) as tx:
            await given(tx, basement, scope, query.text, query.vector, sees_agent_state=True, sees_engagement=True)

    shelf = basement.db.attached.get(Shelf)
    settle_heap()
    shorten_switches()
    cold = await _timed(ask, fresh[-20:], before=shelf.clear, patience_s=_PATIENCE_S)
    await _timed(ask, fresh[:WARM_UP])
    processor = time.process_time()
    warm = await _timed(ask, made)
    processor = time.process_time() - processor
    await _timed(context, fresh[:WARM_UP])
    assembled = await _timed(context, fresh[WARM_UP:])
    room, shelf.megabytes = shelf.megabytes, 0
    in_sql = await _timed(ask, made[:20], patience_s=_PATIENCE_S)
    shelf.megabytes = room
    return Speed(
        memories=count,
        cold=timing(cold),
        warm=timing(warm),
        cpu_ms=1000 * processor / len(warm),
        in_sql=timing(in_sql),
        embedding=timing(embedding),
        context=timing(assembled),
    )


def timing(seconds: Sequence[float]) -> Timing:
    """Median and 95th percentile."""
    ordered = sorted(seconds)
    place = min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))
    return Timing(p50=1000 * statistics.median(ordered), p95=1000 * ordered[place], times=len(ordered))


async def _queries(basement: Basement, texts: Sequence[str]) -> tuple[list[Query], list[float]]:
    made, took = [], []
    for text in texts:
        began = time.perf_counter()
        vector = await embed_query(basement.embedder, text)
        took.append(time.perf_counter() - began)
        made.append(Query(text=text, vector=vector, model=basement.embedder.model))
    return made, took


async def _timed(
    ask: Callable[[Query], Awaitable[None]],
    queries: Sequence[Query],
    *,
    before: Callable[[], None] | None = None,
    patience_s: float = float("inf"),
) -> list[float]:
    """Seconds of each, its transaction included."""
    took: list[float] = []
    for query in queries:
        if before is not None:
            before()
        began = time.perf_counter()
        await ask(query)
        took.append(time.perf_counter() - began)
        if sum(took) > patience_s and len(took) >= 3:
            break
    return took
