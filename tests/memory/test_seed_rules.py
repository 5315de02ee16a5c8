from mnemon.memory.fact import MemoryType
from mnemon.memory.upkeep.seed import parse_profile, seed_facts


def test_a_text_is_a_fact_a_line() -> None:
    entries = parse_profile(
        "- Lives in Austin, Texas\n\n* Prefers dark mode\n3. Is a morning person\n- Prefers dark mode\n"
    )
    assert [e.content for e in entries] == ["Lives in Austin, Texas", "Prefers dark mode", "Is a morning person"]


def test_seeded_facts_are_profile_facts_of_their_own_source() -> None:
    (fact,) = seed_facts(parse_profile("Lives in Austin, Texas"))
    assert (fact.type, fact.source, fact.entity) == (MemoryType.PROFILE, "seeded_profile", None)


def test_an_empty_text_has_no_facts() -> None:
    assert parse_profile(" \n\n") == ()
