"""Reads and writes memories, their versions and where they were said."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.event_loop import with_pauses
from mnemon.memory.fact import EntityType, FactType, MemoryType, QuoteLocation
from mnemon.memory.lifecycle import ArchiveReason, ArchiveStatus
from mnemon.memory.memory import MemoryVersion, Provenance, StoredMemory
from mnemon.memory.plan import MemoryChange, MemoryOutcome
from mnemon.memory.trust import Trust, coarse_trust, legacy_trust_of
from mnemon.scope import Scope

SQL = load_statements("mnemon.memory")
MOST_PROVENANCE = 20
"""How many statements a memory is shown with."""
_ROWS_BETWEEN_PAUSES = 200
"""Memories made before others may run, in about 2 ms: recall reads up to 1,500 ahead, a batch states 1,000."""

StatementKey = tuple[str, str, int, int, str]
"""One statement on record: memory, message, start, end, content hash."""


async def by_keys(tx: Tx, scope: Scope, keys: Iterable[str]) -> list[StoredMemory]:
    """What is held under the keys, globally or for the scope's persona."""
    rows = await tx.fetch_all(SQL["by_keys"], **_owner_params(scope), persona_id=scope.persona_id, keys=list(set(keys)))
    return [memory_of(row) for row in rows]


async def by_ids(tx: Tx, scope: Scope, ids: Sequence[str]) -> list[StoredMemory]:
    """The person's memories with these ids, in the order of the ids."""
    if not ids:
        return []
    rows = await tx.fetch_all(SQL["by_ids"], **_owner_params(scope), ids=list(ids))
    found = {row["id"]: memory_of(row) for row in rows}
    return [found[one] for one in ids if one in found]


async def by_ids_with_provenance(tx: Tx, scope: Scope, ids: Sequence[str]) -> list[StoredMemory]:
    """The same, each with the latest times it was said, in no order."""
    if not ids:
        return []
    rows = await tx.fetch_all(SQL["with_provenance"], **_owner_params(scope), ids=list(ids), most=MOST_PROVENANCE)
    return [memory_of(row, _provenance_of(row)) async for row in with_pauses(rows, _ROWS_BETWEEN_PAUSES)]


async def under_key(tx: Tx, scope: Scope, key: str) -> list[StoredMemory]:
    """What is held under the key for any persona, and the claims that contradict it."""
    return [memory_of(row) for row in await tx.fetch_all(SQL["under_key"], **_owner_params(scope), key=key)]


async def owner_of(tx: Tx, scope: Scope, memory_id: str) -> str | None:
    """The internal id of the person whose memory it is, within the organization."""
    row = await tx.fetch_one_or_none(SQL["owner"], org_id=scope.org_id, id=memory_id)
    return None if row is None else str(row["user_id"])


async def past_versions(tx: Tx, scope: Scope, ids: Sequence[str]) -> dict[str, tuple[MemoryVersion, ...]]:
    """The versions each memory replaced, in the order they held."""
    found: dict[str, tuple[MemoryVersion, ...]] = {}
    if ids:
        for row in await tx.fetch_all(SQL["versions"], **_owner_params(scope), ids=list(ids)):
            found[row["memory_id"]] = (*found.get(row["memory_id"], ()), _version_of(row))
    return found


async def with_provenance(tx: Tx, scope: Scope, memories: Sequence[StoredMemory]) -> list[StoredMemory]:
    """The same memories, each with the latest times it was said."""
    rows = await tx.fetch_all(
        SQL["provenance"], **_owner_params(scope), ids=[one.id for one in memories], most=MOST_PROVENANCE
    )
    told: dict[str, list[Provenance]] = {}
    for row in rows:
        said = Provenance(turn_id=row["turn_id"], message_id=row["message_id"], quote=row["quote"], at=row["at"])
        told.setdefault(row["memory_id"], []).append(said)
    return [
        replace(one, provenance=tuple(told.get(one.id, ())))
        async for one in with_pauses(memories, _ROWS_BETWEEN_PAUSES)
    ]


async def recorded_statements(tx: Tx, scope: Scope, message_ids: Iterable[str]) -> set[StatementKey]:
    """The statements on record that these messages made."""
    rows = await tx.fetch_all(SQL["told_before"], **_owner_params(scope), message_ids=list(set(message_ids)))
    return {(row["memory_id"], row["message_id"], row["starts"], row["ends"], row["content_hash"]) for row in rows}


