"""What a statement does to what is held: computed before anything is written, from the rows and the statement alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from mnemon.memory.fact import EntityType, Fact
from mnemon.memory.importance import confidence_of, importance_of
from mnemon.memory.keys import claim_key, entity_key, key_of_fact
from mnemon.memory.lifecycle import (
    WITHDRAWN,
    ArchiveStatus,
    ExtendBack,
    InsertPast,
    Placement,
    Repeat,
    SplitCurrent,
    Supersede,
    VersionSpan,
    has_same_words,
    may_revive,
    place_statement,
)
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.repeats import record_repeat, record_replaced_version, version_from_fact
from mnemon.memory.trust import Trust, outranks


class MemoryOutcome(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class WriteStamp:
    """The circumstances of a write."""

    at: datetime
    """When it was said."""
    now: datetime
    """When it is recorded."""
    revision: int
    """The person's revision that this write makes."""


@dataclass(frozen=True, kw_only=True)
class MemoryChange:
    """What is to be written for one statement."""

    outcome: MemoryOutcome
    memory: StoredMemory
    """As it stands afterwards."""
    versions: tuple[MemoryVersion, ...] = ()
    """Past versions to add."""
    moved: Mapping[int, tuple[datetime | None, datetime | None]] = field(default_factory=dict)
    """Past versions whose validity changes: number to new (from, to), None where it stays."""
    displaced: int | None = None
    """The version that the current text, with its vector, became."""
    reworded: bool = False
    """Whether the current text changed within its version, so that the vector it has is of the old wording."""
    why: str | None = None
    """Why it was skipped."""
    withdrawn: tuple[int, ...] = ()
    """Numbers of past versions that count as never said."""


def create_memory(
    fact: Fact,
    stamp: WriteStamp,
    *,
    id: str,  # noqa: A002
    persona_id: str | None,
    claim_of: str | None = None,
) -> MemoryChange:
    """A fact nothing is held about yet becomes a memory; with `claim_of`, a claim beside what that key holds."""
    valid_from = fact.valid_from or stamp.at
    memory = StoredMemory(
        id=id,
        persona_id=persona_id,
        type=fact.type,
        content=fact.content,
        entity_refs=(entity_key(fact.entity),) if fact.entity else (),
        entity_label=fact.entity.label if fact.entity else None,
        entity_type=fact.entity.type if fact.entity else EntityType.PERSON,
        fact_type=fact.fact_type,
        attribute=fact.attribute,
        importance=importance_of(fact),
        pinned=bool(fact.pinned),
        memory_key=claim_key(fact) if claim_of else key_of_fact(fact),
        source=fact.source,
        origin=fact.said_by,
        trust=fact.effective_trust,
        claim_of=claim_of,
        status=ArchiveStatus.ACTIVE,
        archive_reason=None,
        archived_at=None,
        note=None,
        confidence=confidence_of(fact),
        mentions=1,
        valid_from=valid_from,
        valid_to=None,
        stated_at=valid_from,
        version=1,
        versions=1,
        sources=fact.sources,
        created_at=stamp.at,
        updated_at=stamp.at,
        revision=stamp.revision,
    )
    return MemoryChange(outcome=MemoryOutcome.CREATED, memory=memory)


def skip_if_known(fact: Fact, held: StoredMemory, past: tuple[MemoryVersion, ...], at: datetime) -> MemoryChange | None:
    """What a fact does that says what a more trusted memory says already: nothing. None when it says something else.

    A less trusted repeat changes neither words nor times nor weight, so that no later statement of the person's finds
    its place in time taken. It is on record for the case that the more trusted source is taken back.
    """
    if not has_same_words(fact.content, held.content):
        return None
    if held.archive_reason is None:
        said = record_repeat(past, fact, at)
        why = f"known already from a more trusted source: {held.trust}"
        return MemoryChange(
            outcome=MemoryOutcome.SKIPPED, memory=held, versions=said.versions, moved=said.moved, why=why
        )
    if may_revive(held.archive_reason, same_words=True, extracted=True):
        return None
    return MemoryChange(outcome=MemoryOutcome.SKIPPED, memory=held, why=f"archived as {held.archive_reason}")


