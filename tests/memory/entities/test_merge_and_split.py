"""Merges over real rows: only an alias is written, a split leaves nothing behind, clear cases merge by themselves."""

import json

import pytest

from mnemon.db.database import Database
from mnemon.errors import Conflict, Invalid, NotFound
from mnemon.memory.entities import store
from mnemon.memory.entities.merge import merge_clear_cases, merge_entities, open_proposals, split_entities
from mnemon.memory.entities.overview import co_mentions, entity_overviews
from mnemon.memory.fact import EntityType, Fact, FactEntity, FactType, MemoryType
from mnemon.memory.remember import remember_facts
from mnemon.scope import Scope, person_scope
from mnemon.sessions.people import ensure_person


def about(label: str, content: str, *, attribute: str | None = None, private: bool = False) -> Fact:
    return Fact(
        type=MemoryType.PEOPLE,
        content=content,
        entity=FactEntity(type=EntityType.PERSON, label=label),
        fact_type=FactType.RELATIONSHIP,
        attribute=attribute,
        private=private,
    )


@pytest.fixture
async def ann(db: Database, org: str) -> Scope:
    async with db.tx(org) as tx:
        scope = await ensure_person(tx, org, "ann")
        facts = [
            about("Jon Smith", "Jon Smith is a designer at Acme"),
            about("John Smith", "John Smith draws the logo of Acme as a designer"),
            about("Joan Smith", "Joan Smith is a designer at Acme"),
        ]
        await remember_facts(tx, scope, facts)
    return scope


async def rows(db: Database, scope: Scope) -> str:
    """Everything stored about entities, but for the log."""
    async with db.tx(scope.org_id) as tx:
        memories = await tx.fetch_all("select * from memories where org_id = 'acme' order by id")
        aliases = await tx.fetch_all("select * from entity_aliases where org_id = 'acme' order by alias")
    return json.dumps([memories, aliases], default=str)


async def shown(db: Database, scope: Scope) -> str:
    async with db.tx(scope.org_id) as tx:
        spoken, aliases = await store.list_mentions(tx, scope), await store.load_aliases(tx, scope)
    listed = entity_overviews(spoken, aliases)
    return json.dumps([[vars(one) for one in listed], [one.card.text for one in listed]], default=str)


async def test_a_merge_followed_by_its_split_leaves_every_row_and_card_as_it_was(db: Database, ann: Scope) -> None:
    before = await rows(db, ann), await shown(db, ann)
    async with db.tx(ann.org_id) as tx:
        merged = await merge_entities(tx, ann, "person:jon_smith", "person:joan_smith")
    assert merged.key == "person:joan_smith"
    assert await shown(db, ann) != before[1]
    async with db.tx(ann.org_id) as tx:
        await split_entities(tx, ann, "person:joan_smith", "person:jon_smith")
    assert (await rows(db, ann), await shown(db, ann)) == before


async def test_a_merge_changes_no_memory(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        held = await tx.fetch_all("select * from memories where org_id = 'acme' order by id")
        await merge_entities(tx, ann, "person:jon_smith", "person:john_smith")
        assert await tx.fetch_all("select * from memories where org_id = 'acme' order by id") == held


async def test_the_merged_entity_has_the_facts_of_both(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        await merge_entities(tx, ann, "person:jon_smith", "person:john_smith")
        listed = entity_overviews(await store.list_mentions(tx, ann), await store.load_aliases(tx, ann))
    by_key = {one.key: one for one in listed}
    assert set(by_key) == {"person:john_smith", "person:joan_smith", "org:acme"}
    assert len(by_key["person:john_smith"].card.facts) == 2
    assert by_key["person:john_smith"].aliases == ("person:jon_smith",)


async def test_clear_cases_merge_by_themselves_and_others_do_not(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        spoken = await store.list_mentions(tx, ann)
        made = await merge_clear_cases(tx, ann, open_proposals(spoken, await store.load_aliases(tx, ann), frozenset()))
        aliases = await store.load_aliases(tx, ann)
        log = await store.list_merges(tx, ann, most=10)
    assert made == 1
    assert aliases.resolve("person:jon_smith") == aliases.resolve("person:john_smith")
    assert aliases.resolve("person:joan_smith") == "person:joan_smith"
    assert [(one.made_by, one.split_at) for one in log] == [("rule", None)]


async def test_what_a_person_split_the_rule_leaves_apart(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        await merge_entities(tx, ann, "person:jon_smith", "person:john_smith")
        await split_entities(tx, ann, "person:john_smith", "person:jon_smith")
        spoken, aliases = await store.list_mentions(tx, ann), await store.load_aliases(tx, ann)
        proposals = open_proposals(spoken, aliases, await store.pairs_kept_apart(tx, ann))
    assert [p for p in proposals if {p.source, p.into} == {"person:jon_smith", "person:john_smith"}] == []


async def test_a_person_may_turn_a_merge_of_the_rule_round(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        spoken, aliases = await store.list_mentions(tx, ann), await store.load_aliases(tx, ann)
        await merge_clear_cases(tx, ann, open_proposals(spoken, aliases, frozenset()))
        root = (await store.load_aliases(tx, ann)).resolve("person:jon_smith")
        other = next(iter({"person:jon_smith", "person:john_smith"} - {root}))
        merged = await merge_entities(tx, ann, root, other)
    assert (merged.key, merged.aliases) == (other, (root,))


async def test_what_was_told_to_one_persona_is_not_seen_without_it(db: Database, ann: Scope) -> None:
    coach = ann.with_persona("coach")
    async with db.tx(ann.org_id) as tx:
        await remember_facts(tx, coach, [about("Zed Quill", "Zed Quill is my secret mentor", private=True)])
        without = {
            one.key for one in entity_overviews(await store.list_mentions(tx, ann), await store.load_aliases(tx, ann))
        }
        with_it = {
            one.key for one in entity_overviews(await store.list_mentions(tx, coach), await store.load_aliases(tx, ann))
        }
    assert with_it - without == {"person:zed_quill"}


async def test_entities_that_one_memory_names_are_tied(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        await remember_facts(tx, ann, [about("Mo", "Mo carpools with Joan Smith", attribute="carpool")])
        tied = co_mentions(await store.list_mentions(tx, ann), await store.load_aliases(tx, ann))
    # Two of the three Smiths are designers at Acme, and the third draws its logo.
    assert {(t.one, t.two, t.weight) for t in tied} == {
        ("person:joan_smith", "person:mo", 1),
        *(("org:acme", f"person:{name}_smith", 1) for name in ("joan", "john", "jon")),
    }


async def test_what_cannot_be_merged_says_why(db: Database, ann: Scope) -> None:
    async with db.tx(ann.org_id) as tx:
        with pytest.raises(NotFound):
            await merge_entities(tx, ann, "person:nobody", "person:jon_smith")
        with pytest.raises(Invalid):
            await merge_entities(tx, ann, "person:jon_smith", "person:jon_smith")
        with pytest.raises(Conflict):
            await split_entities(tx, ann, "person:john_smith", "person:jon_smith")
        with pytest.raises(NotFound):
            await merge_entities(tx, person_scope("acme", "stranger"), "person:jon_smith", "person:john_smith")
