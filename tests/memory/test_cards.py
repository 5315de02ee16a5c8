"""Entity cards: the seed's expansion."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from mnemon.memory.cards import Card, CardSelection, entity_cards, entity_keys_of
from mnemon.memory.fact import EntityType, FactType, MemoryType
from mnemon.memory.lifecycle import ArchiveStatus
from mnemon.memory.memory import StoredMemory
from mnemon.memory.trust import Trust

START = datetime(2026, 1, 1, tzinfo=UTC)


def memory(content: str, *refs: str, importance: int = 2, pinned: bool = False, day: int = 0) -> StoredMemory:
    at = START + timedelta(days=day)
    return StoredMemory(
        id=f"mem_{content}", persona_id=None, type=MemoryType.PEOPLE, content=content, entity_refs=refs,
        entity_label="John", entity_type=EntityType.PERSON, fact_type=FactType.FACT, attribute=None,
        importance=3 if pinned else importance, pinned=pinned, memory_key=content, source="api", origin="api",
        trust=Trust.PERSON, claim_of=None,
        status=ArchiveStatus.ACTIVE, archive_reason=None, archived_at=None, note=None, confidence=1.0, mentions=1,
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
    keys = entity_keys_of(found, same)
    assert keys == ["org:acme", "person:john", "place:austin"]
    assert [card.key for card in entity_cards(keys, found, same)] == keys


def test_aliases_make_one_card() -> None:
    aliases = {"person:makesh": "person:mukesh"}

    def resolve(key: str) -> str:
        return aliases.get(key, key)

    found = [memory("cooks", "person:makesh"), memory("sings", "person:mukesh", day=1)]
    cards = entity_cards(entity_keys_of(found, resolve), found, resolve)
    assert [card.text for card in cards] == ["[person:mukesh]: sings; cooks"]


def test_a_card_holds_nothing_about_others() -> None:
    known = [memory("sings", "person:john"), memory("cooks", "person:mary"), memory("both", "org:acme", "person:john")]
    assert entity_cards(["person:john"], known, same)[0].memory_ids == ("mem_both", "mem_sings")
    assert entity_cards(["place:austin"], known, same) == []


def labelled(*known: tuple[str | None, tuple[str, ...]]) -> str:
    """The label of John's card, made of memories with these labels about these entities."""
    memories = [
        replace(memory(f"fact {place}", *refs), entity_label=label) for place, (label, refs) in enumerate(known)
    ]
    return entity_cards(["person:john_doe"], memories, lambda key: ALIASES.get(key, key))[0].label


ALIASES = {"person:johnny": "person:john_doe"}


def test_a_card_is_labelled_as_a_memory_whose_first_entity_it_is_writes_it() -> None:
    named = ("John Doe", ("person:john_doe", "org:acme"))
    assert labelled(("Acme", ("org:acme", "person:john_doe")), ("Johnny", ("person:johnny",)), named) == "John Doe"


def test_without_such_a_memory_an_alias_that_stands_alone_gives_the_label() -> None:
    assert labelled(("Acme", ("org:acme", "person:john_doe")), ("Johnny", ("person:johnny",))) == "Johnny"


def test_without_any_label_the_key_is_put_in_words() -> None:
    assert labelled(("Acme", ("org:acme", "person:john_doe"))) == "john doe"
    assert labelled((None, ("person:john_doe",)), (None, ("person:johnny",))) == "john doe"


def test_what_is_no_longer_there_leaves_the_card() -> None:
    pick = CardSelection(key="person:john", label="John", memory_ids=("mem_1", "mem_2"))
    assert pick.make_card({"mem_2": "sings"}) == Card(
        key="person:john", label="John", facts=("sings",), memory_ids=("mem_2",)
    )
    assert pick.make_card({"mem_3": "cooks"}) is None