def update_memory(
    held: StoredMemory, past: tuple[MemoryVersion, ...], fact: Fact, stamp: WriteStamp, *, extracted: bool
) -> MemoryChange:
    """A fact about which something is held repeats it, replaces it, or takes its place in its history.

    The fact is trusted as much as what is held, or more; one that is trusted less becomes a claim of its own.
    """
    if outranks(held.trust, fact.effective_trust) and not held.is_withdrawn:
        raise ValueError(f"a statement of {fact.effective_trust} cannot change a memory of {held.trust}")
    at = fact.valid_from or stamp.at
    if held.is_withdrawn:
        return replace_withdrawn(held, fact, stamp)
    if held.archive_reason and held.archived_at and stamp.at >= held.archived_at:
        same = has_same_words(fact.content, held.content)
        if not may_revive(held.archive_reason, same_words=same, extracted=extracted):
            return MemoryChange(outcome=MemoryOutcome.SKIPPED, memory=held, why=f"archived as {held.archive_reason}")
        held = replace(held, status=ArchiveStatus.ACTIVE, archive_reason=None, archived_at=None, valid_to=None)
    if outranks(fact.effective_trust, held.trust) and not _has_later_equal(past, fact.effective_trust, at):
        return _take_over(held, past, fact, at, stamp)
    spans = [
        VersionSpan(number=one.number, content=one.content, valid_from=one.valid_from, stated_at=one.valid_from)
        for one in past
        if not one.is_repeat
    ]
    spans.append(
        VersionSpan(number=held.version, content=held.content, valid_from=held.valid_from, stated_at=held.stated_at)
    )
    placed = place_statement(spans, fact.content, at)
    # A repeat of a past version says nothing about what is held now.
    current = isinstance(placed, Supersede) or (isinstance(placed, Repeat) and at >= held.valid_from)
    stated = _add_mention(held, fact, stamp, current=current)
    change = _apply_placement(stated, held, fact, placed, at, stamp)
    if isinstance(placed, Repeat) and current and fact.said_by != held.origin:
        said = record_repeat(past, fact, at)
        return replace(change, versions=said.versions, moved=said.moved)
    return change


def replace_withdrawn(held: StoredMemory, fact: Fact, stamp: WriteStamp) -> MemoryChange:
    """A fact takes the place of one that counts as never said: nothing of that one but its history stays."""
    fresh = create_memory(fact, stamp, id=held.id, persona_id=held.persona_id, claim_of=held.claim_of).memory
    memory = replace(
        fresh,
        memory_key=held.memory_key,
        created_at=held.created_at,
        version=held.versions + 1,
        versions=held.versions + 1,
    )
    version = version_of(held, number=held.version, until=held.valid_from, reason=WITHDRAWN)
    return MemoryChange(outcome=MemoryOutcome.UPDATED, memory=memory, versions=(version,), displaced=held.version)


def _has_later_equal(past: tuple[MemoryVersion, ...], trust: Trust, at: datetime) -> bool:
    """Whether a version that is trusted as much held after that time, so that the order of times decides."""
    return any(one.valid_to is not None and one.valid_to > at and not outranks(trust, one.trust) for one in past)


def _take_over(
    held: StoredMemory, past: tuple[MemoryVersion, ...], fact: Fact, at: datetime, stamp: WriteStamp
) -> MemoryChange:
    """A more trusted statement is what is held, whatever time the less trusted one claimed to hold from.

    Otherwise a tool could date its statement into the future and keep the person's next one out.
    """
    stated = _add_mention(held, fact, stamp, current=True)
    # What less trusted sources said of the time since then never held: it stays on record with no time of its own.
    moved = {
        one.number: (None, max(at, one.valid_from))
        for one in past
        if one.valid_to is not None and one.valid_to > max(at, one.valid_from)
    }
    if has_same_words(fact.content, held.content):
        memory = replace(
            stated,
            content=fact.content,
            source=fact.source,
            origin=fact.said_by,
            trust=fact.effective_trust,
            valid_from=min(held.valid_from, at),
            stated_at=at,
        )
        said = version_of(held, number=held.version, until=held.valid_from, reason=None)
        before = record_replaced_version(past, replace(said, recorded_at=held.stated_at))
        # The time since when it holds stays the other's, so its own first statement is on record too.
        own = record_repeat((*past, before), fact, at)
        return MemoryChange(
            outcome=MemoryOutcome.UPDATED,
            memory=memory,
            versions=(before, *own.versions),
            moved={**moved, **own.moved},
            reworded=memory.content != held.content,
        )
    return replace(_supersede_memory(stated, held, fact, at, stamp), moved=moved)


