"""The search itself: from a query to ranked hits and cards.

`recall` answers from a person's cached index, in one round trip where it can; `search` runs inside a transaction of
the caller and falls back to SQL for a past time or another ranking. `prepare_query` does the slow parts, the query's
embedding and the person's index, before any transaction is open. `RecallCounter` counts recalls by day in the process
and writes them every few seconds, so that a read does not have to write.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial

import numpy as np

from mnemon.db.database import Database
from mnemon.db.statements import load_statements
from mnemon.db.tx import Tx
from mnemon.memory import store as memories
from mnemon.memory.cards import Card, entity_cards, entity_keys_of
from mnemon.memory.claims import ShownClaims, group_claims, show_claims
from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.entities.store import load_aliases
from mnemon.memory.memory import StoredMemory
from mnemon.memory.ranking import (
    MOST_CANDIDATES,
    RankedItem,
    Ranking,
    RankingCandidate,
    nearest_candidates,
    rank_blended,
    rank_by_similarity,
)
from mnemon.memory.recall import index_loader, index_search, store
from mnemon.memory.recall.index_cache import IndexCache
from mnemon.memory.recall.index_search import IndexResult, complete_result, hits_of, load_results, search_index
from mnemon.memory.recall.query import RecallHit, RecallItem, RecallKind, RecallQuery, RecallResult
from mnemon.memory.vector_store import join_by_hash
from mnemon.memory.words import query_coverage
from mnemon.scope import Scope
from mnemon.services import Services
from mnemon.vectors.text_vectors import embed_query

SQL = load_statements("mnemon.memory.recall")
WRITE_INTERVAL = timedelta(seconds=10)
"""How often the counts are written to the database."""


class RecallCounter:
    """Recalls counted in one open database and not written yet. Counts written by a transaction that fails are lost."""

    def __init__(self) -> None:
        """Begin with no recall counted."""
        self._waiting: Counter[tuple[str, date]] = Counter()
        """Recalls by organization and day."""
        self._written: dict[str, datetime] = {}
        """When each organization's counts were last written."""

    async def count_recalls(self, tx: Tx, scope: Scope, number: int = 1) -> None:
        """Count recalls of an organization, and write the counts to `recall_days` if it is time."""
        self.note_recalls(scope, tx.now, number)
        if self.is_due(scope, tx.now):
            self._written[scope.org_id] = tx.now
            await self._write_counts(tx, scope)

    def is_due(self, scope: Scope, now: datetime) -> bool:
        """Say whether it is time to write the organization's counts of recalls, which needs a transaction."""
        since = self._written.get(scope.org_id)
        return since is None or abs(now - since) >= WRITE_INTERVAL

    def note_recalls(self, scope: Scope, now: datetime, number: int = 1) -> None:
        """Count recalls of an organization in memory, without writing them."""
        self._waiting[scope.org_id, now.astimezone(UTC).date()] += number

    async def recalls_by_day(self, tx: Tx, scope: Scope, since: date) -> dict[date, int]:
        """Return the number of recalls for each day since the date, including those not written yet."""
        rows = await tx.fetch_all(SQL["recall_days"], org_id=scope.org_id, since=since)
        found = Counter({row["day"]: int(row["number"]) for row in rows})
        found.update({day: n for (org, day), n in self._waiting.items() if org == scope.org_id and day >= since})
        return dict(found)

    async def _write_counts(self, tx: Tx, scope: Scope) -> None:
        """Write the organization's counts of recalls to `recall_days`; on a standby they wait."""
        if (await tx.fetch_one(SQL["is_read_only"]))["read_only"]:
            # A standby is read-only during a failover: recall still works there, and the counts wait.
            return
        for key in [key for key in self._waiting if key[0] == scope.org_id]:
            number = self._waiting.pop(key)
            # The statement never waits: if another transaction has the row, the count stays for the next time.
            if not await tx.execute(SQL["keep_count"], org_id=scope.org_id, day=key[1], number=number):
                self._waiting[key] += number


async def recall(db: Database, scope: Scope, query: RecallQuery) -> RecallResult:
    """Search a person's memories in a transaction of its own, in one round trip where the index is warm."""
    result = await _search_warm_index(db, scope, query)
    if result is not None and result.is_complete:
        return complete_result(result)
    async with db.tx(scope.org_id) as tx:
        # An index result that lacks rows needs a transaction to read them, but no second search.
        return await search(tx, scope, query) if result is None else (await load_results(tx, scope, [result]))[0]


