"""What a statement does to what is held, field by field, without a database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemon.memory.claims import makes_claim
from mnemon.memory.fact import EntityType, Fact, FactEntity, MemoryType, QuoteLocation
from mnemon.memory.lifecycle import ArchiveReason, ArchiveStatus
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.plan import (
    MemoryChange,
    MemoryOutcome,
    WriteStamp,
    create_memory,
    plan_update,
    rewrite_content,
    skip_if_known,
)
from mnemon.memory.trust import Trust

START = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: float) -> datetime:
    return START + timedelta(days=number)


def lives_in(city: str, **more: Any) -> Fact:
    return Fact(type=MemoryType.PROFILE, content=f"Lives in {city}", attribute="lives in", **more)


def stamp(at: float, *, revision: int = 7) -> WriteStamp:
    """Said on that day, recorded on day 100."""
    return WriteStamp(at=day(at), now=day(100), revision=revision)


def held(city: str = "Denver", *, since: float = 20, stated: float = 24, **more: Any) -> StoredMemory:
    """A memory that was updated on day 24 and has had three versions; its current one is number 2."""
    made = create_memory(lives_in(city), stamp(since, revision=1), id="mem_1", persona_id=None).memory
    usual: dict[str, Any] = {
        "stated_at": day(stated),
        "updated_at": day(24),
        "version": 2,
        "versions": 3,
        "mentions": 4,
    }
    return replace(made, **{**usual, **more})


def past(number: int, city: str, since: float, until: float) -> MemoryVersion:
    return MemoryVersion(
        number=number,
        content=f"Lives in {city}",
        importance=2,
        confidence=1.0,
        source="api",
        origin="api",
        trust=Trust.PERSON,
        valid_from=day(since),
        valid_to=day(until),
        recorded_at=day(since),
        reason=None,
    )


AUSTIN = past(1, "Austin", 10, 20)


def told(
    memory: StoredMemory, fact: Fact, at: float, *versions: MemoryVersion, extracted: bool = False
) -> MemoryChange:
    return plan_update(memory, versions, fact, stamp(at), extracted=extracted)


def test_a_new_fact_becomes_a_memory_with_every_field_from_what_was_said() -> None:
    john = FactEntity(type=EntityType.ORG, label="Acme Corp")
    fact = Fact(
        type=MemoryType.PEOPLE,
        content="Acme is a customer",
        entity=john,
        attribute="role",
        source="tool:crm",
        sources=("mem_0",),
        confidence=0.4,
        importance=0,
    )
    made = create_memory(fact, stamp(3), id="mem_9", persona_id="coach")
    assert (made.outcome, made.versions, made.moved, made.displaced, made.reworded) == (
        MemoryOutcome.CREATED, (), {}, None, False,
    )  # fmt: skip
    one = made.memory
    assert (one.id, one.persona_id, one.type, one.content) == ("mem_9", "coach", MemoryType.PEOPLE, fact.content)
    assert (one.entity_refs, one.entity_label, one.entity_type) == (("org:acme_corp",), "Acme Corp", EntityType.ORG)
    assert (one.memory_key, one.attribute) == ("people|org|acme_corp|fact|role", "role")
    assert (one.source, one.trust, one.sources) == ("tool:crm", Trust.TOOL, ("mem_0",))
    assert (one.importance, one.confidence, one.pinned, one.mentions) == (0, 0.4, False, 1)
    assert (one.status, one.archive_reason, one.archived_at, one.valid_to) == (ArchiveStatus.ACTIVE, None, None, None)
    assert one.valid_from == one.stated_at == one.created_at == one.updated_at == day(3)
    assert (one.version, one.versions, one.revision) == (1, 1, 7)


def test_without_an_entity_the_person_is_meant() -> None:
    made = create_memory(lives_in("Austin", pinned=True), stamp(3), id="mem_9", persona_id=None).memory
    assert (made.entity_refs, made.entity_label, made.entity_type) == ((), None, EntityType.PERSON)
    assert (made.pinned, made.importance) == (True, 3)


def test_a_fact_holds_since_when_it_says_or_since_it_was_said() -> None:
    told_late = create_memory(lives_in("Austin", valid_from=day(1)), stamp(3), id="mem_9", persona_id=None).memory
    assert (told_late.valid_from, told_late.stated_at, told_late.created_at) == (day(1), day(1), day(3))


@pytest.mark.parametrize(
    ("at", "content", "stated"),
    [
        (30, "Lives in DENVER", 30),
        (24, "Lives in DENVER", 24),
        (22, "Lives in Denver", 24),
        (20, "Lives in Denver", 24),
    ],
)
def test_a_repeat_is_a_mention_and_gives_the_wording_unless_a_newer_one_did(at: int, content: str, stated: int) -> None:
    before = held()
    change = told(before, lives_in("DENVER"), at)
    assert change.memory == replace(
        before,
        content=content,
        mentions=5,
        stated_at=day(stated),
        updated_at=day(max(at, 24)),
        revision=7,
    )
    assert change.reworded is (content != before.content)
    assert (change.outcome, change.versions, change.moved, change.displaced) == (MemoryOutcome.UPDATED, (), {}, None)


def test_a_repeat_of_a_past_version_is_a_mention_of_that_and_touches_nothing_of_what_is_held() -> None:
    before = held(confidence=0.5, importance=1)
    loud = lives_in("AUSTIN", importance=3, confidence=1.0, pinned=True)
    change = told(before, loud, 15, AUSTIN)
    assert change == MemoryChange(
        outcome=MemoryOutcome.UPDATED, memory=replace(before, revision=7), mentioned=(AUSTIN.number,)
    )


def test_what_a_repeat_says_of_its_weight_counts_and_what_it_leaves_open_never_lessens_it() -> None:
    before = held(confidence=0.5, importance=3)
    stated = told(before, lives_in("Denver", importance=0, confidence=0.2), 30).memory
    assert (stated.importance, stated.confidence) == (0, 0.2)
    assert told(before, lives_in("Denver", importance=0), 20).memory.importance == 0
    silent = told(before, lives_in("Denver"), 30).memory
    assert (silent.importance, silent.confidence) == (3, 1.0)
    tools: dict[str, Any] = {"source": "tool", "origin": "tool", "trust": Trust.TOOL}
    surer = told(held(confidence=1.0, importance=0, **tools), lives_in("Denver", source="tool"), 30).memory
    assert (surer.importance, surer.confidence) == (2, 1.0)


@pytest.mark.parametrize(
    ("was", "says", "pinned", "importance"),
    [(True, None, True, 3), (True, False, False, 2), (False, True, True, 3), (False, None, False, 2)],
)
def test_a_pin_stays_unless_the_fact_says_otherwise(
    was: bool, says: bool | None, pinned: bool, importance: int
) -> None:
    change = told(held(pinned=was, importance=2), lives_in("Denver", pinned=says), 30)
    assert (change.memory.pinned, change.memory.importance) == (pinned, importance)


def test_something_newer_replaces_what_is_held_and_keeps_it_as_a_version() -> None:
    before = held(confidence=0.5, importance=2, sources=("mem_0",), entity_label="Ann", trust=Trust.TOOL)
    change = told(before, lives_in("Boston", source="tool:map"), 30)
    assert change.memory == replace(
        before,
        content="Lives in Boston",
        mentions=1,
        source="tool:map",
        origin="tool:map",
        confidence=0.7,
        valid_from=day(30),
        stated_at=day(30),
        updated_at=day(30),
        version=4,
        versions=4,
        revision=7,
    )
    assert change.displaced == 2
    assert change.moved == {}
    assert change.versions == (
        replace(past(2, "Denver", 20, 30), trust=Trust.TOOL, confidence=0.5, recorded_at=day(24), mentions=4),
    )


def test_a_newer_statement_brings_its_own_label_and_sources() -> None:
    acme = FactEntity(type=EntityType.ORG, label="ACME")
    fact = Fact(type=MemoryType.PEOPLE, content="Acme left", entity=acme, sources=("mem_5",))
    before = replace(held(), entity_label="Acme Corp", sources=("mem_0",))
    change = told(before, fact, 30)
    assert (change.memory.entity_label, change.memory.sources) == ("ACME", ("mem_5",))


def test_something_older_becomes_a_past_version_and_what_is_held_stays() -> None:
    before = held(trust=Trust.TOOL)
    ground = QuoteLocation(
        turn_id="t", session_id="s", message_id="m", start=0, end=1, quote="maybe Boston", at=day(15)
    )
    change = told(before, lives_in("Boston", ground=ground, source="tool"), 15, AUSTIN)
    assert change.memory == replace(before, versions=4, revision=7)
    assert change.moved == {1: (None, day(15))}
    assert change.versions == (
        replace(
            past(4, "Boston", 15, 20),
            source="tool",
            origin="tool",
            trust=Trust.TOOL,
            confidence=0.4,
            importance=2,
            recorded_at=day(100),
        ),
    )
    assert change.displaced is None


def test_what_is_told_of_the_past_today_does_not_make_what_is_held_newer() -> None:
    for fact in (lives_in("Boston", valid_from=day(15)), lives_in("AUSTIN", valid_from=day(15))):
        assert told(held(), fact, 50, AUSTIN).memory.updated_at == day(24)


def test_the_oldest_of_all_moves_nobody() -> None:
    change = told(held(), lives_in("Boston"), 5, AUSTIN)
    assert change.moved == {}
    assert [(one.number, one.valid_from, one.valid_to) for one in change.versions] == [(4, day(5), day(10))]


def test_something_else_said_between_two_statements_interrupts_what_is_held() -> None:
    before = held()
    change = told(before, lives_in("Boston"), 22)
    assert change.memory == replace(before, valid_from=day(24), versions=5, revision=7)
    assert change.versions == (
        replace(past(4, "Denver", 20, 22), recorded_at=day(24), mentions=4),
        replace(past(5, "Boston", 22, 24), recorded_at=day(100)),
    )
    assert (change.displaced, change.moved) == (None, {})


def test_what_is_held_may_have_been_true_earlier_already() -> None:
    before = held()
    change = told(before, lives_in("Denver"), 15, AUSTIN)
    assert change.memory == replace(before, mentions=5, valid_from=day(15), revision=7)
    assert change.moved == {1: (None, day(15))}
    alone = told(before, lives_in("Denver"), 15)
    assert (alone.memory.valid_from, alone.moved) == (day(15), {})


def test_a_past_version_may_have_been_true_earlier_already() -> None:
    before = held()
    change = told(before, lives_in("Austin"), 5, past(3, "Boston", 1, 10), AUSTIN)
    assert (change.memory, change.mentioned) == (replace(before, revision=7), (1,))
    assert change.moved == {3: (None, day(5)), 1: (day(5), None)}
    assert told(before, lives_in("Austin"), 5, AUSTIN).moved == {1: (day(5), None)}


GONE: dict[str, Any] = {
    "status": ArchiveStatus.ARCHIVED,
    "archive_reason": ArchiveReason.WRONG,
    "archived_at": day(40),
    "valid_to": day(40),
}


def test_an_archived_fact_that_a_reflection_finds_again_stays_archived() -> None:
    before = held(**GONE)
    for at in (40, 50):
        change = told(before, lives_in("denver"), at, extracted=True)
        assert change == MemoryChange(outcome=MemoryOutcome.SKIPPED, memory=before, why="archived as wrong")


def test_an_archived_fact_that_is_stated_or_said_otherwise_is_active_again() -> None:
    before = held(**GONE)
    stated = told(before, lives_in("Denver"), 50).memory
    assert (stated.status, stated.archive_reason, stated.archived_at, stated.valid_to) == (
        ArchiveStatus.ACTIVE, None, None, None,
    )  # fmt: skip
    otherwise = told(before, lives_in("Boston"), 50, extracted=True).memory
    assert (otherwise.content, otherwise.status) == ("Lives in Boston", ArchiveStatus.ACTIVE)


def test_what_was_said_before_the_archiving_does_not_revive_and_is_not_pinned() -> None:
    before = held(**GONE)
    change = told(before, lives_in("Denver", pinned=True), 39)
    assert (change.outcome, change.memory.status, change.memory.archive_reason) == (
        MemoryOutcome.UPDATED, ArchiveStatus.ARCHIVED, ArchiveReason.WRONG,
    )  # fmt: skip
    assert (change.memory.pinned, change.memory.mentions) == (False, 5)


OPERATORS: dict[str, Any] = {"source": "operator", "origin": "operator", "trust": Trust.OPERATOR, "note": "no"}


@pytest.mark.parametrize("reason", [ArchiveReason.WRONG, ArchiveReason.UNWANTED, ArchiveReason.OUTDATED])
def test_the_persons_new_statement_takes_the_place_of_what_an_operator_archived(reason: ArchiveReason) -> None:
    before = held(**{**GONE, **OPERATORS, "archive_reason": reason, "importance": 3})
    change = told(before, lives_in("Boston"), 50, extracted=True)
    now = change.memory
    assert (now.id, now.content, now.trust, now.status, now.note) == (
        before.id, "Lives in Boston", Trust.PERSON, ArchiveStatus.ACTIVE, None,
    )  # fmt: skip
    assert (now.archive_reason, now.archived_at, now.valid_to, now.valid_from) == (None, None, None, day(50))
    assert (now.version, now.versions, now.mentions, now.importance) == (4, 4, 1, 2)
    [version] = change.versions
    assert (version.number, version.valid_from, version.valid_to, version.reason, version.trust) == (
        2, day(20), day(40), f"archived as {reason}", Trust.OPERATOR,
    )  # fmt: skip
    dated = told(before, lives_in("Boston", valid_from=day(1)), 50).memory
    assert dated.valid_from == day(40), "what an operator said about the time before stays as it was"


@pytest.mark.parametrize(
    ("fact", "at", "reason"),
    [
        (lives_in("Boston", source="tool:crm"), 50, ArchiveReason.WRONG),
        (lives_in("Boston", source="agent"), 50, ArchiveReason.OUTDATED),
        (lives_in("Boston"), 39, ArchiveReason.WRONG),
        (lives_in("Boston"), 50, ArchiveReason.FOLDED),
        (lives_in("Denver"), 50, ArchiveReason.WRONG),
        (lives_in("Denver"), 50, ArchiveReason.UNWANTED),
    ],
)
def test_nothing_else_takes_the_place_of_what_an_operator_archived(
    fact: Fact, at: float, reason: ArchiveReason
) -> None:
    before = held(**{**GONE, **OPERATORS, "archive_reason": reason})
    assert makes_claim(before, fact, day(at))
    with pytest.raises(ValueError, match="cannot change a memory of operator"):
        told(before, fact, at)


def test_a_memory_that_becomes_active_or_gets_a_new_text_loses_its_note() -> None:
    assert told(held(**GONE, note="not so"), lives_in("Denver"), 50).memory.note is None
    assert told(held(note="corrected"), lives_in("Boston"), 50).memory.note is None
    assert told(held(note="corrected"), lives_in("Denver"), 50).memory.note == "corrected"
    assert told(held(**GONE, note="not so"), lives_in("Denver"), 39).memory.note == "not so"


def test_a_text_changed_by_hand_keeps_the_earlier_one_with_the_reason() -> None:
    before = held(confidence=0.5)
    change = rewrite_content(before, "Lives near Denver", at=day(50), reason="moved out", revision=9)
    assert change.memory == replace(
        before,
        content="Lives near Denver",
        mentions=1,
        note="moved out",
        valid_from=day(50),
        stated_at=day(50),
        updated_at=day(50),
        version=4,
        versions=4,
        revision=9,
    )
    assert change.versions == (
        replace(past(2, "Denver", 20, 50), confidence=0.5, recorded_at=day(24), reason="moved out", mentions=4),
    )
    assert (change.outcome, change.displaced) == (MemoryOutcome.UPDATED, 2)


def test_a_change_by_hand_of_what_holds_from_a_later_day_holds_from_then() -> None:
    ahead = held(since=60, stated=65)
    change = rewrite_content(ahead, "Lives near Denver", at=day(50), reason=None, revision=9)
    assert (change.memory.valid_from, change.memory.stated_at, change.memory.updated_at) == (day(60), day(65), day(50))
    assert change.versions[0].valid_to == day(60)


def by_tool(version: MemoryVersion) -> MemoryVersion:
    return replace(version, source="tool:crm", origin="tool:crm", trust=Trust.TOOL)


TOOLS: dict[str, Any] = {"source": "tool:crm", "origin": "tool:crm", "trust": Trust.TOOL}


def test_the_persons_word_ends_what_a_tool_said_of_the_time_since() -> None:
    versions = (by_tool(past(1, "Austin", 5, 8)), by_tool(past(2, "Boise", 8, 20)), by_tool(past(3, "Reno", 12, 20)))
    change = told(held(**TOOLS), lives_in("Leeds"), 10, *versions)
    assert (change.memory.content, change.memory.trust) == ("Lives in Leeds", Trust.PERSON)
    assert change.memory.valid_from == day(10)
    assert change.moved == {2: (None, day(10)), 3: (None, day(12))}


def test_the_persons_word_makes_the_same_words_of_a_tool_their_own() -> None:
    endless = replace(by_tool(past(1, "Boise", 5, 20)), valid_to=None)
    change = told(held(**TOOLS), lives_in("DENVER"), 22, endless)
    assert (change.memory.content, change.memory.trust, change.reworded) == ("Lives in DENVER", Trust.PERSON, True)
    assert (change.memory.valid_from, change.memory.stated_at) == (day(20), day(22))
    assert change.moved == {}
    earlier = told(held(**TOOLS), lives_in("Denver"), 15)
    assert (earlier.memory.valid_from, earlier.memory.stated_at, earlier.reworded) == (day(15), day(15), False)


def test_times_decide_where_an_equally_trusted_version_is_later() -> None:
    versions = (past(1, "Boise", 8, 20),)
    change = told(held(**TOOLS), lives_in("Leeds"), 5, *versions)
    assert (change.memory.content, change.memory.trust) == ("Lives in Denver", Trust.TOOL)
    assert [one.content for one in change.versions] == ["Lives in Leeds"]


def test_a_version_that_only_repeats_takes_no_place_in_the_history() -> None:
    repeat = replace(AUSTIN, number=-1, content="Lives in Reno", valid_from=day(12), valid_to=day(13))
    plain, beside = told(held(), lives_in("Boise"), 15, AUSTIN), told(held(), lives_in("Boise"), 15, AUSTIN, repeat)
    assert beside == plain


def test_a_less_trusted_repeat_is_recorded_and_changes_nothing() -> None:
    fact = Fact(type=MemoryType.PROFILE, content="lives in DENVER.", attribute="lives in", source="tool:crm")
    skipped = skip_if_known(fact, held(), (), day(30))
    assert skipped is not None
    assert (skipped.outcome, skipped.memory) == (MemoryOutcome.SKIPPED, held())
    assert skipped.why == "known already from a more trusted source: person"
    assert [one.is_repeat for one in skipped.versions] == [True]
    assert skip_if_known(replace(fact, content="Lives in Leeds"), held(), (), day(30)) is None


def test_a_less_trusted_repeat_of_what_is_archived_leaves_it_archived() -> None:
    fact = Fact(type=MemoryType.PROFILE, content="Lives in Denver", attribute="lives in", source="tool:crm")
    gone = held(status=ArchiveStatus.ARCHIVED, archive_reason=ArchiveReason.WRONG, archived_at=day(30))
    skipped = skip_if_known(fact, gone, (), day(40))
    assert skipped is not None
    assert (skipped.why, skipped.versions) == (f"archived as {ArchiveReason.WRONG}", ())
