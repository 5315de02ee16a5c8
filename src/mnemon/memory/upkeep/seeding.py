"""Loading a person's profile: what is new is remembered, what is gone is outdated, what stands is left alone."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mnemon.db.tx import Tx
from mnemon.memory import store as memories
from mnemon.memory.edit import archive_many
from mnemon.memory.fact import SEEDED_PROFILE, EntityType, FactType, MemoryType
from mnemon.memory.keys import key_of
from mnemon.memory.lifecycle import ArchiveReason
from mnemon.memory.plan import Outcome
from mnemon.memory.remember import remember
from mnemon.memory.seed import SeedEntry, facts_of
from mnemon.memory.upkeep import store
from mnemon.scope import Scope
from mnemon.vectors.embed import Vectors


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """What loading a profile did."""

    entries: tuple[SeedEntry, ...]
    stored: int
    updated: int
    skipped: int
    archived: int


async def load(tx: Tx, scope: Scope, entries: Sequence[SeedEntry], *, vectors: Vectors | None = None) -> Seeded:
    """The person's seed is these entries; loading the same again changes nothing. The person's row must exist."""
    wanted = list(dict.fromkeys(entries))
    before = await profile(tx, scope)
    new = [entry for entry in wanted if entry not in before]
    gone = [entry for entry in before if entry not in wanted]
    outcomes = [one.outcome for one in await remember(tx, scope, facts_of(new), vectors=vectors)] if new else []
    archived = await _outdated(tx, scope, gone, wanted) if gone else 0
    if new or gone:
        await keep(tx, scope, wanted)
    return Seeded(
        entries=tuple(wanted),
        stored=outcomes.count(Outcome.CREATED),
        updated=outcomes.count(Outcome.UPDATED),
        skipped=len(wanted) - len(new) + outcomes.count(Outcome.SKIPPED),
        archived=archived,
    )


async def keep(tx: Tx, scope: Scope, entries: Sequence[SeedEntry]) -> None:
    """The person's seed is these entries; no memory has changed."""
    await store.put_seed(tx, scope, [_plain(entry) for entry in entries])


async def profile(tx: Tx, scope: Scope) -> list[SeedEntry]:
    """The entries of the person's seed; none when there is none."""
    seed = await store.seed(tx, scope)
    return [_entry(one) for one in seed.profile] if seed else []


async def _outdated(tx: Tx, scope: Scope, gone: Sequence[SeedEntry], wanted: Sequence[SeedEntry]) -> int:
    still = {key_of(fact) for fact in facts_of(wanted)}
    keys = [key for fact in facts_of(gone) if (key := key_of(fact)) not in still]
    held = await memories.by_keys(tx, scope.with_persona(None), keys)
    ids = [one.id for one in held if one.source == SEEDED_PROFILE]
    return len(await archive_many(tx, scope, ids, ArchiveReason.OUTDATED, note="no longer in the seed"))


def _plain(entry: SeedEntry) -> dict[str, Any]:
    return {name: value for name, value in asdict(entry).items() if value is not None}


def _entry(stored: dict[str, Any]) -> SeedEntry:
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
