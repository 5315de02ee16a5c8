"""What a statement changes in the memories that are stored.

Pure functions: the changes are computed from the stored rows and the statement before anything is written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from mnemon.memory.claims import makes_claim
from mnemon.memory.fact import EntityType, Fact
from mnemon.memory.importance import CRITICAL, confidence_of, importance_of
from mnemon.memory.keys import claim_key, key_of_fact
from mnemon.memory.lifecycle import (
    WAS_CLAIM,
    WITHDRAWN,
    ArchiveStatus,
    ExtendBack,
    InsertPast,
    Placement,
    Repeat,
    SplitCurrent,
    Supersede,
    VersionSpan,
    archive_note,
    has_same_words,
    may_revive,
    place_statement,
)
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.mentioned import ABOUT, mentioned_entities
from mnemon.memory.repeats import record_repeat, record_replaced_version, version_from_fact
from mnemon.memory.trust import Trust, outranks


class MemoryOutcome(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class WriteStamp:
    """The times and the revision of a write."""

    at: datetime
    """When the statement was made."""
    now: datetime
    """When it is recorded."""
    revision: int
    """The person's revision after this write."""


@dataclass(frozen=True, kw_only=True)
class MemoryChange:
    """What is to be written for one statement."""

    outcome: MemoryOutcome
    memory: StoredMemory
    """The memory afterwards."""
    versions: tuple[MemoryVersion, ...] = ()
    """Past versions to insert."""
    moved: Mapping[int, tuple[datetime | None, datetime | None]] = field(default_factory=dict)
    """Past versions whose validity changes: number to new (from, to); None leaves a bound as it is."""
    displaced: int | None = None
    """The number of the version that the current text became, with its vector; None if the text is still current."""
    reworded: bool = False
    """Whether the current text changed within its version, so that its vector is that of the old wording."""
    why: str | None = None
    """Why the statement was skipped; None if it was not."""
    mentioned: tuple[int, ...] = ()
    """Numbers of past versions whose words were stated once more."""
    withdrawn: tuple[int, ...] = ()
    """Numbers of past versions that now count as never said."""


def create_memory(
    fact: Fact,
    stamp: WriteStamp,
    *,
    id: str,  # noqa: A002
    persona_id: str | None,
    claim_of: str | None = None,
) -> MemoryChange:
    """Return the change that creates a memory of a fact about which nothing is stored.

    With `claim_of`, it is a claim beside the memory with that key.
    """
    valid_from = fact.valid_from or stamp.at
    entities = mentioned_entities(fact)
    memory = StoredMemory(
        id=id,
        persona_id=persona_id,
        type=fact.type,
        content=fact.content,
        entity_refs=tuple(one.key for one in entities),
        entity_labels=tuple(one.label for one in entities) if len(entities) > 1 else None,
        entity_roles=tuple(one.role for one in entities) if len(entities) > 1 else None,
        entity_label=fact.entity.label if fact.entity else None,
        entity_type=fact.entity.type if fact.entity else EntityType.PERSON,
        fact_type=fact.fact_type,
        attribute=fact.attribute,
        importance=importance_of(fact),
        pinned=bool(fact.pinned),
        unpinned_importance=importance_of(replace(fact, pinned=None)) if fact.pinned else None,
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
        slot="" if claim_of else fact.slot,
        dates=fact.dates or None,
        created_at=stamp.at,
        updated_at=stamp.at,
        revision=stamp.revision,
    )
    return MemoryChange(outcome=MemoryOutcome.CREATED, memory=memory)


def skip_if_known(
    fact: Fact, held: StoredMemory, past: tuple[MemoryVersion, ...], at: datetime, *, denied_at: datetime | None = None
) -> MemoryChange | None:
    """Return a skipping change for a fact that only repeats a more trusted memory; None for any other fact.

    None if it says something else, or makes an archived memory active again.

    A less trusted repeat changes neither text nor times nor importance, so that it cannot take a place in the history
    that a later statement of the person needs. It is recorded in case the more trusted source is withdrawn. `denied_at`
    is when its source last said something else.
    """
    if not has_same_words(fact.content, held.content):
        return None
    if held.archive_reason is None:
        repeat = record_repeat(past, fact, at, denied_at=denied_at)
        why = f"known already from a more trusted source: {held.trust}"
        return MemoryChange(
            outcome=MemoryOutcome.SKIPPED, memory=held, versions=repeat.versions, moved=repeat.moved, why=why
        )
    if may_revive(held.archive_reason, same_words=True, extracted=True):
        return None
    return MemoryChange(outcome=MemoryOutcome.SKIPPED, memory=held, why=archive_note(held.archive_reason))