async def write_changes(tx: Tx, scope: Scope, changes: Sequence[MemoryChange]) -> None:
    """The changes stand, in their order; a memory changed twice is written once, as it stands at the end."""
    done = [change for change in changes if change.outcome is not MemoryOutcome.SKIPPED]
    created = {change.memory.id for change in done if change.outcome is MemoryOutcome.CREATED}
    last = {change.memory.id: change.memory for change in done}
    new = [_memory_params(scope, memory, tx.now) for memory in last.values() if memory.id in created]
    old = [_memory_params(scope, memory, tx.now) for memory in last.values() if memory.id not in created]
    versions = [
        {**_owner_params(scope), "memory_id": change.memory.id, **asdict(version), **_trust_columns(version.trust)}
        for change in changes
        for version in change.versions
    ]
    if new:
        await tx.execute_many(SQL["insert_memory"], new)
    if old:
        await tx.execute_many(SQL["update_memory"], old)
    if versions:
        await tx.execute_many(SQL["insert_version"], versions)
    for change in changes:
        for number, (since, until) in change.moved.items():
            moved = {"memory_id": change.memory.id, "number": number, "valid_from": since, "valid_to": until}
            await tx.execute(SQL["move_version"], **_owner_params(scope), **moved)
        if change.withdrawn:
            numbers = {"memory_id": change.memory.id, "numbers": list(change.withdrawn)}
            await tx.execute(SQL["withdraw_versions"], **_owner_params(scope), **numbers)


async def write_provenance(tx: Tx, scope: Scope, told: Sequence[tuple[str, QuoteLocation, str]]) -> None:
    """Each memory is on record as said there: memory id, ground, hash of the content."""
    rows = [
        {
            **_owner_params(scope),
            "memory_id": memory_id,
            "message_id": ground.message_id,
            "starts": ground.start,
            "ends": ground.end,
            "content_hash": digest,
            "turn_id": ground.turn_id,
            "session_id": ground.session_id,
            "quote": ground.quote,
            "at": ground.at,
        }
        for memory_id, ground, digest in told
    ]
    if rows:
        await tx.execute_many(SQL["insert_provenance"], rows)


async def sessions_mentioning(tx: Tx, scope: Scope, ids: Iterable[str]) -> dict[str, int]:
    """In how many distinct sessions each memory was said."""
    rows = await tx.fetch_all(SQL["sessions_mentioning"], **_owner_params(scope), ids=list(set(ids)))
    return {row["memory_id"]: row["sessions"] for row in rows}


async def set_importance(tx: Tx, scope: Scope, memory_id: str, importance: int) -> None:
    """The memory has this importance, unless it is pinned."""
    await tx.execute(SQL["set_importance"], **_owner_params(scope), id=memory_id, importance=importance)


@dataclass(frozen=True, kw_only=True)
class MemoryFilter:
    """Which memories a list shows. What is None does not narrow it."""

    type: MemoryType | None = None
    status: ArchiveStatus | None = None
    entities: tuple[str, ...] | None = None
    """Entity keys, aliases included; any of them."""
    q: str | None = None
    """Words that stand in the content."""
    origin: str | None = None
    """The source that said it, by its exact name."""
    before: tuple[datetime, str] | None = None
    """Position of the last one shown."""


async def list_memories(tx: Tx, scope: Scope, wanted: MemoryFilter, *, most: int) -> list[StoredMemory]:
    """A page of what the scope's persona may see, newest first."""
    before_at, before_id = wanted.before or (None, None)
    rows = await tx.fetch_all(
        SQL["listed"],
        **_owner_params(scope),
        persona_id=scope.persona_id,
        status=wanted.status,
        type=wanted.type,
        entities=None if wanted.entities is None else list(wanted.entities),
        q=wanted.q,
        origin=wanted.origin,
        before_at=before_at,
        before_id=before_id,
        most=most,
    )
    return [memory_of(row) for row in rows]


async def texts_of_others(tx: Tx, scope: Scope, *, most: int) -> list[tuple[Trust, str, str]]:
    """Level of trust, origin and text of what is held that is not the person's own."""
    rows = await tx.fetch_all(SQL["of_other_voices"], **_owner_params(scope), persona_id=scope.persona_id, most=most)
    return [(trust_of_row(row), row["origin"] or row["source"], row["content"]) for row in rows]


