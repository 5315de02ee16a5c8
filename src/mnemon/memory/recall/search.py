"""A search from query to ranked hits and cards."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from mnemon.db.database import Database
from mnemon.db.tx import Tx
from mnemon.memory import store as memories
from mnemon.memory.cards import Card, entity_cards, keys_of
from mnemon.memory.claims import ShownClaims, claims_beside, show_claims
from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.entities.store import load_aliases
from mnemon.memory.memory import Memory
from mnemon.memory.ranking import CANDIDATES, Candidate, Ranked, Ranking, blended, by_similarity, nearest
from mnemon.memory.recall import fusion, pages, store
from mnemon.memory.recall.indexed import Sought, answered, hits_of, read, seek
from mnemon.memory.recall.query import Hit, Query, Recalled, RecallKind, Thing
from mnemon.memory.recall.shelf import Shelf
from mnemon.memory.recall.tally import Tally
from mnemon.memory.vectors.store import joined_by_hash
from mnemon.memory.words import coverage
from mnemon.scope import Scope


async def recall(db: Database, scope: Scope, query: Query) -> Recalled:
    """A search from a door. Where the index is warm and what it finds is known, it is a single round trip."""
    sought = await _at_a_glance(db, scope, query)
    if sought is not None and sought.complete:
        return answered(sought)
    async with db.tx(scope.org_id) as tx:
        return await search(tx, scope, query) if sought is None else (await read(tx, scope, [sought]))[0]


async def _at_a_glance(db: Database, scope: Scope, query: Query) -> Sought | None:
    """What the index says, if it holds the person's books as they stand; None when more than a look is needed."""
    shelf, tally = db.attached.get(Shelf), db.attached.get(Tally)
    if not _by_index(query):
        return None
    await shelf.load(db, scope, query.model)
    now = db.now()
    if not shelf.holds(scope, query.model) or tally.due(scope, now):
        return None
    rows = await db.glance(scope.org_id, pages.SQL["standing"], org_id=scope.org_id, user_id=scope.user)
    sought = await shelf.current(scope, query.model, pages.standing_of(rows), lambda books: seek(books, query, now))
    if sought is not None:
        tally.note(scope, now)
    return sought


def _by_index(query: Query) -> bool:
    return query.ranking is Ranking.HYBRID and query.as_of is None


async def search(tx: Tx, scope: Scope, query: Query) -> Recalled:
    """What answers the query for the scope's persona, best first, with the cards of the entities it speaks of."""
    return (await search_each(tx, scope, [query]))[0]


async def search_each(tx: Tx, scope: Scope, queries: Sequence[Query]) -> list[Recalled]:
    """Several searches of one person with one model's vectors, read together."""
    shelf = tx.attached.get(Shelf)
    await tx.attached.get(Tally).count(tx, scope, len(queries))
    if all(map(_by_index, queries)):
        model = queries[0].model
        sought = await shelf.read(tx, scope, model, lambda books: [seek(books, query, tx.now) for query in queries])
        if sought is not None:
            return await read(tx, scope, sought)
    return [await _searched_in_sql(tx, scope, query) for query in queries]


async def _searched_in_sql(tx: Tx, scope: Scope, query: Query) -> Recalled:
    """The same from the rows themselves: for a past time, another ranking, or more than an index holds."""
    aliases = await load_aliases(tx, scope)
    async with joined_by_hash(tx):
        candidates = await _candidates(tx, scope, query)
    weigh = partial(_fused, candidates, query, aliases, query.as_of or tx.now)
    effort = sum(some.effort for some in candidates)
    fused, shown, things = await tx.attached.get(Shelf).computed(weigh, rows=effort)
    return await _answer(tx, scope, query, fused, shown, things)


def _fused(
    candidates: Sequence[store.Candidates], query: Query, aliases: Aliases, now: datetime
) -> tuple[fusion.Fused, ShownClaims, dict[str, Thing]]:
    """The best of the candidates, the same with claims beside them, and all of them by id."""
    every = [(one, some.beside) for some in candidates for one in some.found()]
    things = {one.thing.id: one.thing for one, _ in every}
    beside = claims_beside(one for one in things.values() if isinstance(one, Memory))
    found = [one for one, follows in every if not follows and one.thing.id not in beside.followers]
    if query.ranking is Ranking.HYBRID:
        fused = fusion.from_rows(found, query, aliases, now)
    else:
        ranked = _ranked(query, found, aliases, now)
        fused = fusion.Fused(ranked=ranked[: query.limit], considered=len(ranked), aliases=aliases)
    return fused, show_claims(fused.ranked, beside, limit=query.limit, extra=query.extra_claims), things


async def _answer(
    tx: Tx, scope: Scope, query: Query, fused: fusion.Fused, shown: ShownClaims, things: dict[str, Thing]
) -> Recalled:
    hits = tuple(hits_of(shown, things))
    found = [hit.found for hit in hits if isinstance(hit.found, Memory)]
    cards = await _cards(tx, scope, query, found, things, fused.aliases)
    return Recalled(hits=await _told(tx, scope, hits), cards=tuple(cards), considered=fused.considered)


async def _candidates(tx: Tx, scope: Scope, query: Query) -> list[store.Candidates]:
    """What is to be ranked: everything, where words or a past time decide; else the nearest."""
    found: list[store.Candidates] = []
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
    waiting = any(one.cosine is None for one in found)
    words = coverage(query.text, [one.thing.content for one in found]) if waiting else [0.0] * len(found)
    candidates = [one for one in _weighed(found, words, aliases) if one.similarity is not None or one.lexical > 0]
    if query.ranking is Ranking.BLENDED:
        return blended(nearest(candidates), now=now)
    return by_similarity(candidates)


def _weighed(found: Sequence[store.Found], words: Sequence[float], aliases: Aliases) -> list[Candidate]:
    return [
        Candidate(
            id=one.thing.id,
            similarity=one.cosine,
            lexical=lexical,
            updated_at=one.thing.updated_at if isinstance(one.thing, Memory) else one.thing.at,
            entity_keys=tuple(map(aliases.resolve, one.thing.entity_refs)) if isinstance(one.thing, Memory) else (),
        )
        for one, lexical in zip(found, words, strict=True)
    ]


async def _cards(
    tx: Tx,
    scope: Scope,
    query: Query,
    shown: Sequence[Memory],
    things: dict[str, Thing],
    aliases: Aliases,
) -> list[Card]:
    """Cards of what the shown memories speak of; for a past time from what was held then."""
    keys = keys_of(shown, aliases.resolve)
    if query.as_of is None:
        stored = {member for key in keys for member in aliases.members(key)}
        return entity_cards(keys, await memories.sharing_entities(tx, scope, stored), aliases.resolve)
    held = [one for one in things.values() if isinstance(one, Memory)]
    made = partial(entity_cards, keys, held, aliases.resolve)
    return await tx.attached.get(Shelf).computed(made, rows=len(held))


async def _told(tx: Tx, scope: Scope, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits, each memory with where it was said."""
    plain = [hit.found for hit in hits if isinstance(hit.found, Memory)]
    if not plain:
        return tuple(hits)
    full = {one.id: one for one in await memories.with_provenance(tx, scope, plain)}
    return tuple(replace(hit, found=full.get(hit.found.id, hit.found)) for hit in hits)
