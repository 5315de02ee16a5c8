"""A stored memory: the current fact under its key, the versions that it replaced, and where it was said."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from mnemon.memory.fact import EntityType, FactType, MemoryType
from mnemon.memory.keys import withdrawn_key
from mnemon.memory.lifecycle import (
    AGREED,
    CORRECTED,
    OVERTAKEN,
    SET_ASIDE,
    WITHDRAWN,
    WITHDRAWN_ARCHIVED,
    ArchiveReason,
    ArchiveStatus,
)
from mnemon.memory.trust import Trust, mark_of, marked_text


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """One time that the fact was said."""

    turn_id: str
    message_id: str
    start: int
    """Offset of the quote's first character in the message."""
    end: int
    quote: str
    at: datetime


_SET_ASIDE_NOTES = frozenset({SET_ASIDE, OVERTAKEN, AGREED, CORRECTED})


@dataclass(frozen=True, kw_only=True)
class StoredMemory:
    """What is known now under one key about one person, visible to all personas or to one."""

    id: str
    persona_id: str | None
    """The only persona that sees it; None: all."""
    type: MemoryType
    content: str
    entity_refs: tuple[str, ...]
    """Entity keys as stored; aliases are resolved when they are read."""
    entity_label: str | None
    """The primary entity's name as people write it."""
    entity_type: EntityType
    fact_type: FactType
    attribute: str | None
    importance: int
    """0 trivial, 1 standard, 2 significant, 3 critical; 3 while pinned."""
    pinned: bool
    memory_key: str
    source: str
    origin: str
    """The exact source, such as `tool:crm`; equal to `source` if nothing more specific is known."""
    trust: Trust
    claim_of: str | None
    """For a claim, the key of the more trusted memory that it contradicts; None otherwise."""
    status: ArchiveStatus
    archive_reason: ArchiveReason | None
    archived_at: datetime | None
    note: str | None
    """Why it was last changed by hand or by upkeep."""
    confidence: float
    mentions: int
    """How often its current text was stated."""
    valid_from: datetime
    valid_to: datetime | None
    stated_at: datetime
    """The latest time at which it was stated to be true."""
    version: int
    """The number of the current version among all recorded ones."""
    versions: int
    """How many versions were recorded, including this one."""
    sources: tuple[str, ...]
    """Ids of the memories that it was merged from."""
    created_at: datetime
    """When it was first said."""
    updated_at: datetime
    """When it was last said or changed; recency is counted from here."""
    revision: int
    """The person's revision after its last change."""
    entity_labels: tuple[str, ...] | None = None
    """The name of each of its entities, in the order of `entity_refs`; None: it has one, which it is about."""
    entity_roles: tuple[str, ...] | None = None
    """What each of them is in the fact: `about`, or the attribute whose value it is."""
    dates: tuple[str, ...] | None = None
    """The days that relative dates in its text mean, each as `tomorrow: 2026-05-05`."""
    unpinned_importance: int | None = None
    """The importance that it has again once it is unpinned; None: it is not pinned."""
    slot: str | None = field(default=None, compare=False)
    """Of whose attribute it is a value (`slots`); empty: of none that is known; None: not read yet."""
    provenance: tuple[Provenance, ...] = ()
    """The latest statements of its current text, newest first."""

    @property
    def importance_without_pin(self) -> int:
        """Return the importance that it has once it is not pinned."""
        return self.importance if self.unpinned_importance is None else self.unpinned_importance

    def label_of(self, key: str) -> str | None:
        """Return the name by which its text calls one of its entities; None if it does not name that."""
        if self.entity_labels is not None and key in self.entity_refs:
            return self.entity_labels[self.entity_refs.index(key)] or None
        return self.entity_label if self.entity_refs[:1] == (key,) else None

    @property
    def mark(self) -> str | None:
        """Return a mark that names the memory's source for a reader; None if the source is the person."""
        return mark_of(self.trust, self.origin, is_claim=self.claim_of is not None)

    def as_archived(self, reason: ArchiveReason, at: datetime, *, note: str | None) -> "StoredMemory":
        """Return the memory as archived for this reason; one archived before keeps its time of archiving."""
        since = self.archived_at or at
        return replace(
            self,
            status=ArchiveStatus.ARCHIVED,
            archive_reason=reason,
            archived_at=since,
            valid_to=self.valid_to or since,
            note=note,
        )

    def as_active(self, *, note: str | None = None) -> "StoredMemory":
        """Return the memory as active, without the note of its archiving."""
        return replace(
            self, status=ArchiveStatus.ACTIVE, archive_reason=None, archived_at=None, valid_to=None, note=note
        )

    @property
    def is_withdrawn(self) -> bool:
        """Say whether the memory was archived because its source was withdrawn: it counts as never said."""
        return self.archive_reason is ArchiveReason.WRONG and self.note in (WITHDRAWN, WITHDRAWN_ARCHIVED)

    @property
    def is_archived_by_choice(self) -> bool:
        """Say whether a person or a job archived the memory, even if its source was withdrawn later."""
        return self.archive_reason is not None and (not self.is_withdrawn or self.note == WITHDRAWN_ARCHIVED)

    @property
    def is_replaced(self) -> bool:
        """Say whether the memory was withdrawn and gave its key to another one, which took its place."""
        return self.memory_key.endswith(withdrawn_key("", self.id))

    @property
    def is_set_aside(self) -> bool:
        """Say whether the memory is a claim that a rule archived because what it contradicted is gone."""
        return self.archive_reason is ArchiveReason.OUTDATED and self.note in _SET_ASIDE_NOTES

    @property
    def line(self) -> str:
        """Return the memory as a prompt or card shows it, marked with its source if that is not the person."""
        return self.line_with_claims(0)

    def line_with_claims(self, further_claims: int, *, alone: bool = False) -> str:
        """Return the memory as a prompt shows it, with the number of further claims that contradict the same memory.

        A claim that is shown `alone`, not after what it contradicts, is not marked as a claim.
        """
        is_claim = self.claim_of is not None and not alone
        return marked_text(self.content, self.trust, self.origin, is_claim=is_claim, further_claims=further_claims)


@dataclass(frozen=True, kw_only=True)
class MemoryVersion:
    """What was held to be true under a key for a time."""

    number: int
    content: str
    importance: int
    confidence: float
    source: str
    origin: str
    trust: Trust
    valid_from: datetime
    valid_to: datetime | None
    """None for the current version."""
    recorded_at: datetime
    reason: str | None
    """Why it was replaced, if a reason was given."""
    mentions: int = 1
    """How often its words were stated while it was current."""
    current: bool = False
    provenance: tuple[Provenance, ...] = ()
    """The latest statements of its words, newest first; loaded for the history alone."""

    @property
    def is_repeat(self) -> bool:
        """Say whether the version only records that another source said the same."""
        return self.number < 0
