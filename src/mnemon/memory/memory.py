"""A memory as it is held: the current fact under its key, the versions it replaced, and where it was said."""

from dataclasses import dataclass
from datetime import datetime

from mnemon.memory.fact import EntityType, FactType, MemoryType
from mnemon.memory.lifecycle import SET_ASIDE, WITHDRAWN, ArchiveReason, ArchiveStatus
from mnemon.memory.trust import Trust, source_mark, speaks_for_person


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """One time the fact was said."""

    turn_id: str
    message_id: str
    quote: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class StoredMemory:
    """What is known now under one key, for one person, to everyone or to one persona."""

    id: str
    persona_id: str | None
    """None: global; otherwise only this persona sees it."""
    type: MemoryType
    content: str
    entity_refs: tuple[str, ...]
    """Entity keys as stored; aliases resolve on read."""
    entity_label: str | None
    """The primary entity as people write it."""
    entity_type: EntityType
    fact_type: FactType
    attribute: str | None
    importance: int
    """0 trivial, 1 standard, 2 significant, 3 critical; 3 while pinned."""
    pinned: bool
    memory_key: str
    source: str
    origin: str
    """Which one of its sources said it, like `tool:crm`; the source itself where nothing finer is known."""
    trust: Trust
    claim_of: str | None
    """The key of what a more trusted source says, beside which it stands as a claim; None: it stands for itself."""
    status: ArchiveStatus
    archive_reason: ArchiveReason | None
    archived_at: datetime | None
    note: str | None
    """Why it was last changed by hand or by upkeep."""
    confidence: float
    mentions: int
    """How often it was stated."""
    valid_from: datetime
    valid_to: datetime | None
    stated_at: datetime
    """The latest time it was stated to hold."""
    version: int
    """Number of the current version among all that were recorded."""
    versions: int
    """How many versions were recorded, this one included."""
    sources: tuple[str, ...]
    """Ids of the memories it was folded from."""
    created_at: datetime
    """When it was first said."""
    updated_at: datetime
    """When it was last said or changed; recency counts from here."""
    revision: int
    """The person's revision that its last change made."""
    provenance: tuple[Provenance, ...] = ()
    """The latest ones, newest first."""

    @property
    def mark(self) -> str | None:
        """Where it comes from, in words for a reader; None for what needs no mark."""
        if speaks_for_person(self.trust):
            return None if self.claim_of is None else f"the {self.trust}"
        return source_mark(self.trust, self.origin)

    @property
    def is_withdrawn(self) -> bool:
        """Whether it was archived because its source was taken back, so that it counts as never said."""
        return self.archive_reason is ArchiveReason.WRONG and self.note == WITHDRAWN

    @property
    def is_set_aside(self) -> bool:
        """Whether it is a claim that a withdrawal archived, because its source was outdone later."""
        return self.archive_reason is ArchiveReason.OUTDATED and self.note == SET_ASIDE

    @property
    def line(self) -> str:
        """The memory as a prompt and a card show it: what is not the person's own is marked with its source."""
        return self.line_with_claims(0)

    def line_with_claims(self, further_claims: int) -> str:
        """The same, where so many further claims contradict what this one contradicts."""
        if self.mark is None:
            return self.content
        more = f", and {further_claims} further claim{'s' if further_claims > 1 else ''}" if further_claims else ""
        if speaks_for_person(self.trust):
            return f"{self.content} (claim: {self.mark} says otherwise{more})"
        return f"{self.content} ({'external' if self.claim_of is None else 'external claim'}: {self.mark}{more})"


@dataclass(frozen=True, kw_only=True)
class MemoryVersion:
    """What was held true under a key for a time."""

    number: int
    content: str
    importance: int
    confidence: float
    source: str
    origin: str
    trust: Trust
    valid_from: datetime
    valid_to: datetime | None
    """None for the current one."""
    recorded_at: datetime
    reason: str | None
    """Why it was replaced, where someone said so."""
    current: bool = False

    @property
    def is_repeat(self) -> bool:
        """Whether it only says that another source said the same."""
        return self.number < 0