async def pinned_and_seeded(tx: Tx, scope: Scope, *, most: int) -> list[StoredMemory]:
    """Pinned memories the scope's persona may see, and after them the profile the person was seeded with."""
    rows = await tx.fetch_all(SQL["pinned"], **_owner_params(scope), persona_id=scope.persona_id, most=most)
    return [memory_of(row) for row in rows]


async def sharing_entities(tx: Tx, scope: Scope, keys: Iterable[str]) -> list[StoredMemory]:
    """Weighty memories that carry one of the entity keys."""
    wanted = sorted(set(keys))
    if not wanted:
        return []
    rows = await tx.fetch_all(SQL["sharing_entities"], **_owner_params(scope), persona_id=scope.persona_id, keys=wanted)
    return [memory_of(row) for row in rows]


async def count_active(tx: Tx, scope: Scope) -> int:
    """How many memories of the person are active, over all personas."""
    return int((await tx.fetch_one(SQL["count_active"], **_owner_params(scope)))["number"])


async def names_in_use(tx: Tx, scope: Scope, *, most: int) -> list[tuple[str | None, str | None]]:
    """Label of the entity (None: the person) and attribute of the facts the persona may see, latest first."""
    rows = await tx.fetch_all(SQL["vocabulary"], **_owner_params(scope), persona_id=scope.persona_id, most=most)
    return [(row["entity_label"], row["attribute"]) for row in rows]


def _owner_params(scope: Scope) -> dict[str, str]:
    return {"org_id": scope.org_id, "user_id": scope.user}


def _provenance_of(row: Row) -> tuple[Provenance, ...]:
    if row["times"] is None:
        return ()
    columns = (row["turn_ids"], row["message_ids"], row["quotes"], row["times"])
    return tuple(
        Provenance(turn_id=turn_id, message_id=message_id, quote=quote, at=at)
        for turn_id, message_id, quote, at in zip(*columns, strict=True)
    )


def memory_of(row: Row, provenance: tuple[Provenance, ...] = ()) -> StoredMemory:
    """The memory a row of `memories` stands for."""
    return StoredMemory(
        id=row["id"],
        persona_id=row["persona_id"],
        type=MemoryType(row["type"]),
        content=row["content"],
        entity_refs=tuple(row["entity_refs"]),
        entity_label=row["entity_label"],
        entity_type=EntityType(row["entity_type"]),
        fact_type=FactType(row["fact_type"]),
        attribute=row["attribute"],
        importance=row["importance"],
        pinned=row["pinned"],
        memory_key=row["memory_key"],
        source=row["source"],
        origin=row["origin"] or row["source"],
        trust=trust_of_row(row),
        claim_of=row["claim_of"],
        status=ArchiveStatus(row["status"]),
        archive_reason=ArchiveReason(row["archive_reason"]) if row["archive_reason"] else None,
        archived_at=row["archived_at"],
        note=row["note"],
        confidence=row["confidence"],
        mentions=row["mentions"],
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        stated_at=row["stated_at"],
        version=row["version"],
        versions=row["versions"],
        sources=tuple(row["sources"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        revision=row["revision"],
        provenance=provenance,
    )


def _version_of(row: Row) -> MemoryVersion:
    return MemoryVersion(
        number=row["number"],
        content=row["content"],
        importance=row["importance"],
        confidence=row["confidence"],
        source=row["source"],
        origin=row["origin"] or row["source"],
        trust=trust_of_row(row),
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        recorded_at=row["recorded_at"],
        reason=row["reason"],
    )


def _memory_params(scope: Scope, memory: StoredMemory, now: datetime) -> dict[str, object]:
    row = {name: value for name, value in vars(memory).items() if name != "provenance"}
    lists = {"entity_refs": list(memory.entity_refs), "sources": list(memory.sources)}
    return {**row, **lists, **_trust_columns(memory.trust), **_owner_params(scope), "now": now}


def trust_of_row(row: Row, prefix: str = "") -> Trust:
    """The trust of a memory's or version's row; one of an earlier release or export has no level and is judged anew."""
    level = row[f"{prefix}trust_level"]
    return Trust(level) if level else legacy_trust_of(row[f"{prefix}source"], row[f"{prefix}trust"])


def _trust_columns(level: Trust) -> dict[str, str]:
    return {"trust": coarse_trust(level), "trust_level": level}
