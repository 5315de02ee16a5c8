"""People who were copied in are recalled like people who were remembered one fact at a time."""

from dataclasses import replace

from bench.recall import seed
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.memory.fact import EntityType, Fact, FactEntity, MemoryType
from mnemon.memory.recall.index_cache import IndexCache
from mnemon.memory.recall.query import RecallQuery
from mnemon.memory.recall.search import search
from mnemon.memory.remember import remember_facts
from mnemon.scope import Scope, person_scope
from mnemon.sessions.people import ensure_person
from mnemon.vectors.text_vectors import embed_query, embed_texts
from support.reflecting import basement_of

COUNT = 30


async def test_copied_people_are_recalled_as_remembered_ones_are(db: Database, org: str, clock: ManualClock) -> None:
    shelf = db.attached.get_or_create(IndexCache)
    services = basement_of(db, clock)
    await seed.fill_person(services, org, "copied", COUNT, seed=7)
    await seed.copy_to_others(services, org, ["twin", "other twin"], like="copied")
    texts = seed.random_sentences(COUNT, seed=7)
    vectors = await embed_texts(services.embedder, texts)
    async with db.tx(org) as tx:
        scope = await ensure_person(tx, org, "told")
        facts = [
            Fact(type=MemoryType.PEOPLE, content=text, entity=FactEntity(type=EntityType.PERSON, label=text.split()[0]))
            for text in texts
        ]
        await remember_facts(
            tx, scope, [replace(fact, attribute=str(place)) for place, fact in enumerate(facts)], vectors=vectors
        )

    query = RecallQuery(
        text=texts[4], vector=await embed_query(services.embedder, texts[4]), model=services.embedder.model
    )
    told = await _found(db, person_scope(org, "told"), query)
    for name in ("copied", "twin", "other twin"):
        by_book = await _found(db, person_scope(org, name), query)
        room, shelf.megabytes = shelf.megabytes, 0
        by_rows = await _found(db, person_scope(org, name), query)
        shelf.megabytes = room
        assert by_book == by_rows
        assert {one for one, _ in by_book} == {one for one, _ in told}
        assert by_book[0] == told[0] == (texts[4], by_book[0][1])


async def test_a_fact_remembered_after_the_copy_is_found(db: Database, org: str, clock: ManualClock) -> None:
    services = basement_of(db, clock)
    await seed.fill_person(services, org, "copied", COUNT, seed=7)
    scope = person_scope(org, "copied")
    query = RecallQuery(text="zebra", vector=None, model=services.embedder.model, limit=1)
    await _found(db, scope, query)
    async with db.tx(org) as tx:
        await remember_facts(tx, scope, [Fact(type=MemoryType.PROFILE, content="keeps a zebra")])
    assert [text for text, _ in await _found(db, scope, query)] == ["keeps a zebra"]


async def _found(db: Database, scope: Scope, query: RecallQuery) -> list[tuple[str, float]]:
    async with db.tx(scope.org_id) as tx:
        hits = (await search(tx, scope, query)).hits
    return [(hit.found.content, round(hit.parts["lexical"], 3)) for hit in hits]