async def _search_warm_index(db: Database, scope: Scope, query: RecallQuery) -> IndexResult | None:
    """Return what the person's cached index gives if it is current; None when a transaction is needed."""
    cache, counter = db.attached.get_or_create(IndexCache), db.attached.get_or_create(RecallCounter)
    if not _may_use_index(query):
        return None
    await cache.load_person(db, scope, query.model)
    now = db.now()
    if not cache.has_person(scope, query.model) or counter.is_due(scope, now):
        return None
    # The revision is read without a transaction: if it is the cached index's, the answer is what a transaction would
    # see.
    rows = await db.read_once(scope.org_id, index_loader.SQL["index_version"], org_id=scope.org_id, user_id=scope.user)
    result = await cache.read_if_current(
        scope, query.model, index_loader.index_version_of(rows), lambda index: search_index(index, query, now)
    )
    if result is not None:
        counter.note_recalls(scope, now)
    return result


def _may_use_index(query: RecallQuery) -> bool:
    """Say whether the query can be answered from an index: hybrid ranking, and the present."""
    return query.ranking is Ranking.HYBRID and query.as_of is None


async def search(tx: Tx, scope: Scope, query: RecallQuery) -> RecallResult:
    """Return the memories and messages that answer the query, best first, with cards of the entities mentioned."""
    return (await search_each(tx, scope, [query]))[0]


async def search_each(tx: Tx, scope: Scope, queries: Sequence[RecallQuery]) -> list[RecallResult]:
    """Return the results of several searches over one person, reading their rows together."""
    cache = tx.attached.get_or_create(IndexCache)
    await tx.attached.get_or_create(RecallCounter).count_recalls(tx, scope, len(queries))
    if all(map(_may_use_index, queries)):
        model = queries[0].model
        results = await cache.read_fresh(
            tx, scope, model, lambda index: [search_index(index, query, tx.now) for query in queries]
        )
        if results is not None:
            return await load_results(tx, scope, results)
    return [await _search_in_sql(tx, scope, query) for query in queries]


async def _search_in_sql(tx: Tx, scope: Scope, query: RecallQuery) -> RecallResult:
    """Return a search's result from rows read in SQL: for a past time, another ranking, or a large person."""
    aliases = await load_aliases(tx, scope)
    # Only around the reading: the setting must not reach the caller's other statements.
    async with join_by_hash(tx):
        candidates = await _load_candidates(tx, scope, query)
    weigh = partial(_rank_candidates, candidates, query, aliases, query.as_of or tx.now)
    effort = sum(batch.effort for batch in candidates)
    fused, shown, items = await tx.attached.get_or_create(IndexCache).compute_off_loop(weigh, rows=effort)
    return await _make_result(tx, scope, query, fused, shown, items)


def _rank_candidates(
    candidates: Sequence[store.CandidateBatch], query: RecallQuery, aliases: Aliases, now: datetime
) -> tuple[index_search.FusedRanking, ShownClaims, dict[str, RecallItem]]:
    """Return the ranking of the rows read in SQL, the ranking with claims, and all rows by id."""
    candidate_rows = [(one, batch.are_claims) for batch in candidates for one in batch.read_all()]
    items = {one.thing.id: one.thing for one, _ in candidate_rows}
    groups = group_claims(one for one in items.values() if isinstance(one, StoredMemory))
    found = [one for one, follows in candidate_rows if not follows and one.thing.id not in groups.follower_ids]
    if query.ranking is Ranking.HYBRID:
        fused = index_search.rank_rows(found, query, aliases, now)
    else:
        ranked = _rank_by_query(query, found, aliases, now)
        fused = index_search.FusedRanking(ranked=ranked[: query.limit], considered=len(ranked), aliases=aliases)
    return fused, show_claims(fused.ranked, groups, limit=query.limit, extra=query.extra_claims), items


async def _make_result(
    tx: Tx,
    scope: Scope,
    query: RecallQuery,
    fused: index_search.FusedRanking,
    shown: ShownClaims,
    items: dict[str, RecallItem],
) -> RecallResult:
    """Return the hits with their provenance, and the cards of the entities they mention."""
    hits = tuple(hits_of(shown, items))
    found = [hit.found for hit in hits if isinstance(hit.found, StoredMemory)]
    cards = await _load_cards(tx, scope, query, found, items, fused.aliases)
    return RecallResult(hits=await _add_provenance(tx, scope, hits), cards=tuple(cards), considered=fused.considered)


