"""Search in a person's index: rank, pick cards, and read the rows that are not cached.

The same hybrid ranking serves two sources: a person's index (`rank_index`) and rows read in SQL (`rank_rows`), of
which it builds a temporary index.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from mnemon.db.tx import Tx
from mnemon.memory import store as memories
from mnemon.memory.cards import CardSelection, entity_keys_of, select_cards
from mnemon.memory.claims import ShownClaims, show_claims
from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.fact import MemoryType
from mnemon.memory.memory import StoredMemory
from mnemon.memory.ranking import RankedItem
from mnemon.memory.recall import store
from mnemon.memory.recall.index import build_index
from mnemon.memory.recall.index_entry import IndexEntry, entry_of_memory, entry_of_message
from mnemon.memory.recall.index_loader import MOST_READ_AHEAD, RowCache
from mnemon.memory.recall.person_index import PersonIndex
from mnemon.memory.recall.query import (
    FoundMessage,
    RecallHit,
    RecallItem,
    RecallKind,
    RecallQuery,
    RecallResult,
    parse_query,
)
from mnemon.memory.recall.scoring import IndexView, score_rows, view_index
from mnemon.memory.recall.store import CandidateRow
from mnemon.scope import Scope

_ALL_TYPES = frozenset(MemoryType)


@dataclass(frozen=True, kw_only=True)
class FusedRanking:
    """The best-ranked items, with what the rest of the search needs."""

    ranked: Sequence[RankedItem]
    considered: int
    aliases: Aliases


def rank_index(index: PersonIndex, query: RecallQuery, now: datetime) -> FusedRanking:
    """Return the best rows of a person's index for the query."""
    views = []
    if RecallKind.MEMORIES in query.kinds:
        views.append(view_index(index.memories, _type_filter(query)))
    if RecallKind.MESSAGES in query.kinds:
        views.append(view_index(index.messages))
    return _rank_views(views, query, _round_vector(query.vector), index.aliases, now)


def rank_rows(found: Sequence[CandidateRow], query: RecallQuery, aliases: Aliases, now: datetime) -> FusedRanking:
    """Return the best of rows that SQL read, whose cosines the database computed."""
    # The cosine is the first component of a substitute vector, so that the same scorer serves both paths.
    messages = [(_candidate_entry(one), _cosine_vector(one)) for one in found if isinstance(one.thing, FoundMessage)]
    stored = [(_candidate_entry(one), _cosine_vector(one)) for one in found if isinstance(one.thing, StoredMemory)]
    views = []
    if RecallKind.MEMORIES in query.kinds:
        views.append(view_index(build_index(stored), _type_filter(query)))
    if RecallKind.MESSAGES in query.kinds:
        views.append(view_index(build_index(messages)))
    # With the query on the first axis, the dot product with a substitute vector is the row's cosine.
    axis = None if query.vector is None else np.array([1.0, 0.0], dtype=np.float32)
    return _rank_views(views, query, axis, aliases, now)


def _rank_views(
    views: Sequence[IndexView], query: RecallQuery, vector: np.ndarray | None, aliases: Aliases, now: datetime
) -> FusedRanking:
    """Return the best rows of these views for the query."""
    scored = score_rows(views, parse_query(query.text), vector, aliases=aliases, now=now, limit=query.limit)
    return FusedRanking(ranked=[one for one, _ in scored.best], considered=scored.considered, aliases=aliases)


def _type_filter(query: RecallQuery) -> frozenset[str] | None:
    """Return the memory types that the query wants; None for all."""
    return None if query.types == _ALL_TYPES else frozenset(query.types)


def _round_vector(vector: np.ndarray | None) -> np.ndarray | None:
    """Return the query's vector in the precision of stored ones and of length 1; None stays None.

    Index and SQL then agree on cosines.
    """
    if vector is None:
        return None
    halved = vector.astype(np.float16).astype(np.float32)
    length = float(np.linalg.norm(halved))
    return halved / np.float32(length) if length else None


def _cosine_vector(one: CandidateRow) -> np.ndarray | None:
    """Return a substitute vector whose first component is the row's cosine; None without a cosine."""
    # Zero vectors count as "no vector", so the second component keeps a cosine of 0 apart from a text without words.
    return None if one.cosine is None else np.array([one.cosine, 1.0], dtype=np.float32)


def _candidate_entry(one: CandidateRow) -> IndexEntry:
    """Return the index entry of a memory or message that SQL read."""
    item = one.thing
    if isinstance(item, FoundMessage):
        return entry_of_message(
            entry_id=item.id,
            revision=one.revision,
            place=one.place,
            session_id=item.session_id,
            role=item.role,
            name=item.name,
            content=item.content,
            at=item.at,
        )
    return entry_of_memory(
        entry_id=item.id,
        revision=one.revision,
        kind=item.type,
        content=item.content,
        entity_refs=item.entity_refs,
        entity_label=item.entity_label,
        pinned=item.pinned,
        importance=item.importance,
        valid_from=item.valid_from,
        created_at=item.created_at,
        updated_at=item.updated_at,
        memory_key=item.memory_key,
        claim_of=item.claim_of,
        persona_id=item.persona_id,
        trust=item.trust,
    )


