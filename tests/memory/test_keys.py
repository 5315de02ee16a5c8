"""Keys: when two facts are the same fact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.memory.fact import EntityType, Fact, FactEntity, FactType, MemoryType
from mnemon.memory.keys import (
    content_hash,
    entity_key,
    key_of_fact,
    make_slug,
    memory_key,
    original_key,
    split_key,
    withdrawn_key,
)

labels = st.text(min_size=1, max_size=30).filter(lambda text: bool(make_slug(text)))
entities = st.builds(lambda kind, label: FactEntity(type=kind, label=label), st.sampled_from(EntityType), labels)
contents = st.text(min_size=1, max_size=80)


@pytest.mark.parametrize(
    ("kind", "label", "expected"),
    [
        (EntityType.PERSON, "John Doe", "person:john_doe"),
        (EntityType.ORG, "Acme Corp", "org:acme_corp"),
        (EntityType.PLACE, "Austin, Texas", "place:austin_texas"),
        (EntityType.PROJECT, "Dashboard redesign", "project:dashboard_redesign"),
    ],
)
def test_entity_keys_are_the_seeds(kind: EntityType, label: str, expected: str) -> None:
    assert entity_key(FactEntity(type=kind, label=label)) == expected


def test_the_seeds_memory_key() -> None:
    fact = Fact(
        type=MemoryType.PEOPLE,
        content="John is my cofounder",
        entity=FactEntity(type=EntityType.PERSON, label="John Doe"),
        fact_type=FactType.RELATIONSHIP,
    )
    assert key_of_fact(fact) == "people|person|john_doe|relationship"


def test_an_attribute_is_appended() -> None:
    key = memory_key(type=MemoryType.PROFILE, fact_type=FactType.FACT, content="Lives in Austin", attribute="Lives in")
    assert key == "profile|person|self|fact|lives_in"


def test_without_entity_and_attribute_the_contents_hash_is_the_attribute() -> None:
    key = memory_key(type=MemoryType.PROFILE, fact_type=FactType.PREFERENCE, content="Prefers dark mode")
    assert key == f"profile|person|self|preference|{content_hash('Prefers dark mode')}"


def test_likes_with_attributes_stand_side_by_side_while_lives_in_has_one_value() -> None:
    john = FactEntity(type=EntityType.PERSON, label="John")

    def key(content: str, attribute: str) -> str:
        fact_type = FactType.PREFERENCE
        return memory_key(
            type=MemoryType.PEOPLE, fact_type=fact_type, content=content, entity=john, attribute=attribute
        )

    assert key("John likes tea", "drink") != key("John likes jazz", "music")
    assert key("John lives in Austin", "lives in") == key("John lives in Denver", "lives in")


@given(entities)
def test_an_entity_key_splits_into_type_and_slug(entity: FactEntity) -> None:
    assert split_key(entity_key(entity)) == (entity.type, make_slug(entity.label))


@given(st.sampled_from(MemoryType), st.sampled_from(FactType), contents, st.none() | entities, st.none() | labels)
def test_a_key_has_its_parts_and_never_more(
    kind: MemoryType, fact_type: FactType, content: str, entity: FactEntity | None, attribute: str | None
) -> None:
    key = memory_key(type=kind, fact_type=fact_type, content=content, entity=entity, attribute=attribute)
    parts = key.split("|")
    assert parts[0] == kind.lower()
    assert parts[1] == (entity.type if entity else "person")
    assert parts[2] == (make_slug(entity.label) if entity else "self")
    assert parts[3] == fact_type
    plain = entity is not None and fact_type is FactType.RELATIONSHIP
    assert parts[4:] == ([make_slug(attribute)] if attribute else [] if plain else [content_hash(content)])


@given(contents, contents)
def test_different_contents_without_entity_and_attribute_never_share_a_key(one: str, other: str) -> None:
    def key(content: str) -> str:
        return memory_key(type=MemoryType.PROFILE, fact_type=FactType.FACT, content=content)

    if key(one) == key(other):
        assert content_hash(one) == content_hash(other)
        assert one.casefold().split() == other.casefold().split() or not one.isascii() or one.strip(" .!?;,\t\n") != one


def test_case_spacing_and_a_full_stop_do_not_make_another_fact() -> None:
    assert content_hash("Is a  morning person.") == content_hash("is a morning person")
    assert content_hash("Is a morning person") != content_hash("Is an evening person")


def test_a_content_hash_is_sixteen_hex_digits_and_stays_what_it_was() -> None:
    # Keys with it are stored: another hash would be another key for the same fact.
    assert content_hash("Prefers dark mode") == "4d99fcd0d2dc3562"


def test_a_withdrawn_memory_remembers_the_key_it_had() -> None:
    assert original_key(withdrawn_key("profile|person|self|fact|name", "mem_1")) == "profile|person|self|fact|name"
    assert original_key("profile|person|self|fact|name") == "profile|person|self|fact|name"