async def _load_candidates(tx: Tx, scope: Scope, query: RecallQuery) -> list[store.CandidateBatch]:
    """Return the rows to be ranked: all for the hybrid ranking, a past time or no vector; else the nearest."""
    found: list[store.CandidateBatch] = []
    # The hybrid ranking standardizes over all rows, so it needs all of them.
    whole = query.ranking is Ranking.HYBRID or query.vector is None or query.as_of is not None
    most = max(MOST_CANDIDATES, query.limit)
    if RecallKind.MEMORIES in query.kinds:
        if query.as_of is not None:
            found += await store.memories_as_of(tx, scope, query)
        elif whole:
            found += await store.every_memory(tx, scope, query)
        else:
            found += await store.nearest_memories(tx, scope, query, most=most)
    if RecallKind.MESSAGES in query.kinds:
        if whole:
            found += await store.every_message(tx, scope, query)
        else:
            found += await store.nearest_messages(tx, scope, query, most=most)
    return found


def _rank_by_query(
    query: RecallQuery, found: Sequence[store.CandidateRow], aliases: Aliases, now: datetime
) -> list[RankedItem]:
    """Return the rows ranked by similarity or blended; rows without a vector are judged by their words."""
    # Only rows without a vector are judged by their words; splitting every text would take long.
    waiting = any(one.cosine is None for one in found)
    words = query_coverage(query.text, [one.thing.content for one in found]) if waiting else [0.0] * len(found)
    candidates = [
        one for one in _ranking_candidates(found, words, aliases) if one.similarity is not None or one.lexical > 0
    ]
    if query.ranking is Ranking.BLENDED:
        return rank_blended(nearest_candidates(candidates), now=now)
    return rank_by_similarity(candidates)


def _ranking_candidates(
    found: Sequence[store.CandidateRow], words: Sequence[float], aliases: Aliases
) -> list[RankingCandidate]:
    """Return the rows as candidates for a ranking, with their entity keys resolved."""
    return [
        RankingCandidate(
            id=one.thing.id,
            similarity=one.cosine,
            lexical=lexical,
            updated_at=one.thing.updated_at if isinstance(one.thing, StoredMemory) else one.thing.at,
            entity_keys=tuple(map(aliases.resolve, one.thing.entity_refs))
            if isinstance(one.thing, StoredMemory)
            else (),
        )
        for one, lexical in zip(found, words, strict=True)
    ]


async def _load_cards(
    tx: Tx,
    scope: Scope,
    query: RecallQuery,
    shown: Sequence[StoredMemory],
    items: dict[str, RecallItem],
    aliases: Aliases,
) -> list[Card]:
    """Return cards of the entities that the shown memories mention; for a past time, from the memories of that time."""
    keys = entity_keys_of(shown, aliases.resolve)
    if query.as_of is None:
        stored = {member for key in keys for member in aliases.member_keys(key)}
        return entity_cards(keys, await memories.sharing_entities(tx, scope, stored), aliases.resolve)
    held = [one for one in items.values() if isinstance(one, StoredMemory)]
    make_cards = partial(entity_cards, keys, held, aliases.resolve)
    return await tx.attached.get_or_create(IndexCache).compute_off_loop(make_cards, rows=len(held))


async def _add_provenance(tx: Tx, scope: Scope, hits: Sequence[RecallHit]) -> tuple[RecallHit, ...]:
    """Return the recall's hits, each memory with where it was said."""
    found = [hit.found for hit in hits if isinstance(hit.found, StoredMemory)]
    if not found:
        return tuple(hits)
    full = {one.id: one for one in await memories.with_provenance(tx, scope, found)}
    return tuple(replace(hit, found=full.get(hit.found.id, hit.found)) for hit in hits)


async def prepare_query(
    services: Services, scope: Scope, text: str, *, ranking: str = Ranking.HYBRID
) -> np.ndarray | None:
    """Return the query's embedding, and index the person if necessary, before the transaction that searches.

    Without it a search still works, but it indexes the person while its transaction is open.
    """
    vector = await embed_query(services.embedder, text)
    if ranking == Ranking.HYBRID and scope.user_id is not None:
        await services.db.attached.get_or_create(IndexCache).load_person(services.db, scope, services.embedder.model)
    return vector