def plan_update(
    held: StoredMemory, past: tuple[MemoryVersion, ...], fact: Fact, stamp: WriteStamp, *, extracted: bool
) -> MemoryChange:
    """Return what a fact does to a stored memory: repeat it, replace it, enter its history, or leave it archived.

    Raises ValueError for a fact that is a claim against the memory.
    """
    # FactBatch makes claims of such facts; reaching this line is a bug of the caller.
    if makes_claim(held, fact, stamp.at):
        raise ValueError(f"a statement of {fact.effective_trust} cannot change a memory of {held.trust}")
    at = fact.valid_from or stamp.at
    if held.is_withdrawn:
        return _replace_memory(held, fact, stamp, until=held.valid_from, reason=WITHDRAWN)
    if held.archive_reason and held.archived_at and outranks(held.trust, fact.effective_trust):
        # The person's statement holds since the archiving at most: it does not rewrite more trusted history.
        fact = replace(fact, valid_from=max(at, held.archived_at))
        until = max(held.valid_from, held.archived_at)
        return _replace_memory(held, fact, stamp, until=until, reason=archive_note(held.archive_reason))
    # A statement older than the archiving cannot undo it: it only enters the history below.
    if held.archive_reason and held.archived_at and stamp.at >= held.archived_at:
        same = has_same_words(fact.content, held.content)
        if not may_revive(held.archive_reason, same_words=same, extracted=extracted):
            return MemoryChange(outcome=MemoryOutcome.SKIPPED, memory=held, why=archive_note(held.archive_reason))
        # The note says why it was archived, which it no longer is.
        held = held.as_active()
    # Against statements of its own trust, or more, times decide the order as usual.
    if outranks(fact.effective_trust, held.trust) and not _has_later_equal(past, fact.effective_trust, at):
        return _replace_less_trusted(held, past, fact, at, stamp)
    spans = [
        VersionSpan(number=one.number, content=one.content, valid_from=one.valid_from, stated_at=one.valid_from)
        for one in past
        if not one.is_repeat
    ]
    spans.append(
        VersionSpan(number=held.version, content=held.content, valid_from=held.valid_from, stated_at=held.stated_at)
    )
    placement = place_statement(spans, fact.content, at)
    # A repeat of a past version says nothing about the current text.
    current = isinstance(placement, Supersede) or (isinstance(placement, Repeat) and at >= held.valid_from)
    said = placement.number if isinstance(placement, Repeat | ExtendBack) else None
    stated = _add_mention(held, fact, stamp, current=current, counts=said == held.version)
    change = _apply_placement(stated, held, fact, placement, at, stamp)
    if said is not None and said != held.version:
        change = replace(change, mentioned=(said,))
    if isinstance(placement, Repeat) and current and fact.said_by != held.origin:
        repeat = record_repeat(past, fact, at)
        return replace(change, versions=repeat.versions, moved=repeat.moved)
    return change


def _replace_memory(held: StoredMemory, fact: Fact, stamp: WriteStamp, *, until: datetime, reason: str) -> MemoryChange:
    """Return the change that replaces a withdrawn or archived memory by a fact and keeps the old text as a version."""
    fresh = create_memory(fact, stamp, id=held.id, persona_id=held.persona_id, claim_of=held.claim_of).memory
    memory = replace(
        fresh,
        memory_key=held.memory_key,
        created_at=held.created_at,
        version=held.versions + 1,
        versions=held.versions + 1,
    )
    version = version_of(held, number=held.version, until=until, reason=reason)
    return MemoryChange(outcome=MemoryOutcome.UPDATED, memory=memory, versions=(version,), displaced=held.version)


