"""Repeats: which other sources said what a memory says, recorded so that withdrawing one source leaves the others.

A repeat is stored as a version with a negative number and an empty time span: not a past state, only a statement.
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
    """What to write in order to record a repeat."""

    versions: tuple[MemoryVersion, ...] = ()
    moved: dict[int, tuple[datetime | None, datetime | None]] = field(default_factory=dict)


def record_repeat(
    past: Sequence[MemoryVersion], fact: Fact, at: datetime, *, denied_at: datetime | None = None
) -> RepeatRecord:
    """Return the versions that record that another source says the same.

    Of each source the first and last are kept, counted anew since it last said otherwise, at `denied_at`.
    """
    known = [
        one
        for one in past
        if one.is_repeat
        and one.reason != WITHDRAWN
        and (one.origin, one.trust) == (fact.said_by, fact.effective_trust)
        and has_same_words(one.content, fact.content)
        and (denied_at is None or one.valid_from > denied_at)
    ]
    # The first and the last are enough for a replay: what lies between changes no fact. A claim may be taken for a
    # repeat where three other sources changed the fact meanwhile; keeping every repeat would cost a row each.
    if len(known) < 2:
        number = next_repeat_number(past)
        return RepeatRecord(versions=(version_from_fact(fact, number, since=at, until=at, recorded_at=at),))
    last = max(known, key=lambda one: (one.valid_from, -one.number))
    return RepeatRecord(moved={last.number: (at, at)} if at > last.valid_from else {})


def record_replaced_version(past: Sequence[MemoryVersion], held: MemoryVersion) -> MemoryVersion:
    """Return a record of a memory's less trusted source, whose same words a more trusted one now states."""
    # If this source itself took over the words, its first statement is recorded already.
    first = held.recorded_at if has_time_of_other(past, held) else held.valid_from
    last = max(first, held.recorded_at)
    return replace(held, number=next_repeat_number(past), valid_from=first, valid_to=first, recorded_at=last)


def has_time_of_other(past: Sequence[MemoryVersion], statement: StoredMemory | MemoryVersion) -> bool:
    """Say whether a statement's start comes from another source, which said the same before it."""
    same = [one for one in past if one.is_repeat and has_same_words(one.content, statement.content)]
    others = any(one.origin != statement.origin and one.valid_from == statement.valid_from for one in same)
    return others and any(one.origin == statement.origin for one in same)


def next_repeat_number(past: Sequence[MemoryVersion]) -> int:
    """Return the next free negative version number, as repeats have."""
    return min((one.number for one in past if one.is_repeat), default=0) - 1


def version_from_fact(
    fact: Fact, number: int, *, since: datetime, until: datetime, recorded_at: datetime
) -> MemoryVersion:
    """Return a memory's version of this number with the fact's text, source and trust."""
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
