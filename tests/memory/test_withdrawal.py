"""Taking back what one source said, for one memory, without a database."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from mnemon.memory.fact import Fact, MemoryType
from mnemon.memory.lifecycle import WITHDRAWN, ArchiveReason, ArchiveStatus
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.plan import MemoryChange, WriteStamp, create_memory
from mnemon.memory.sources.withdrawal_rules import withdrawal_changes
from mnemon.memory.trust import Trust, highest_trust, outranks

START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = START + timedelta(days=100)


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def held(
    content: str, trust: Trust, origin: str, since: int, *, versions: int = 1, pinned: bool = False
) -> StoredMemory:
    fact = Fact(type=MemoryType.PROFILE, content=content, attribute="x", trust=trust, origin=origin, pinned=pinned)
    made = create_memory(
        fact, WriteStamp(at=day(since), now=day(since), revision=1), id="mem_1", persona_id=None
    ).memory
    return replace(made, version=versions, versions=versions)


def past(
    number: int, content: str, trust: Trust, origin: str, since: int, until: int, importance: int = 1
) -> MemoryVersion:
    return MemoryVersion(
        number=number, content=content, importance=importance, confidence=1.0, source="api", origin=origin, trust=trust,
        valid_from=day(since), valid_to=day(until), recorded_at=day(since), reason=None,
    )  # fmt: skip


def withdrawn(memory: StoredMemory, versions: list[MemoryVersion], origin: str) -> MemoryChange | None:
    """What it does to a memory that no claim stands beside."""
    changes = withdrawal_changes(
        [memory], {memory.id: versions}, origin, at=NOW, revision=2, new_id=lambda kind: f"{kind}_new"
    )
    assert len(changes) < 2
    return changes[0] if changes else None


def test_a_fact_that_a_tool_overwrote_before_trust_was_an_order_comes_back_with_its_pin() -> None:
    poisoned = held("Wants penicillin", Trust.TOOL, "tool:page", 5, versions=2, pinned=True)
    change = withdrawn(poisoned, [past(1, "Allergic", Trust.PERSON, "api", 1, 5, importance=3)], "tool:page")
    assert change is not None
    memory = change.memory
    assert (memory.content, memory.trust, memory.origin, memory.pinned) == ("Allergic", Trust.PERSON, "api", True)
    assert (memory.version, memory.versions, memory.valid_from, change.displaced) == (3, 3, day(1), 2)
    assert dict(change.moved) == {1: (None, day(1))}
    [taken] = change.versions
    assert (taken.content, taken.reason, taken.valid_from, taken.valid_to) == (
        "Wants penicillin", WITHDRAWN, day(5), day(5),
    )  # fmt: skip


def test_what_only_the_source_said_is_archived_and_unpinned() -> None:
    change = withdrawn(held("Owns a castle", Trust.DOCUMENT, "email", 5, pinned=True), [], "email")
    assert change is not None
    memory = change.memory
    assert (memory.status, memory.archive_reason, memory.note, memory.pinned) == (
        ArchiveStatus.ARCHIVED, ArchiveReason.WRONG, WITHDRAWN, False,
    )  # fmt: skip
    assert withdrawn(memory, [], "email") is None
    assert withdrawn(replace(memory, status=ArchiveStatus.ACTIVE, archive_reason=None, archived_at=None), [], "email")


def test_what_another_source_says_is_left_alone() -> None:
    assert withdrawn(held("Owns a castle", Trust.PERSON, "api", 5), [], "email") is None


def test_a_statement_of_the_future_does_not_keep_what_comes_back_in_the_future() -> None:
    ahead = held("Wants penicillin", Trust.TOOL, "tool:page", 500, versions=2)
    change = withdrawn(ahead, [past(1, "Allergic", Trust.PERSON, "api", 1, 500)], "tool:page")
    assert change is not None
    assert (change.memory.valid_from, dict(change.moved)) == (day(1), {1: (None, day(1))})


def past_after(change: MemoryChange, versions: Sequence[MemoryVersion]) -> list[MemoryVersion]:
    """The memory's past as the store leaves it."""
    moved = [
        replace(one, valid_from=since or one.valid_from, valid_to=until or one.valid_to)
        for one in (*versions, *change.versions)
        for since, until in [change.moved.get(one.number, (None, None))]
    ]
    return [
        replace(one, valid_to=one.valid_from, reason=WITHDRAWN) if one.number in change.withdrawn else one
        for one in moved
    ]


ORIGINS = {"api": Trust.PERSON, "email": Trust.DOCUMENT, "tool:page": Trust.TOOL}


@given(st.lists(st.sampled_from(sorted(ORIGINS)), min_size=1, max_size=6), st.sampled_from(sorted(ORIGINS)))
def test_afterwards_nothing_of_the_source_holds_and_the_most_trusted_rest_does(said: list[str], origin: str) -> None:
    """Each said something else, one after the other, the last is held."""
    versions = [past(n, f"fact {n}", ORIGINS[who], who, n, n + 1) for n, who in enumerate(said[:-1], 1)]
    last = len(said)
    memory = held(f"fact {last}", ORIGINS[said[-1]], said[-1], last, versions=last)
    change = withdrawn(memory, versions, origin)
    if change is None:
        assert origin not in said
        return
    rest = [who for who in said if who != origin]
    assert change.memory.origin != origin or change.memory.status is ArchiveStatus.ARCHIVED
    if said[-1] == origin and rest:
        assert change.memory.trust is highest_trust([ORIGINS[who] for who in rest])
        assert not any(outranks(ORIGINS[who], change.memory.trust) for who in rest)
    after = past_after(change, versions)
    assert all(one.valid_to == one.valid_from for one in after if one.origin == origin)
    assert withdrawn(change.memory, after, origin) is None