def _has_later_equal(past: tuple[MemoryVersion, ...], trust: Trust, at: datetime) -> bool:
    """Say whether a statement of at least this trust was in force after `at`."""
    return any(one.valid_to is not None and one.valid_to > at and not outranks(trust, one.trust) for one in past)


def _replace_less_trusted(
    held: StoredMemory, past: tuple[MemoryVersion, ...], fact: Fact, at: datetime, stamp: WriteStamp
) -> MemoryChange:
    """Return the change by which a more trusted fact replaces the memory's text, whenever either began to be true.

    Otherwise a tool could date its statement into the future and keep the person's next statement out.
    """
    stated = _add_mention(held, fact, stamp, current=True)
    # What less trusted sources said about the time since then was never valid: keep it on record with an empty span.
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
        replaced = version_of(held, number=held.version, until=held.valid_from, reason=None)
        before = record_replaced_version(past, replace(replaced, recorded_at=held.stated_at))
        # The memory keeps the earlier start of the other source, so the first statement of this source is recorded too.
        own = record_repeat((*past, before), fact, at)
        return MemoryChange(
            outcome=MemoryOutcome.UPDATED,
            memory=memory,
            versions=(before, *own.versions),
            moved={**moved, **own.moved},
            reworded=memory.content != held.content,
        )
    return replace(_supersede_memory(stated, held, fact, at, stamp), moved=moved)


def _add_mention(
    held: StoredMemory, fact: Fact, stamp: WriteStamp, *, current: bool, counts: bool = True
) -> StoredMemory:
    """Return the memory with one more mention if the fact `counts`, and the fact's weight and pin if `current`."""
    mentioned = replace(
        held,
        mentions=held.mentions + counts,
        revision=stamp.revision,
        updated_at=max(held.updated_at, stamp.at) if current else held.updated_at,
    )
    if not current:
        return mentioned
    pinned = held.status is ArchiveStatus.ACTIVE and (held.pinned if fact.pinned is None else fact.pinned)
    # Stated importance counts; derived importance only ever raises. A pin has none of its own: it goes with the pin.
    derived = max(held.importance_without_pin, importance_of(replace(fact, pinned=None)))
    weight = fact.importance if fact.importance is not None else derived
    sure = fact.confidence if fact.confidence is not None else max(held.confidence, confidence_of(fact))
    note = None if held.note == WAS_CLAIM else held.note
    return replace(
        mentioned,
        pinned=pinned,
        importance=CRITICAL if pinned else weight,
        unpinned_importance=weight if pinned else None,
        confidence=sure,
        note=note,
    )


def _apply_placement(
    stated: StoredMemory, held: StoredMemory, fact: Fact, placement: Placement, at: datetime, stamp: WriteStamp
) -> MemoryChange:
    """Return the change that a fact makes at this place of the memory's history: repeat, replace or past version."""
    match placement:
        case Repeat():
            latest = at >= held.stated_at
            content = fact.content if latest else held.content
            dates = (fact.dates or None) if latest else held.dates
            memory = replace(stated, content=content, dates=dates, stated_at=max(held.stated_at, at))
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
    """Return the change that makes the fact the memory's text, and the earlier text a past version."""
    others = mentioned_entities(fact)[1:]
    about = held.entity_refs[:1]
    label = fact.entity.label if fact.entity else held.entity_label
    memory = replace(
        stated,
        content=fact.content,
        entity_refs=(*about, *(one.key for one in others)) if about else (),
        entity_labels=(label or "", *(one.label for one in others)) if about and others else None,
        entity_roles=(ABOUT, *(one.role for one in others)) if about and others else None,
        entity_label=fact.entity.label if fact.entity else held.entity_label,
        source=fact.source,
        origin=fact.said_by,
        trust=fact.effective_trust,
        confidence=confidence_of(fact),
        mentions=1,
        dates=fact.dates or None,
        # A note is about the earlier text.
        note=None,
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
    """Return the change of a memory's text by hand; the earlier text becomes a version valid until now.

    The new text begins with one mention of its own.
    """
    since = max(at, held.valid_from)
    memory = replace(
        held,
        content=content,
        mentions=1,
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
    """Return the memory's current text and source as a past version that was valid until then."""
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
        mentions=held.mentions,
    )
