"""A memory as it is held: the current fact under its key, the versions it replaced, and where it was said."""

from dataclasses import dataclass
from datetime import datetime

from mnemon.memory.fact import EntityType, FactType, MemoryType, Trust
from mnemon.memory.lifecycle import ArchiveReason, Status


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """One time the fact was said."""

    turn_id: str
    message_id: str
    quote: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Memory:
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
    trust: Trust
    status: Status
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


@dataclass(frozen=True, kw_only=True)
class Version:
    """What was held true under a key for a time."""

    number: int
    content: str
    importance: int
    confidence: float
    source: str
    trust: Trust
    valid_from: datetime
    valid_to: datetime | None
    """None for the current one."""
    recorded_at: datetime
    reason: str | None
    """Why it was replaced, where someone said so."""
    current: bool = False
