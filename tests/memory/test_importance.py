"""Importance and confidence are computed from what was said."""

import pytest

from mnemon.memory.fact import Entity, EntityType, Fact, FactType, MemoryType, Trust, trust_of
from mnemon.memory.importance import confidence_of, importance_of

JOHN = Entity(type=EntityType.PERSON, label="John")


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
    assert importance_of(made, said=said) == expected


def test_what_an_application_states_is_standard_unless_its_fields_say_more() -> None:
    assert importance_of(fact("My name is Anna")) == 1
    assert importance_of(fact("Anna", attribute="name")) == 3
    assert importance_of(fact("Cofounder", MemoryType.PEOPLE, entity=JOHN, fact_type=FactType.RELATIONSHIP)) == 2
    assert importance_of(fact("Anything", importance=0)) == 0


def test_pinned_forces_three() -> None:
    assert importance_of(fact("Anything", pinned=True, importance=0)) == 3


def test_hedged_words_and_tools_count_for_less() -> None:
    made = fact("Likes tea")
    assert confidence_of(made, trust=Trust.PERSON, said="I like tea") == 0.9
    assert confidence_of(made, trust=Trust.PERSON, said="maybe I like tea") == 0.6
    assert confidence_of(made, trust=Trust.EXTERNAL, said="likes tea") == 0.6
    assert confidence_of(made, trust=Trust.EXTERNAL, said="possibly likes tea") == 0.4
    assert confidence_of(made, trust=Trust.PERSON) == 1.0
    assert confidence_of(fact("x", confidence=0.25), trust=Trust.PERSON, said="x") == 0.25


def test_tools_and_documents_are_external_and_all_else_speaks_for_the_person() -> None:
    assert [trust_of(name) for name in ("tool", "tools:crm", "document-upload", "web")] == [Trust.EXTERNAL] * 4
    assert [trust_of(name) for name in ("api", "shadow_extraction", "seeded_profile", "crm")] == [Trust.PERSON] * 4
