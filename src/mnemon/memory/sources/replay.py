"""What would be held under a key had a source never spoken: all other statements, told again in their order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count

from mnemon.memory.fact import Fact, FactEntity
from mnemon.memory.lifecycle import WITHDRAWN, ArchiveStatus
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.plan import WriteStamp
from mnemon.memory.remember import FactBatch, MemoryPlace
from mnemon.memory.repeats import has_time_of_other
from mnemon.memory.trust import Trust


@dataclass(frozen=True, kw_only=True)
class Utterance:
    """One statement that is on record."""

    at: datetime
    place: int
    """Of two at the same time, the one with the lower number came first."""
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
    """What the other sources' statements under these rows, which have one key or claim it, come to by themselves."""
    said = sorted(_utterances_without(rows, past, origin), key=lambda one: (one.at, one.place))
    if not said:
        return {}
    first = rows[0]
    about = FactEntity(type=first.entity_type, label=first.entity_label) if first.entity_label else None
    batch = FactBatch.empty(WriteStamp(at=said[0].at, now=said[0].at, revision=0))
    numbers = count(1)
    for one in said:
        batch.persona_id = one.persona_id
        batch.stamp = WriteStamp(at=one.at, now=one.at, revision=0)
        fact = Fact(
            type=first.type,
            content=one.content,
            entity=about,
            fact_type=first.fact_type,
            attribute=first.attribute,
            importance=one.importance,
            confidence=one.confidence,
            source=one.source,
            trust=one.trust,
            origin=one.origin,
            private=one.persona_id is not None,
        )
        batch.apply_fact(0, fact, lambda kind: f"{kind}_{next(numbers)}")
    return batch.held


def _utterances_without(
    rows: Sequence[StoredMemory], past: Mapping[str, Sequence[MemoryVersion]], origin: str
) -> Iterator[Utterance]:
    # A fact was there before a claim could contradict it.
    for number, row in enumerate(sorted(rows, key=lambda one: one.claim_of is not None)):
        if row.origin != origin and (row.status is ArchiveStatus.ACTIVE or row.is_set_aside):
            for at in _utterance_times(row, row.stated_at, past.get(row.id, ())):
                yield _build_utterance(row, row, at, number)
        for one in past.get(row.id, ()):
            if one.origin != origin and one.reason != WITHDRAWN:
                for at in _utterance_times(one, max(one.valid_from, one.recorded_at), past.get(row.id, ())):
                    yield _build_utterance(row, one, at, number)


def _utterance_times(
    said: StoredMemory | MemoryVersion, last: datetime, past: Sequence[MemoryVersion]
) -> set[datetime]:
    """When its source said it first and last. One that took over the same words has its own first time on record."""
    repeat = isinstance(said, MemoryVersion) and said.is_repeat
    return {last} if not repeat and has_time_of_other(past, said) else {said.valid_from, last}


def _build_utterance(row: StoredMemory, said: StoredMemory | MemoryVersion, at: datetime, place: int) -> Utterance:
    return Utterance(
        at=at,
        place=place,
        persona_id=row.persona_id,
        content=said.content,
        importance=said.importance,
        confidence=said.confidence,
        source=said.source,
        origin=said.origin,
        trust=said.trust,
    )
