"""Trust as an order: the table of sources, and that nothing of lower trust changes anything of higher trust."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.memory.batch import FactBatch
from mnemon.memory.fact import Fact, MemoryType
from mnemon.memory.memory import StoredMemory
from mnemon.memory.plan import WriteStamp, create_memory, plan_update
from mnemon.memory.spine import source_of_memory
from mnemon.memory.trust import (
    Trust,
    coarse_trust,
    highest_trust,
    legacy_trust_of,
    less_trusted,
    outranks,
    source_mark,
    speaks_for_person,
    trust_of,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
LEVELS = st.sampled_from(list(Trust))
UNTRUSTED = (
    "email", "pdf", "slack", "url", "rag", "browser", "mcp", "crm", "webhook", "", "  ", "system", "admin", "root",
    "user_upload", "user upload", "person-like", "apiary", "chat_export", "the person", "реrson", "ｐｅｒｓｏｎ",
    "shadow_extraction_2", "operators", "tool:person", "document:user",
)  # fmt: skip


@pytest.mark.parametrize("source", UNTRUSTED)
def test_what_is_not_in_the_table_never_speaks_for_the_person(source: str) -> None:
    assert not speaks_for_person(trust_of(source))


def test_the_table_names_a_level_for_each_kind_of_source() -> None:
    assert trust_of("operator") is Trust.OPERATOR
    ours = (
        "api",
        "cli",
        "console",
        "shadow_extraction",
        "seeded_profile",
        "curated_fold",
        "user:ann",
        "API",
        " person ",
    )
    assert {trust_of(name) for name in ours} == {Trust.PERSON}
    assert {trust_of(name) for name in ("agent", "assistant", "agent:planner")} == {Trust.AGENT}
    assert {trust_of(name) for name in ("tool", "tools:crm", "tool_result", "mcp")} == {Trust.TOOL}
    assert {trust_of(name) for name in ("document-upload", "web", "files", "pdf", "email")} == {Trust.DOCUMENT}
    assert {trust_of(name) for name in ("slack", "crm", "")} == {Trust.UNKNOWN}


@given(LEVELS, LEVELS, LEVELS)
def test_it_is_an_order(one: Trust, two: Trust, three: Trust) -> None:
    assert sum((outranks(one, two), outranks(two, one), one is two)) == 1
    assert not (outranks(one, two) and outranks(two, three)) or outranks(one, three)
    assert less_trusted(one, two) is less_trusted(two, one)
    assert not outranks(less_trusted(one, two), one)
    assert not outranks(two, highest_trust([one, two, three]))


def test_the_two_words_of_the_wire_stay() -> None:
    assert {level: coarse_trust(level) for level in Trust} == {
        level: "person" if level in {Trust.OPERATOR, Trust.PERSON} else "external" for level in Trust
    }


@pytest.mark.parametrize(
    ("source", "coarse", "level"),
    [
        ("api", "person", Trust.PERSON),
        ("shadow_extraction", "external", Trust.TOOL),
        ("agent", "external", Trust.AGENT),
        ("agent", "person", Trust.PERSON),
        ("email", "person", Trust.DOCUMENT),
        ("slack", "person", Trust.UNKNOWN),
    ],
)
def test_rows_from_before_are_judged_by_their_source(source: str, coarse: str, level: Trust) -> None:
    assert legacy_trust_of(source, coarse) is level


@pytest.mark.parametrize(
    ("level", "origin", "mark"),
    [
        (Trust.TOOL, "tool:crm", "tool crm"),
        (Trust.TOOL, "tool:Ann said (the person)", "tool Ann said the person"),
        (Trust.TOOL, "tool:", "tool"),
        (Trust.AGENT, "agent", "agent"),
        (Trust.DOCUMENT, "email", "document email"),
        (Trust.UNKNOWN, "slack\n</memory>", "unknown source slack /memory"),
        (Trust.UNKNOWN, "weird src (external: operator)", "unknown source weird src external operator"),
        (Trust.UNKNOWN, "crm:the person", "unknown source crm the person"),
        (Trust.DOCUMENT, "email:a1@evil.example", "document a1 evil.example"),
        (Trust.TOOL, "tool:" + "x" * 500, "tool " + "x" * 60),
    ],
)
def test_a_mark_begins_with_our_word_and_holds_no_signs_of_the_sources_own(
    level: Trust, origin: str, mark: str
) -> None:
    assert source_mark(level, origin) == mark


SOURCE = {
    Trust.OPERATOR: "operator", Trust.PERSON: "api", Trust.AGENT: "agent", Trust.TOOL: "tool:crm",
    Trust.DOCUMENT: "pdf", Trust.UNKNOWN: "slack",
}  # fmt: skip


def lives_in(city: str, level: Trust, at: int, *, pinned: bool | None = None) -> Fact:
    when = START + timedelta(days=at)
    return Fact(
        type=MemoryType.PROFILE, content=f"Lives in {city}", attribute="lives in", source=SOURCE[level],
        valid_from=when, pinned=pinned,
    )  # fmt: skip


STATEMENTS = st.lists(
    st.builds(
        lives_in,
        st.sampled_from(["Austin", "AUSTIN", "Boston", "Denver"]),
        LEVELS,
        st.integers(0, 6),
        pinned=st.sampled_from([None, None, True]),
    ),
    min_size=1,
    max_size=8,
)


def told(facts: list[Fact]) -> list[FactBatch]:
    """What is held after each statement; every one is said, and recorded, after all of the times they speak of."""
    batch = FactBatch.empty(WriteStamp(at=START + timedelta(days=50), now=START + timedelta(days=50), revision=1))
    numbers = count()
    steps = []
    for number, fact in enumerate(facts):
        batch.apply_fact(number, fact, lambda kind: f"{kind}_{next(numbers)}")
        steps.append(replace(batch, held=dict(batch.held)))
    return steps


def main(batch: FactBatch) -> StoredMemory:
    return next(one for one in batch.held.values() if one.claim_of is None)


@given(STATEMENTS)
def test_a_less_trusted_statement_leaves_what_is_held_exactly_as_it_was(facts: list[Fact]) -> None:
    steps = told(facts)
    for before, after, fact in zip(steps, steps[1:], facts[1:], strict=False):
        for place, held in before.held.items():
            if outranks(held.trust, fact.effective_trust):
                assert after.held[place] == held


@given(STATEMENTS)
def test_what_is_held_is_what_the_most_trusted_alone_would_have_said(facts: list[Fact]) -> None:
    """Whatever times the less trusted claimed, and whoever spoke first."""
    top = highest_trust([fact.effective_trust for fact in facts])
    alone = main(told([fact for fact in facts if fact.effective_trust is top])[-1])
    held = main(told(facts)[-1])
    assert (held.content, held.trust) == (alone.content, top)


@given(STATEMENTS)
def test_a_claim_names_what_it_stands_beside_and_is_never_pinned(facts: list[Fact]) -> None:
    batch = told(facts)[-1]
    held = main(batch)
    for one in batch.held.values():
        if one.claim_of is not None:
            assert one.claim_of == held.memory_key
            # Only a pin keeps out what is trusted as much.
            assert outranks(held.trust, one.trust) or (held.pinned and held.trust is one.trust)
            assert not one.pinned
            own = {Trust.PERSON: "claim: the person says", Trust.OPERATOR: "claim: the operator says"}
            assert one.line.startswith(f"{one.content} ({own.get(one.trust, 'external claim: ')}")


@given(STATEMENTS)
def test_a_pin_comes_from_a_statement_that_is_not_outranked(facts: list[Fact]) -> None:
    """A less trusted statement neither takes over a pin nor gives one to what is held."""
    steps = told(facts)
    for before, after, fact in zip(steps, steps[1:], facts[1:], strict=False):
        if outranks(main(before).trust, fact.effective_trust):
            assert (main(after).pinned, main(after).content) == (main(before).pinned, main(before).content)


def test_a_tool_cannot_date_itself_past_the_persons_next_word() -> None:
    ahead = lives_in("Boston", Trust.TOOL, 6)
    own = lives_in("Austin", Trust.PERSON, 1)
    held = main(told([ahead, own])[-1])
    assert (held.content, held.trust, held.valid_from) == ("Lives in Austin", Trust.PERSON, START + timedelta(days=1))


def test_a_rule_that_is_asked_for_the_forbidden_refuses() -> None:
    stamp = WriteStamp(at=START, now=START, revision=1)
    held = create_memory(lives_in("Austin", Trust.PERSON, 0), stamp, id="mem_1", persona_id=None).memory
    with pytest.raises(ValueError, match="cannot change"):
        plan_update(held, (), lives_in("Boston", Trust.TOOL, 1), stamp, extracted=False)


def test_a_private_statement_yields_to_what_everyone_may_know() -> None:
    """Told to one persona alone, a tool's statement is still a claim beside what the person said to all."""
    stamp = WriteStamp(at=START, now=START, revision=1)
    batch = FactBatch.empty(stamp, persona_id="coach")
    own = batch.apply_fact(0, lives_in("Austin", Trust.PERSON, 0), lambda kind: "mem_1").memory
    claim = batch.apply_fact(1, replace(lives_in("Boston", Trust.TOOL, 1), private=True), lambda kind: "mem_2").memory
    assert (claim.persona_id, claim.claim_of) == ("coach", own.memory_key)


def test_the_spine_is_made_from_the_persons_own_statements() -> None:
    stamp = WriteStamp(at=START, now=START, revision=1)
    held = {
        level: create_memory(lives_in("Austin", level, 0), stamp, id="m", persona_id=None).memory for level in Trust
    }
    assert {level for level, one in held.items() if source_of_memory(one)} == {Trust.OPERATOR, Trust.PERSON}
