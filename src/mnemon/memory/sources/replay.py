"""What would be stored under a key if a source had never spoken: all other statements, replayed in their order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count

from mnemon.memory.batch import FactBatch
from mnemon.memory.fact import Fact, FactEntity
from mnemon.memory.keys import original_key
from mnemon.memory.lifecycle import ARCHIVE_NOTES, WITHDRAWN, ArchiveStatus, has_same_words
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.placing import MemoryPlace
from mnemon.memory.plan import WriteStamp
from mnemon.memory.repeats import has_time_of_other
from mnemon.memory.trust import Trust


@dataclass(frozen=True, kw_only=True)
class Utterance:
    """One recorded statement."""

    at: datetime
    place: int
    """Of two statements at the same time, the one with the lower number came first."""
    persona_id: str | None
    content: str
    importance: int
    confidence: float
    source: str
    origin: str
    trust: Trust


def held_without_source(
    rows: Sequence[StoredMemory], past: Mapping[str, Sequence[MemoryVersion]], origin: str
) -> dict[MemoryPlace, StoredMemory]:
    """Return, by replaying all other statements, what would be stored if this source had never spoken."""
    statements = sorted(_utterances_without(rows, past, origin), key=lambda one: (one.at, one.place))
    if not statements:
        return {}
    first = rows[0]
    entity = FactEntity(type=first.entity_type, label=first.entity_label) if first.entity_label else None
    key = original_key(first.claim_of or first.memory_key)
    batch = FactBatch.empty(WriteStamp(at=statements[0].at, now=statements[0].at, revision=0))
    numbers = count(1)
    for one in statements:
        # The real rules are run, so that a replay cannot differ from what would have happened.
        batch.persona_id = one.persona_id
        batch.stamp = WriteStamp(at=one.at, now=one.at, revision=0)
        fact = Fact(
            type=first.type,
            content=one.content,
            entity=entity,
            fact_type=first.fact_type,
            attribute=first.attribute,
            importance=one.importance,
            confidence=one.confidence,
            source=one.source,
            trust=one.trust,
            origin=one.origin,
            private=one.persona_id is not None,
            key=key,
        )
        # The replay is only compared with the stored rows, so the ids just have to differ.
        batch.apply_fact(0, fact, lambda kind: f"{kind}_{next(numbers)}")
    return batch.held


def _utterances_without(
    rows: Sequence[StoredMemory], past: Mapping[str, Sequence[MemoryVersion]], origin: str
) -> Iterator[Utterance]:
    """Yield the recorded statements of all sources but this one, without withdrawn ones."""
    # Facts before claims: a fact existed before a claim could contradict it.
    for number, row in enumerate(sorted(rows, key=lambda one: one.claim_of is not None)):
        versions = past.get(row.id, ())
        restored = restored_numbers(row, versions)
        if row.origin != origin and (row.status is ArchiveStatus.ACTIVE or row.is_set_aside):
            times = _utterance_times(row, row.stated_at, versions)
            for at in _times_since_restore(row, versions, restored) if row.version in restored else times:
                yield _build_utterance(row, row, at, number)
        for one in versions:
            # What was archived when another statement took its place must not become the fact again.
            stands = one.reason != WITHDRAWN and one.reason not in ARCHIVE_NOTES
            if one.origin != origin and stands and one.number not in restored:
                for at in _utterance_times(one, max(one.valid_from, one.recorded_at), versions):
                    yield _build_utterance(row, one, at, number)


def restored_numbers(row: StoredMemory, past: Sequence[MemoryVersion]) -> frozenset[int]:
    """Return the numbers of the states that a withdrawal restored, which are no statements of their own.

    Such a state follows a withdrawn one, repeats what its source had said before, and starts when the withdrawn one or
    that earlier statement did. A statement that was made anew starts at a time of its own.
    """
    states: dict[int, StoredMemory | MemoryVersion] = {row.version: row}
    states |= {one.number: one for one in past if not one.is_repeat and one.reason != WITHDRAWN}
    found: set[int] = set()
    for number, state in sorted(states.items(), key=lambda one: one[0]):
        starts = {one.valid_from for one in past if one.reason == WITHDRAWN and 0 < one.number < number}
        earlier = [one for one in past if one.number < number and one.number not in found and _says_same(one, state)]
        if starts and earlier and state.valid_from in starts | {one.valid_from for one in earlier}:
            found.add(number)
    return frozenset(found)


def _says_same(one: MemoryVersion, state: StoredMemory | MemoryVersion) -> bool:
    """Say whether the version records the same words of the same source, and was not withdrawn."""
    same = (one.origin, one.trust) == (state.origin, state.trust) and has_same_words(one.content, state.content)
    return same and one.reason != WITHDRAWN


def _times_since_restore(row: StoredMemory, past: Sequence[MemoryVersion], restored: frozenset[int]) -> set[datetime]:
    """Return when the source last said a restored text, if that was after the withdrawal; else nothing."""
    known = [one for one in past if one.number not in restored and _says_same(one, row)]
    before = max((max(one.valid_from, one.recorded_at) for one in known), default=row.valid_from)
    return {row.stated_at} if row.stated_at > max(before, row.valid_from) else set()


def _utterance_times(
    statement: StoredMemory | MemoryVersion, last: datetime, past: Sequence[MemoryVersion]
) -> set[datetime]:
    """Return when a statement's source said it first and last.

    A source that took over the same words has its own first statement recorded as a repeat, so only the last counts
    here.
    """
    repeat = isinstance(statement, MemoryVersion) and statement.is_repeat
    return {last} if not repeat and has_time_of_other(past, statement) else {statement.valid_from, last}


def _build_utterance(row: StoredMemory, statement: StoredMemory | MemoryVersion, at: datetime, place: int) -> Utterance:
    """Return a memory's current or past text as a statement made at this time, ready to be replayed."""
    return Utterance(
        at=at,
        place=place,
        persona_id=row.persona_id,
        content=statement.content,
        importance=statement.importance,
        confidence=statement.confidence,
        source=statement.source,
        origin=statement.origin,
        trust=statement.trust,
    )
