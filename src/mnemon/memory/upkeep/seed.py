"""The seed: a profile of a person that is loaded at the start, as facts.

Loading it again remembers what is new, archives what is gone as outdated, and leaves the rest alone.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mnemon.db.tx import Tx
from mnemon.memory import store as memories
from mnemon.memory.edit import archive_memories
from mnemon.memory.fact import SEEDED_PROFILE, EntityType, Fact, FactEntity, FactType, MemoryType
from mnemon.memory.keys import key_of_fact
from mnemon.memory.lifecycle import ArchiveReason
from mnemon.memory.plan import MemoryOutcome
from mnemon.memory.remember import remember_facts
from mnemon.memory.slots import complete_fact, own_key
from mnemon.memory.upkeep import store
from mnemon.scope import Scope
from mnemon.untrusted_text import reads_outside_text
from mnemon.vectors.text_vectors import TextVectors

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
def parse_profile(text: str) -> tuple[SeedEntry, ...]:
    """Return a profile's lines as seed entries, without list marks, empty lines and repetitions."""
    lines = (" ".join(_BULLET.sub("", line).split()) for line in text.splitlines())
    return tuple(SeedEntry(content=line) for line in dict.fromkeys(lines) if line)


def seed_facts(entries: Iterable[SeedEntry]) -> tuple[Fact, ...]:
    """Return the seed's entries as facts with the source `seeded_profile`."""
    return tuple(
        Fact(
            type=entry.type,
            content=entry.content,
            entity=FactEntity(type=entry.entity_type, label=entry.entity_label)
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


@dataclass(frozen=True, kw_only=True)
class SeedResult:
    """What loading a profile did."""

    entries: tuple[SeedEntry, ...]
    stored: int
    updated: int
    skipped: int
    archived: int


async def apply_seed(
    tx: Tx, scope: Scope, entries: Sequence[SeedEntry], *, vectors: TextVectors | None = None
) -> SeedResult:
    """Make these entries the person's seed; loading the same again changes nothing. The person's row must exist."""
    wanted = list(dict.fromkeys(entries))
    before = await seed_entries(tx, scope)
    new = [entry for entry in wanted if entry not in before]
    gone = [entry for entry in before if entry not in wanted]
    outcomes = [one.outcome for one in await remember_facts(tx, scope, seed_facts(new), vectors=vectors)] if new else []
    archived = await _archive_removed(tx, scope, gone, wanted) if gone else 0
    if new or gone:
        await store_seed(tx, scope, wanted)
    return SeedResult(
        entries=tuple(wanted),
        stored=outcomes.count(MemoryOutcome.CREATED),
        updated=outcomes.count(MemoryOutcome.UPDATED),
        skipped=len(wanted) - len(new) + outcomes.count(MemoryOutcome.SKIPPED),
        archived=archived,
    )


async def store_seed(tx: Tx, scope: Scope, entries: Sequence[SeedEntry]) -> None:
    """Store the entries as the person's seed without changing any memory."""
    await store.put_seed(tx, scope, [_entry_fields(entry) for entry in entries])


async def seed_entries(tx: Tx, scope: Scope) -> list[SeedEntry]:
    """Return the entries of the person's seed; empty if there is none."""
    seed = await store.get_seed(tx, scope)
    return [entry_from_json(one) for one in seed.profile] if seed else []


async def _archive_removed(tx: Tx, scope: Scope, gone: Sequence[SeedEntry], wanted: Sequence[SeedEntry]) -> int:
    """Archive seeded memories whose entries are gone and whose key no other entry has; return how many."""
    remaining = {key for fact in seed_facts(wanted) for key in _seed_keys(fact)}
    keys = [key for fact in seed_facts(gone) for key in _seed_keys(fact) if key not in remaining]
    # Seeds are visible to all personas.
    held = await memories.by_keys(tx, scope.with_persona(None), keys)
    # What the person has said themselves in the meantime stays.
    ids = [one.id for one in held if one.source == SEEDED_PROFILE]
    return len(await archive_memories(tx, scope, ids, ArchiveReason.OUTDATED, note="no longer in the seed"))


def _seed_keys(fact: Fact) -> tuple[str, str]:
    """Return the keys that an entry's memory may have: its own, and that of earlier releases."""
    return own_key(complete_fact(fact)), key_of_fact(fact)


def _entry_fields(entry: SeedEntry) -> dict[str, Any]:
    """Return a seed entry as the JSON that is stored, without empty fields."""
    return {name: value for name, value in asdict(entry).items() if value is not None}


def entry_from_json(stored: dict[str, Any]) -> SeedEntry:
    """Return the seed entry that the stored JSON describes."""
    return SeedEntry(
        content=stored["content"],
        type=MemoryType(stored["type"]),
        entity_type=EntityType(stored["entity_type"]) if "entity_type" in stored else None,
        entity_label=stored.get("entity_label"),
        fact_type=FactType(stored["fact_type"]),
        attribute=stored.get("attribute"),
        importance=stored.get("importance"),
        pinned=stored.get("pinned"),
    )
