"""A search from query to ranked hits and cards."""

from collections.abc import Callable, Sequence
from datetime import datetime

from mnemon.db.tx import Tx
from mnemon.memory import store as memories
from mnemon.memory.cards import Card, entity_cards, keys_of
from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.entities.store import load_aliases
from mnemon.memory.hybrid import hybrid
from mnemon.memory.keys import split_key
from mnemon.memory.memory import Memory
from mnemon.memory.ranking import CANDIDATES, Candidate, Ranked, Ranking, blended, by_similarity, nearest
from mnemon.memory.recall import store
from mnemon.memory.recall.query import Hit, Query, Recalled, RecallKind
from mnemon.memory.recall.tally import TALLY
from mnemon.memory.slug import slug
from mnemon.memory.vectors.store import joined_by_hash
from mnemon.memory.words import bm25, coverage
from mnemon.scope import Scope


async def search(tx: Tx, scope: Scope, query: Query) -> Recalled:
    """What answers the query for the scope's persona, best first, with the cards of the entities it speaks of."""
    await TALLY.count(tx, scope)
    aliases = await load_aliases(tx, scope)
    async with joined_by_hash(tx):
        found = await _candidates(tx, scope, query)
    ranked = _ranked(query, found, aliases, query.as_of or tx.now)
    by_id = {one.id: one for one, _ in found}
    hits = tuple(
        Hit(found=by_id[one.id], score=one.score, parts=one.parts, weights=one.weights) for one in ranked[: query.limit]
    )
    shown = [hit.found for hit in hits if isinstance(hit.found, Memory)]
    cards = await _cards(tx, scope, query, shown, found, aliases)
    return Recalled(hits=await _told(tx, scope, hits), cards=tuple(cards), considered=len(ranked))


async def _candidates(tx: Tx, scope: Scope, query: Query) -> list[store.Found]:
    """What is to be ranked: everything, where words or a past time decide; else the nearest."""
    found: list[store.Found] = []
    whole = query.ranking is Ranking.HYBRID or query.vector is None or query.as_of is not None
    most = max(CANDIDATES, query.limit)
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


def _ranked(query: Query, found: Sequence[store.Found], aliases: Aliases, now: datetime) -> list[Ranked]:
    texts = store.contents(found)
    if query.ranking is Ranking.HYBRID:
        ranked = hybrid(_weighed(found, bm25(query.text, texts), aliases), now=now, named=_names(query.text, aliases))
    else:
        waiting = any(cosine is None for _, cosine in found)
        words = coverage(query.text, texts) if waiting else [0.0] * len(found)
        candidates = [one for one in _weighed(found, words, aliases) if one.similarity is not None or one.lexical > 0]
        if query.ranking is Ranking.BLENDED:
            ranked = blended(nearest(candidates), now=now)
        else:
            ranked = by_similarity(candidates)
    return ranked


def _weighed(found: Sequence[store.Found], words: Sequence[float], aliases: Aliases) -> list[Candidate]:
    return [
        Candidate(
            id=one.id,
            similarity=cosine,
            lexical=lexical,
            updated_at=one.updated_at if isinstance(one, Memory) else one.at,
            entity_keys=tuple(map(aliases.resolve, one.entity_refs)) if isinstance(one, Memory) else (),
        )
        for (one, cosine), lexical in zip(found, words, strict=True)
    ]


def _names(text: str, aliases: Aliases) -> Callable[[str], bool]:
    """Whether a text names the entity with a key, under any of its names."""
    without_possessive = text.replace("'s", "").replace("’s", "")
    spoken = f"_{slug(without_possessive)}_"

    def named(key: str) -> bool:
        return any(f"_{split_key(member)[1]}_" in spoken for member in aliases.members(key))

    return named


async def _cards(
    tx: Tx,
    scope: Scope,
    query: Query,
    shown: Sequence[Memory],
    found: Sequence[store.Found],
    aliases: Aliases,
) -> list[Card]:
    """Cards of what the shown memories speak of; for a past time from what was held then."""
    keys = keys_of(shown, aliases.resolve)
    if query.as_of is None:
        stored = {member for key in keys for member in aliases.members(key)}
        known = await memories.sharing_entities(tx, scope, stored)
    else:
        known = [one for one, _ in found if isinstance(one, Memory)]
    return entity_cards(keys, known, aliases.resolve)


async def _told(tx: Tx, scope: Scope, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits, each memory with where it was said."""
    plain = [hit.found for hit in hits if isinstance(hit.found, Memory)]
    if not plain:
        return tuple(hits)
    full = {one.id: one for one in await memories.with_provenance(tx, scope, plain)}
    return tuple(
        Hit(found=full.get(hit.found.id, hit.found), score=hit.score, parts=hit.parts, weights=hit.weights)
        for hit in hits
    )
