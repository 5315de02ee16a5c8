"""Importance and confidence are computed from what was said."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from mnemon.memory.fact import EntityType, Fact, FactEntity, FactType, MemoryType, QuoteLocation
from mnemon.memory.importance import confidence_of, importance_of

JOHN = FactEntity(type=EntityType.PERSON, label="John")


def saying(words: str) -> QuoteLocation:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return QuoteLocation(turn_id="trn", session_id="ses", message_id="msg", start=0, end=len(words), quote=words, at=at)


def fact(content: str, kind: MemoryType = MemoryType.PROFILE, **more: object) -> Fact:
    return Fact(type=kind, content=content, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "said", "expected"),
    [
        (fact("Is called Anna"), "Hi, my name is Anna", 3),
        (fact("Works as a nurse"), "I work as a nurse", 3),
        (fact("Is a nurse", attribute="Job title"), "I'm a nurse", 3),
        (fact("Cofounder", MemoryType.PEOPLE, entity=JOHN, fact_type=FactType.RELATIONSHIP), "John, my cofounder", 2),
        (fact("Lives in Austin, Texas"), "I live in Austin, Texas", 2),
        (fact("Prefers dark mode", fact_type=FactType.PREFERENCE), "I prefer dark mode", 1),
        (fact("Is a morning person"), "I'm a morning person", 1),
        (fact("Had soup"), "I had soup for lunch today", 0),
        (fact("John's name is long", MemoryType.PEOPLE, entity=JOHN), "his name is short for Jonathan", 1),
    ],
)  # fmt: skip
def test_importance_follows_from_the_words(made: Fact, said: str, expected: int) -> None:
    assert importance_of(replace(made, ground=saying(said))) == expected


@pytest.mark.parametrize(
    "stated",
    [
        fact("I am allergic to nuts", attribute="allergy"),
        fact("Nuts", attribute="Food allergies"),
        fact("No pork", attribute="diet"),
        fact("Insulin, twice a day", attribute="medication"),
        fact("Rome", attribute="lives in"),
        fact("12 Elm Street", attribute="home address"),
        fact("1 March", MemoryType.PROJECT, attribute="Deadline of the beta"),
        fact("Jane Roe", MemoryType.PROJECT, attribute="CEO of Acme"),
        fact("I am allergic to nuts"),
        fact("Lives in Rome"),
        fact("The beta launches in March", MemoryType.PROJECT),
        fact("Takes medication at night", fact_type=FactType.HABIT),
    ],
)  # fmt: skip
def test_a_key_fact_is_significant_by_attribute_or_words_stated_or_quoted(stated: Fact) -> None:
    assert importance_of(stated) == 2
    assert importance_of(replace(stated, ground=saying("so it is, today"))) == 2


def test_a_word_within_a_word_makes_no_key_fact() -> None:
    assert importance_of(fact("Homemade jam", attribute="homemade food")) == 1
    assert importance_of(fact("Olives in a jar", attribute="snack")) == 1


def test_a_stated_remark_is_standard_even_if_it_sounds_passing() -> None:
    assert importance_of(fact("Had soup for lunch today")) == 1


def test_what_an_application_states_is_standard_unless_its_fields_say_more() -> None:
    assert importance_of(fact("My name is Anna")) == 1
    assert importance_of(fact("Anna", attribute="name")) == 3
    assert importance_of(fact("Cofounder", MemoryType.PEOPLE, entity=JOHN, fact_type=FactType.RELATIONSHIP)) == 2
    assert importance_of(fact("Anything", importance=0)) == 0


def test_pinned_forces_three() -> None:
    assert importance_of(fact("Anything", pinned=True, importance=0)) == 3


@pytest.mark.parametrize(
    ("words", "source", "expected"),
    [
        ("I like tea", "shadow_extraction", 0.9),
        ("maybe I like tea", "shadow_extraction", 0.6),
        ("likes tea", "tool", 0.6),
        ("possibly likes tea", "tool", 0.4),
        (None, "api", 1.0),
        (None, "document", 0.7),
    ],
)
def test_hedged_words_and_tools_count_for_less(words: str | None, source: str, expected: float) -> None:
    made = fact("Likes tea", source=source, ground=saying(words) if words else None)
    assert confidence_of(made) == expected


def test_a_stated_confidence_stands() -> None:
    assert confidence_of(fact("Likes tea", confidence=0.25, ground=saying("I like tea"))) == 0.25


def test_the_name_of_a_person_is_identity_and_that_of_anything_else_is_not() -> None:
    acme = FactEntity(type=EntityType.ORG, label="Acme")
    assert importance_of(fact("Called John Doe", attribute="name", entity=JOHN)) == 3
    assert importance_of(fact("Called Acme Inc", attribute="name", entity=acme)) < 3
    assert importance_of(fact("Called John Doe", MemoryType.PEOPLE, attribute="name", entity=JOHN)) < 3
