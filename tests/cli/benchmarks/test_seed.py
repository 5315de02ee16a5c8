"""People who were copied in are recalled like people who were remembered one fact at a time."""

from dataclasses import replace

from mnemon.cli.benchmarks import seed
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.memory.fact import Entity, EntityType, Fact, MemoryType
from mnemon.memory.recall.query import Query
from mnemon.memory.recall.search import search
from mnemon.memory.recall.shelf import Shelf
from mnemon.memory.remember import remember
from mnemon.scope import Scope, person
from mnemon.sessions.people import ensure_person
from mnemon.vectors.embed import embed_query, embed_texts
from support.reflecting import basement_of

COUNT = 30


async def test_copied_people_are_recalled_as_remembered_ones_are(db: Database, org: str, clock: ManualClock) -> None:
    shelf = db.attached.get(Shelf)
    basement = basement_of(db, clock)
    await seed.fill(basement, org, "copied", COUNT, seed=7)
    await seed.fill_others(basement, org, ["twin", "other twin"], like="copied")
    texts = seed.sentences(COUNT, seed=7)
    vectors = await embed_texts(basement.embedder, texts)
    async with db.tx(org) as tx:
        scope = await ensure_person(tx, org, "told")
        facts = [
            Fact(type=MemoryType.PEOPLE, content=text, entity=Entity(type=EntityType.PERSON, label=text.split()[0]))
            for text in texts
        ]
        await remember(
            tx, scope, [replace(fact, attribute=str(place)) for place, fact in enumerate(facts)], vectors=vectors
        )

    query = Query(text=texts[4], vector=await embed_query(basement.embedder, texts[4]), model=basement.embedder.model)
    told = await _found(db, person(org, "told"), query)
    for name in ("copied", "twin", "other twin"):
        by_book = await _found(db, person(org, name), query)
        room, shelf.megabytes = shelf.megabytes, 0
        by_rows = await _found(db, person(org, name), query)
        shelf.megabytes = room
        assert by_book == by_rows
        assert {one for one, _ in by_book} == {one for one, _ in told}
        assert by_book[0] == told[0] == (texts[4], by_book[0][1])


async def test_a_fact_remembered_after_the_copy_is_found(db: Database, org: str, clock: ManualClock) -> None:
    basement = basement_of(db, clock)
    await seed.fill(basement, org, "copied", COUNT, seed=7)
    scope = person(org, "copied")
    query = Query(text="zebra", vector=None, model=basement.embedder.model, limit=1)
    await _found(db, scope, query)
    async with db.tx(org) as tx:
        await remember(tx, scope, [Fact(type=MemoryType.PROFILE, content="keeps a zebra")])
    assert [text for text, _ in await _found(db, scope, query)] == ["keeps a zebra"]


async def _found(db: Database, scope: Scope, query: Query) -> list[tuple[str, float]]:
    async with db.tx(scope.org_id) as tx:
        hits = (await search(tx, scope, query)).hits
    return [(hit.found.content, round(hit.parts["lexical"], 3)) for hit in hits]
