"""Measure how long recall takes as a person's memories grow, in a database full of other people's."""

import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bench.recall.seed import random_sentences
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
"""Seconds after which a slow figure is measured no further, but at least three times."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Median and 95th percentile of a series of measurements, in milliseconds."""

    p50: float
    p95: float
    times: int
    """Number of measurements."""


@dataclass(frozen=True, kw_only=True)
class RecallSpeed:
    """The figures of recall for one person; embedding the query is measured separately."""

    memories: int
    cold: Timing
    """A recall with an empty index cache, which reads all rows of the person."""
    warm: Timing
    cpu_ms: float
    """Mean CPU time of a warm recall in this process, without the database's."""
    in_sql: Timing
    embedding: Timing
    context: Timing
    """Assembling the whole context of a chat turn, all layers, warm."""


async def measure_recall(services: Services, org: str, user: str, count: int, *, queries: int = 200) -> RecallSpeed:
    """Measure recall for the person. No query is timed twice."""
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

    cache = services.db.attached.get_or_create(IndexCache)
    freeze_heap()
    set_switch_interval()
    cold = await _time_calls(run_recall, fresh[-20:], before=cache.clear, patience_s=_SLOW_LIMIT_S)
    await _time_calls(run_recall, fresh[:WARM_UP_QUERIES])
    processor = time.process_time()
    warm = await _time_calls(run_recall, made)
    processor = time.process_time() - processor
    await _time_calls(assemble_context, fresh[:WARM_UP_QUERIES])
    assembled = await _time_calls(assemble_context, fresh[WARM_UP_QUERIES:])
    # A cache without room makes recall take the SQL path.
    megabytes, cache.megabytes = cache.megabytes, 0
    in_sql = await _time_calls(run_recall, made[:20], patience_s=_SLOW_LIMIT_S)
    cache.megabytes = megabytes
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
    """Return median and 95th percentile of the seconds."""
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
    """Return the seconds of each call with its transaction; `before` runs untimed before each one."""
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
