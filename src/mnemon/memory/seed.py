"""The seed: a profile loaded at the start, as facts. Loading it again changes nothing."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mnemon.memory.fact import SEEDED_PROFILE, Entity, EntityType, Fact, FactType, MemoryType
from mnemon.outside import reads_outside_text

_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


@dataclass(frozen=True, kw_only=True)
class SeedEntry:
    """One fact of a profile, as the application gave it."""

    content: str
    type: MemoryType = MemoryType.PROFILE
    entity_type: EntityType | None = None
    entity_label: str | None = None
    fact_type: FactType = FactType.FACT
    attribute: str | None = None
    importance: int | None = None
    pinned: bool | None = None


@reads_outside_text
def entries_of(text: str) -> tuple[SeedEntry, ...]:
    """A fact a line, list marks set aside, empty lines and repeated ones left out."""
    lines = (" ".join(_BULLET.sub("", line).split()) for line in text.splitlines())
    return tuple(SeedEntry(content=line) for line in dict.fromkeys(lines) if line)


def facts_of(entries: Iterable[SeedEntry]) -> tuple[Fact, ...]:
    """The entries as facts with the source `seeded_profile`."""
    return tuple(
        Fact(
            type=entry.type,
            content=entry.content,
            entity=Entity(type=entry.entity_type, label=entry.entity_label)
            if entry.entity_type and entry.entity_label
            else None,
            fact_type=entry.fact_type,
            attribute=entry.attribute,
            importance=entry.importance,
            pinned=entry.pinned,
            source=SEEDED_PROFILE,
        )
        for entry in entries
    )
