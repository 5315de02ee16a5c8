"""How long recall takes as memories grow, in a database that holds many more of other people."""

import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from mnemon.cli.benchmarks.seed import random_sentences
from mnemon.cli.serve import freeze_heap, set_switch_interval
from mnemon.context.assemble import preview_context
from mnemon.memory.recall.index_cache import IndexCache
from mnemon.memory.recall.query import RecallQuery
from mnemon.memory.recall.search import recall
from mnemon.scope import person_scope
from mnemon.services import Services
from mnemon.vectors.text_vectors import embed_query

WARM_UP_QUERIES = 5
_SLOW_LIMIT_S = 12.0
"""About how long a slow figure may take: it is measured less often then, but three times at least."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Milliseconds."""

    p50: float
    p95: float
    times: int
    """How often it was measured."""


@dataclass(frozen=True, kw_only=True)
class RecallSpeed:
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


async def measure_recall(services: Services, org: str, user: str, count: int, *, queries: int = 200) -> RecallSpeed:
    """The person's figures. No query is asked twice while it is timed."""
    scope = person_scope(org, user)
    made, embedding = await _embed_queries(services, random_sentences(queries, seed=-count))
    fresh, _ = await _embed_queries(services, random_sentences(WARM_UP_QUERIES + 60, seed=-count - 1))

    async def run_recall(query: RecallQuery) -> None:
        await recall(services.db, scope, query)

    async def assemble_context(query: RecallQuery) -> None:
        async with services.db.tx(scope.org_id) as tx:
            await preview_context(
                tx, services, scope, query.text, query.vector, sees_agent_state=True, sees_engagement=True
            )

    shelf = services.db.attached.get_or_create(IndexCache)
    freeze_heap()
    set_switch_interval()
    cold = await _time_calls(run_recall, fresh[-20:], before=shelf.clear, patience_s=_SLOW_LIMIT_S)
    await _time_calls(run_recall, fresh[:WARM_UP_QUERIES])
    processor = time.process_time()
    warm = await _time_calls(run_recall, made)
    processor = time.process_time() - processor
    await _time_calls(assemble_context, fresh[:WARM_UP_QUERIES])
    assembled = await _time_calls(assemble_context, fresh[WARM_UP_QUERIES:])
    room, shelf.megabytes = shelf.megabytes, 0
    in_sql = await _time_calls(run_recall, made[:20], patience_s=_SLOW_LIMIT_S)
    shelf.megabytes = room
    return RecallSpeed(
        memories=count,
        cold=timing_of(cold),
        warm=timing_of(warm),
        cpu_ms=1000 * processor / len(warm),
        in_sql=timing_of(in_sql),
        embedding=timing_of(embedding),
        context=timing_of(assembled),
    )


def timing_of(seconds: Sequence[float]) -> Timing:
    """Median and 95th percentile."""
    ordered = sorted(seconds)
    place = min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))
    return Timing(p50=1000 * statistics.median(ordered), p95=1000 * ordered[place], times=len(ordered))


async def _embed_queries(services: Services, texts: Sequence[str]) -> tuple[list[RecallQuery], list[float]]:
    made, took = [], []
    for text in texts:
        began = time.perf_counter()
        vector = await embed_query(services.embedder, text)
        took.append(time.perf_counter() - began)
        made.append(RecallQuery(text=text, vector=vector, model=services.embedder.model))
    return made, took


async def _time_calls(
    ask: Callable[[RecallQuery], Awaitable[None]],
    queries: Sequence[RecallQuery],
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