def _add_mention(held: StoredMemory, fact: Fact, stamp: WriteStamp, *, current: bool) -> StoredMemory:
    """What one more statement changes whatever it says; its own figures count only when it is what is held now."""
    again = replace(
        held,
        mentions=held.mentions + 1,
        revision=stamp.revision,
        updated_at=max(held.updated_at, stamp.at) if current else held.updated_at,
    )
    if not current:
        return again
    pinned = held.status is ArchiveStatus.ACTIVE and (held.pinned if fact.pinned is None else fact.pinned)
    weight = fact.importance if fact.importance is not None else max(held.importance, importance_of(fact))
    sure = fact.confidence if fact.confidence is not None else max(held.confidence, confidence_of(fact))
    return replace(again, pinned=pinned, importance=3 if pinned else weight, confidence=sure)


def _apply_placement(
    stated: StoredMemory, held: StoredMemory, fact: Fact, placed: Placement, at: datetime, stamp: WriteStamp
) -> MemoryChange:
    match placed:
        case Repeat():
            latest = at >= held.stated_at
            content = fact.content if latest else held.content
            memory = replace(stated, content=content, stated_at=max(held.stated_at, at))
            return MemoryChange(outcome=MemoryOutcome.UPDATED, memory=memory, reworded=memory.content != held.content)
        case Supersede(valid_from=since):
            return _supersede_memory(stated, held, fact, since, stamp)
        case InsertPast(valid_from=since, valid_to=until, before=before):
            number = held.versions + 1
            moved = {} if before is None else {before: (None, since)}
            version = version_from_fact(fact, number, since=since, until=until, recorded_at=stamp.now)
            return MemoryChange(
                outcome=MemoryOutcome.UPDATED, memory=replace(stated, versions=number), versions=(version,), moved=moved
            )
        case SplitCurrent(valid_from=since, valid_to=until):
            first = version_of(held, number=held.versions + 1, until=since, reason=None)
            second = version_from_fact(fact, held.versions + 2, since=since, until=until, recorded_at=stamp.now)
            memory = replace(stated, valid_from=until, versions=held.versions + 2)
            return MemoryChange(outcome=MemoryOutcome.UPDATED, memory=memory, versions=(first, second))
        case ExtendBack(number=number, valid_from=since, before=before):
            moved = {} if before is None else {before: (None, since)}
            if number == held.version:
                return MemoryChange(
                    outcome=MemoryOutcome.UPDATED, memory=replace(stated, valid_from=since), moved=moved
                )
            return MemoryChange(outcome=MemoryOutcome.UPDATED, memory=stated, moved={**moved, number: (since, None)})


def _supersede_memory(
    stated: StoredMemory, held: StoredMemory, fact: Fact, since: datetime, stamp: WriteStamp
) -> MemoryChange:
    memory = replace(
        stated,
        content=fact.content,
        entity_label=fact.entity.label if fact.entity else held.entity_label,
        source=fact.source,
        origin=fact.said_by,
        trust=fact.effective_trust,
        confidence=confidence_of(fact),
        valid_from=since,
        stated_at=since,
        version=held.versions + 1,
        versions=held.versions + 1,
        sources=fact.sources or held.sources,
    )
    version = version_of(held, number=held.version, until=max(since, held.valid_from), reason=None)
    return MemoryChange(outcome=MemoryOutcome.UPDATED, memory=memory, versions=(version,), displaced=held.version)


def rewrite_content(
    held: StoredMemory, content: str, *, at: datetime, reason: str | None, revision: int
) -> MemoryChange:
    """The text is changed by hand; the earlier one is kept as a version that held until now."""
    since = max(at, held.valid_from)
    memory = replace(
        held,
        content=content,
        note=reason,
        valid_from=since,
        stated_at=max(since, held.stated_at),
        updated_at=at,
        version=held.versions + 1,
        versions=held.versions + 1,
        revision=revision,
    )
    version = version_of(held, number=held.version, until=since, reason=reason)
    return MemoryChange(outcome=MemoryOutcome.UPDATED, memory=memory, versions=(version,), displaced=held.version)


def version_of(held: StoredMemory, *, number: int, until: datetime, reason: str | None) -> MemoryVersion:
    """Give what is held as a version that held until then."""
    return MemoryVersion(
        number=number,
        content=held.content,
        importance=held.importance,
        confidence=held.confidence,
        source=held.source,
        origin=held.origin,
        trust=held.trust,
        valid_from=held.valid_from,
        valid_to=until,
        recorded_at=held.updated_at,
        reason=reason,
    )
