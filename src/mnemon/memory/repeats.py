"""Who else said what is held: kept beside it, so that taking back one source leaves what the others said.

A repeat is a version without a time of its own and with a negative number: no past state, only a statement on record.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from mnemon.memory.fact import Fact
from mnemon.memory.importance import confidence_of, importance_of
from mnemon.memory.lifecycle import WITHDRAWN, has_same_words
from mnemon.memory.memory import MemoryVersion, StoredMemory


@dataclass(frozen=True, kw_only=True)
class RepeatRecord:
    """What is to be written so that a repeat is on record."""

    versions: tuple[MemoryVersion, ...] = ()
    moved: dict[int, tuple[datetime | None, datetime | None]] = field(default_factory=dict)


def record_repeat(past: Sequence[MemoryVersion], fact: Fact, at: datetime) -> RepeatRecord:
    """Put on record that another source says what is held; of each source its first repeat and its last."""
    known = [
        one
        for one in past
        if one.is_repeat
        and one.reason != WITHDRAWN
        and (one.origin, one.trust) == (fact.said_by, fact.effective_trust)
        and has_same_words(one.content, fact.content)
    ]
    if len(known) < 2:
        number = next_repeat_number(past)
        return RepeatRecord(versions=(version_from_fact(fact, number, since=at, until=at, recorded_at=at),))
    last = max(known, key=lambda one: (one.valid_from, -one.number))
    return RepeatRecord(moved={last.number: (at, at)} if at > last.valid_from else {})


def record_replaced_version(past: Sequence[MemoryVersion], held: MemoryVersion) -> MemoryVersion:
    """Put on record what was held, where a more trusted source says the same and takes its place."""
    # A source that took over the same words itself has its first statement on record already.
    first = held.recorded_at if has_time_of_other(past, held) else held.valid_from
    last = max(first, held.recorded_at)
    return replace(held, number=next_repeat_number(past), valid_from=first, valid_to=first, recorded_at=last)


def has_time_of_other(past: Sequence[MemoryVersion], said: StoredMemory | MemoryVersion) -> bool:
    """Whether it took over the same words, so that it holds since another source said them."""
    same = [one for one in past if one.is_repeat and has_same_words(one.content, said.content)]
    others = any(one.origin != said.origin and one.valid_from == said.valid_from for one in same)
    return others and any(one.origin == said.origin for one in same)


def next_repeat_number(past: Sequence[MemoryVersion]) -> int:
    """The next negative number that is free."""
    return min((one.number for one in past if one.is_repeat), default=0) - 1


def version_from_fact(
    fact: Fact, number: int, *, since: datetime, until: datetime, recorded_at: datetime
) -> MemoryVersion:
    """Make the version under this number that says the fact, with its source and trust."""
    return MemoryVersion(
        number=number,
        content=fact.content,
        importance=importance_of(fact),
        confidence=confidence_of(fact),
        source=fact.source,
        origin=fact.said_by,
        trust=fact.effective_trust,
        valid_from=since,
        valid_to=until,
        recorded_at=recorded_at,
        reason=None,
    )
