"""Read memories: one, a list, the versions of one, and what contradicts it; and the cursors of lists."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from mnemon.clock import parse_time
from mnemon.db.tx import Tx
from mnemon.errors import Malformed, NotFound
from mnemon.memory import store
from mnemon.memory.claims import sort_by_trust
from mnemon.memory.entities.store import load_aliases
from mnemon.memory.lifecycle import ArchiveStatus, has_same_words
from mnemon.memory.memory import MemoryVersion, StoredMemory
from mnemon.memory.version_quotes import versions_with_quotes
from mnemon.scope import Scope

MOST_QUOTES = 500
"""The most quotes that are read for a memory's history, over all of its versions."""


async def scope_of_memory(tx: Tx, scope: Scope, memory_id: str) -> Scope:
    """Return the scope of the person whose memory this is; raise NotFound if the caller's scope may not see it.

    Raises NotFound if the memory is of another organization, or of another person than the scope names.
    """
    user_id = await store.owner_of(tx, scope, memory_id)
    # The same answer for "not there" and "not yours", so that ids of others cannot be probed.
    if user_id is None or scope.user_id not in (None, user_id):
        raise NotFound("memory")
    return Scope(org_id=scope.org_id, user_id=user_id, persona_id=scope.persona_id)


async def get_memory(tx: Tx, scope: Scope, memory_id: str) -> StoredMemory:
    """Return the person's memory with its provenance; raise NotFound if there is none."""
    found = await store.by_ids(tx, scope, [memory_id])
    if not found:
        raise NotFound("memory")
    return (await store.with_provenance(tx, scope, found))[0]


async def list_memories(
    tx: Tx, scope: Scope, wanted: store.MemoryFilter, *, entity: str | None = None, most: int
) -> list[StoredMemory]:
    """Return a page of the person's memories, newest first; `entity` is a key, under any of its aliases."""
    if entity is not None:
        aliases = await load_aliases(tx, scope)
        wanted = replace(wanted, entities=(entity, *aliases.member_keys(entity)))
    return await store.with_provenance(tx, scope, await store.list_memories(tx, scope, wanted, most=most))


async def list_versions(tx: Tx, scope: Scope, memory_id: str) -> Sequence[MemoryVersion]:
    """Return every version of a memory with its own quotes, in the order of validity, the current one last.

    A text that a withdrawal restored is one version, as if it had never been replaced.
    """
    memory = await get_memory(tx, scope, memory_id)
    recorded = (await store.past_versions(tx, scope, [memory_id])).get(memory_id, ())
    quotes = (await store.recorded_quotes(tx, scope, [memory_id], most=MOST_QUOTES)).get(memory_id, ())
    # Repeats only record who else said it; they are no states of the memory.
    past = [one for one in recorded if not one.is_repeat]
    current = MemoryVersion(
        number=memory.version,
        content=memory.content,
        importance=memory.importance,
        confidence=memory.confidence,
        source=memory.source,
        origin=memory.origin,
        trust=memory.trust,
        valid_from=memory.valid_from,
        valid_to=memory.valid_to,
        recorded_at=memory.updated_at,
        reason=memory.note,
        mentions=memory.mentions,
        current=True,
    )
    shown = [one for one in (*past, current) if not _is_continued(one, (*past, current))]
    return versions_with_quotes(shown, quotes, most=store.MOST_PROVENANCE)


def _is_continued(one: MemoryVersion, versions: Sequence[MemoryVersion]) -> bool:
    """Say whether a later version has the same words, source and start, so that it replaces this one in a list.

    A withdrawal restores a text so; the earlier version stays on record with an empty span.
    """
    return one.valid_to == one.valid_from and any(
        other.number > one.number
        and (other.valid_from, other.origin) == (one.valid_from, one.origin)
        and has_same_words(other.content, one.content)
        for other in versions
    )


@dataclass(frozen=True, kw_only=True)
class Contradictions:
    """What contradicts a memory, under the same key."""

    contradicted: StoredMemory | None
    """What a claim contradicts, if that is stored."""
    claims: tuple[StoredMemory, ...]
    """Claims that contradict the memory, the most trusted first."""


async def contradictions_of(tx: Tx, scope: Scope, memory: StoredMemory) -> Contradictions:
    """Return the memory that a claim contradicts, or the claims that contradict a memory."""
    # Over all personas, filtered below: a claim told to one persona may contradict what all of them see.
    rows = await store.under_key(tx, scope, memory.claim_of or memory.memory_key)
    visible = [
        one for one in rows if one.status is ArchiveStatus.ACTIVE and one.persona_id in (None, memory.persona_id)
    ]
    if memory.claim_of is None:
        claims = [one for one in rows if one.status is ArchiveStatus.ACTIVE and one.claim_of is not None]
        shown = claims if memory.persona_id is None else [one for one in claims if one.persona_id == memory.persona_id]
        return Contradictions(contradicted=None, claims=tuple(sort_by_trust(shown)))
    facts = [one for one in visible if one.claim_of is None]
    own = next((one for one in facts if one.persona_id == memory.persona_id), None)
    return Contradictions(contradicted=own or next(iter(facts), None), claims=())


class Listable(Protocol):
    """What lists are ordered by."""

    @property
    def id(self) -> str:
        """Return the id, by which items of the same time are ordered."""

    @property
    def created_at(self) -> datetime:
        """Return the time by which a list is ordered."""


def cursor_of(one: Listable) -> str:
    """Return the cursor of an item: its position in a list that has the newest first."""
    return f"{one.created_at.isoformat()} {one.id}"


def parse_cursor(position: str | None) -> tuple[datetime, str] | None:
    """Return the time and id that a list's cursor names; None for none; raise Malformed if it is no cursor."""
    if position is None:
        return None
    at, _, name = position.partition(" ")
    try:
        return parse_time(at), name
    except ValueError:
        raise Malformed(
            "This is not a valid cursor. Pass `meta.nextCursor` of the previous page unchanged.", code="bad_cursor"
        ) from None
