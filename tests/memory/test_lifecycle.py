"""Where a statement belongs in a memory's history."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.errors import Conflict
from mnemon.memory.lifecycle import (
    ArchiveReason,
    ArchiveStatus,
    ExtendBack,
    InsertPast,
    Repeat,
    SplitCurrent,
    Supersede,
    VersionSpan,
    may_revive,
    place_statement,
    status_after_archive,
    status_after_restore,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: int) -> datetime:
    return START + timedelta(days=number)


AUSTIN_THEN_DENVER = [
    VersionSpan(number=1, content="Lives in Austin", valid_from=day(10), stated_at=day(10)),
    VersionSpan(number=2, content="Lives in Denver", valid_from=day(20), stated_at=day(24)),
]


@pytest.mark.parametrize(
    ("content", "at", "expected"),
    [
        ("lives in denver.", 25, Repeat(number=2)),
        ("Lives in Boston", 25, Supersede(valid_from=day(25))),
        ("Lives in Boston", 24, Supersede(valid_from=day(24))),
        ("Lives in Boston", 22, SplitCurrent(valid_from=day(22), valid_to=day(24))),
        ("Lives in Denver", 22, Repeat(number=2)),
        ("Lives in Boston", 15, InsertPast(valid_from=day(15), valid_to=day(20), before=1)),
        ("Lives in Boston", 5, InsertPast(valid_from=day(5), valid_to=day(10), before=None)),
        ("Lives in Austin", 15, Repeat(number=1)),
        ("Lives in Austin", 10, Repeat(number=1)),
        ("Lives in Boston", 10, InsertPast(valid_from=day(10), valid_to=day(20), before=1)),
        ("Lives in Denver", 15, ExtendBack(number=2, valid_from=day(15), before=1)),
        ("Lives in Austin", 5, ExtendBack(number=1, valid_from=day(5), before=None)),
    ],
)
def test_a_statement_finds_its_place_in_time(content: str, at: int, expected: object) -> None:
    assert place_statement(AUSTIN_THEN_DENVER, content, day(at)) == expected


def tell(spans: list[VersionSpan], number: int, at: datetime, content: str) -> list[VersionSpan]:
    """The timeline after one more statement, by its placement alone."""
    placed = place_statement(spans, content, at)
    current = spans[-1]
    match placed:
        case Repeat():
            again = replace(current, stated_at=max(current.stated_at, at))
            return [*spans[:-1], again] if at >= current.valid_from else spans
        case Supersede() | InsertPast():
            spans = [*spans, VersionSpan(number=number, content=content, valid_from=at, stated_at=at)]
        case SplitCurrent():
            inside = VersionSpan(number=number, content=content, valid_from=at, stated_at=at)
            spans = [
                *spans[:-1],
                replace(current, number=-number),
                inside,
                replace(current, valid_from=placed.valid_to),
            ]
        case ExtendBack():
            spans = [replace(one, valid_from=at) if one.number == placed.number else one for one in spans]
    return sorted(spans, key=lambda span: (span.valid_from, span.number))


def told(statements: list[tuple[int, str]]) -> list[VersionSpan]:
    """The timeline after these statements, in this order."""
    (first, content), *rest = statements
    spans = [VersionSpan(number=1, content=content, valid_from=day(first), stated_at=day(first))]
    for number, (at, said) in enumerate(rest, start=2):
        spans = tell(spans, number, day(at), said)
    return spans


def held_at(spans: list[VersionSpan], at: datetime) -> str | None:
    return next((span.content for span in reversed(spans) if span.valid_from <= at), None)


def statements(contents: list[str], unique: bool) -> st.SearchStrategy[list[tuple[int, str]]]:
    pair = st.tuples(st.integers(0, 50), st.sampled_from(contents))
    return st.lists(pair, min_size=1, max_size=8, unique_by=(lambda one: one[0], lambda one: one[int(unique)]))


@given(statements([f"value {number}" for number in range(20)], unique=True), st.randoms())
def test_what_was_held_on_a_day_does_not_depend_on_when_it_was_applied(said, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(said)
    random.shuffle(shuffled)
    in_order, late = told(sorted(said)), told(shuffled)
    for at in range(51):
        assert held_at(in_order, day(at)) == held_at(late, day(at))


@given(statements(["tea", "coffee", "water"], unique=False), st.randoms())
def test_an_older_statement_never_displaces_what_was_said_last(said, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(said)
    random.shuffle(shuffled)
    assert told(shuffled)[-1].content == max(said)[1]
    for at, content in said:
        assert content in {span.content for span in told(shuffled) if span.valid_from <= day(at)}


def test_a_pinned_memory_is_never_archived() -> None:
    assert status_after_archive(pinned=False) is ArchiveStatus.ARCHIVED
    with pytest.raises(Conflict, match="Unpin"):
        status_after_archive(pinned=True)


def test_only_an_archived_memory_can_be_restored() -> None:
    assert status_after_restore(ArchiveStatus.ARCHIVED) is ArchiveStatus.ACTIVE
    with pytest.raises(Conflict, match="not archived"):
        status_after_restore(ArchiveStatus.ACTIVE)


@pytest.mark.parametrize("reason", list(ArchiveReason))
def test_an_application_that_states_a_fact_again_means_it(reason: ArchiveReason) -> None:
    assert may_revive(reason, same_words=True, extracted=False)


def test_a_reflection_does_not_undo_a_judgement_by_finding_the_same_words() -> None:
    assert not may_revive(ArchiveReason.UNWANTED, same_words=True, extracted=True)
    assert not may_revive(ArchiveReason.WRONG, same_words=True, extracted=True)
    assert not may_revive(ArchiveReason.FOLDED, same_words=True, extracted=True)
    assert may_revive(ArchiveReason.OUTDATED, same_words=True, extracted=True)
    assert may_revive(ArchiveReason.WRONG, same_words=False, extracted=True)