@dataclass(frozen=True, kw_only=True)
class IndexResult:
    """The ranking of one query in an index, before the texts are read."""

    shown: ShownClaims
    considered: int
    picked: Sequence[CardSelection]
    held: Mapping[str, RecallItem]
    """Rows of the result that are cached and current."""
    memory_ids: frozenset[str]
    """Memories that have to be read."""
    message_ids: frozenset[str]
    """Messages that have to be read."""
    ahead: Collection[str]
    """Further memories to read with them: all of the person's, if they are few and none was read yet."""
    row_cache: RowCache
    """The cache for the rows that are read."""

    @property
    def is_complete(self) -> bool:
        """Say whether all rows of the result are cached, so that nothing has to be read."""
        return not self.memory_ids and not self.message_ids


def search_index(index: PersonIndex, query: RecallQuery, now: datetime) -> IndexResult:
    """Return the ranking of a person's index for the query, and which rows have to be read."""
    fused = rank_index(index, query, now)
    shown = show_claims(fused.ranked, index.memories.claim_groups(), limit=query.limit, extra=query.extra_claims)
    about = {one.id: _find_entry(index, one.id) for one in shown.ranked}
    # Messages have neither a type nor entities.
    found = [entry for entry in about.values() if entry.type]
    keys = entity_keys_of(found, index.aliases.resolve)
    picked = select_cards(keys, lambda key: index.memories.card_entries_about(index.aliases.member_keys(key)))
    about |= {name: _find_entry(index, name) for pick in picked for name in pick.memory_ids}
    cache = index.row_cache
    held = {name: item for name, one in about.items() if (item := cache.get_row(name, one.revision)) is not None}
    return IndexResult(
        shown=shown,
        considered=fused.considered,
        picked=picked,
        held=held,
        memory_ids=frozenset(name for name, one in about.items() if one.type and name not in held),
        message_ids=frozenset(name for name, one in about.items() if not one.type and name not in held),
        # Reading a small person whole, once, makes the next searches need no statement for texts.
        ahead=() if cache.read_ahead or index.memories.size > MOST_READ_AHEAD else tuple(index.memories.row_of),
        row_cache=cache,
    )


async def load_results(tx: Tx, scope: Scope, results: Sequence[IndexResult]) -> list[RecallResult]:
    """Return the results of these rankings; their missing rows are read in one round trip."""
    memory_ids = frozenset[str]().union(*(one.memory_ids for one in results))
    message_ids = frozenset[str]().union(*(one.message_ids for one in results))
    # Rows that this transaction wrote may still be rolled back, so they are not cached.
    row_cache, keeps = results[0].row_cache, scope.user not in tx.revisions
    if memory_ids and keeps and results[0].ahead:
        memory_ids = memory_ids.union(results[0].ahead)
        row_cache.read_ahead = True
    items = await _load_items(tx, scope, sorted(memory_ids), sorted(message_ids))
    if keeps:
        for item in items.values():
            row_cache.keep_row(item)
    return [_make_result(one, {**one.held, **items}) for one in results]


async def _load_items(
    tx: Tx, scope: Scope, memory_ids: Sequence[str], message_ids: Sequence[str]
) -> dict[str, RecallItem]:
    """Return the memories and messages with these ids, by id."""
    # One statement needs no gather.
    if not message_ids:
        return {one.id: one for one in await memories.by_ids_with_provenance(tx, scope, memory_ids)}
    if not memory_ids:
        return {**await store.messages_by_ids(tx, scope, message_ids)}
    found, messages = await tx.gather(
        memories.by_ids_with_provenance(tx, scope, memory_ids), store.messages_by_ids(tx, scope, message_ids)
    )
    return {**{one.id: one for one in found}, **messages}


def complete_result(result: IndexResult) -> RecallResult:
    """Return the result of a ranking all of whose rows are cached."""
    return _make_result(result, result.held)


def _make_result(result: IndexResult, items: Mapping[str, RecallItem]) -> RecallResult:
    """Return the hits and entity cards of a ranking whose rows were read."""
    hits = tuple(hits_of(result.shown, items))
    contents = {name: one.line for name, one in items.items() if isinstance(one, StoredMemory)}
    cards = tuple(card for pick in result.picked if (card := pick.make_card(contents)) is not None)
    return RecallResult(hits=hits, cards=cards, considered=result.considered)


def hits_of(shown: ShownClaims, items: Mapping[str, RecallItem]) -> Iterator[RecallHit]:
    """Yield the shown items that were read as hits; a claim only if the memory it contradicts was read too."""
    for one in shown.ranked:
        contradicts = shown.contradicts.get(one.id)
        if one.id in items and (contradicts is None or contradicts in items):
            yield RecallHit(
                found=items[one.id],
                score=one.score,
                parts=one.parts,
                weights=one.weights,
                contradicts=contradicts,
                claims=shown.further.get(one.id, 0),
            )


def _find_entry(index: PersonIndex, name: str) -> IndexEntry:
    """Return the entry of a memory or message in the person's index."""
    return index.memories.entry_of(name) if name in index.memories.row_of else index.messages.entry_of(name)
