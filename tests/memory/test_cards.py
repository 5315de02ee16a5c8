"""Entity cards: the seed's expansion."""

from datetime import UTC, datetime, timedelta

from mnemon.memory.cards import entity_cards, keys_of
from mnemon.memory.fact import EntityType, FactType, MemoryType, Trust
from mnemon.memory.lifecycle import Status
from mnemon.memory.memory import Memory

START = datetime(2026, 1, 1, tzinfo=UTC)


def memory(content: str, *refs: str, importance: int = 2, pinned: bool = False, day: int = 0) -> Memory:
    at = START + timedelta(days=day)
    return Memory(
        id=f"mem_{content}", persona_id=None, type=MemoryType.PEOPLE, content=content, entity_refs=refs,
        entity_label="John", entity_type=EntityType.PERSON, fact_type=FactType.FACT, attribute=None,
        importance=3 if pinned else importance, pinned=pinned, memory_key=content, source="api", trust=Trust.PERSON,
        status=Status.ACTIVE, archive_reason=None, archived_at=None, note=None, confidence=1.0, mentions=1,
        valid_from=at, valid_to=None, stated_at=at, version=1, versions=1, sources=(), created_at=at, updated_at=at,
        revision=1,
    )  # fmt: skip


def same(key: str) -> str:
    return key


def test_a_card_reads_as_the_seed_writes_it() -> None:
    known = [
        memory("fact2", "person:john", day=2),
        memory("fact3", "person:john", day=1),
        memory("fact1", "person:john", day=3),
    ]
    card = entity_cards(["person:john"], known, same)[0]
    assert card.text == "[person:john]: fact1; fact2; fact3"
    assert card.label == "John"


def test_pinned_then_importance_then_newest_and_three_at_most() -> None:
    known = [
        memory("old critical", "person:john", importance=3, day=0),
        memory("new critical", "person:john", importance=3, day=9),
        memory("significant", "person:john", importance=2, day=10),
        memory("pinned", "person:john", pinned=True, day=1),
    ]
    assert entity_cards(["person:john"], known, same)[0].facts == ("pinned", "new critical", "old critical")


def test_what_is_not_important_stays_off_unless_pinned() -> None:
    known = [
        memory("standard", "person:john", importance=1),
        memory("pinned", "person:john", importance=0, pinned=True),
    ]
    assert entity_cards(["person:john"], known, same)[0].facts == ("pinned",)
    assert entity_cards(["person:john"], known[:1], same) == []


def test_cards_come_in_the_order_their_entities_were_found() -> None:
    found = [memory("x", "org:acme", "person:john"), memory("y", "person:john"), memory("z", "place:austin")]
    keys = keys_of(found, same)
    assert keys == ["org:acme", "person:john", "place:austin"]
    assert [card.key for card in entity_cards(keys, found, same)] == keys


def test_aliases_make_one_card() -> None:
    aliases = {"person:makesh": "person:mukesh"}

    def resolve(key: str) -> str:
        return aliases.get(key, key)

    found = [memory("cooks", "person:makesh"), memory("sings", "person:mukesh", day=1)]
    cards = entity_cards(keys_of(found, resolve), found, resolve)
    assert [card.text for card in cards] == ["[person:mukesh]: sings; cooks"]
