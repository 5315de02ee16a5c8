"""Looking at memories: one, a list, the history of one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from mnemon.clock import parse_time
from mnemon.db.tx import Tx
from mnemon.errors import Malformed, NotFound
from mnemon.memory import store
from mnemon.memory.claims import in_order_of_trust
from mnemon.memory.entities.store import load_aliases
from mnemon.memory.lifecycle import Status
from mnemon.memory.memory import Memory, Version
from mnemon.scope import Scope


async def locate(tx: Tx, scope: Scope, memory_id: str) -> Scope:
    """The scope of the person whose memory it is; not found for another organization's, or another person's where
    the scope names one."""
    user_id = await store.owner(tx, scope, memory_id)
    if user_id is None or scope.user_id not in (None, user_id):
        raise NotFound("memory")
    return Scope(org_id=scope.org_id, user_id=user_id, persona_id=scope.persona_id)


async def get(tx: Tx, scope: Scope, memory_id: str) -> Memory:
    """The person's memory with where it was said."""
    found = await store.by_ids(tx, scope, [memory_id])
    if not found:
        raise NotFound("memory")
    return (await store.with_provenance(tx, scope, found))[0]


async def listed(tx: Tx, scope: Scope, wanted: store.Filter, *, entity: str | None = None, most: int) -> list[Memory]:
    """A page of memories, newest first; `entity` is a key under any of its aliases."""
    if entity is not None:
        aliases = await load_aliases(tx, scope)
        wanted = replace(wanted, entities=(entity, *aliases.members(entity)))
    return await store.with_provenance(tx, scope, await store.listed(tx, scope, wanted, most=most))


async def history(tx: Tx, scope: Scope, memory_id: str) -> Sequence[Version]:
    """Every version in the order it held, the current one last."""
    memory = await get(tx, scope, memory_id)
    recorded = (await store.past_versions(tx, scope, [memory_id])).get(memory_id, ())
    past = [one for one in recorded if not one.is_repeat]
    current = Version(
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
        current=True,
    )
    return (*past, current)


@dataclass(frozen=True, kw_only=True)
class BesideMemory:
    """What stands beside a memory under its key."""

    contradicted: Memory | None
    """What a claim contradicts, where that is held."""
    claims: tuple[Memory, ...]
    """Claims that contradict it, the most trusted first."""


async def beside_memory(tx: Tx, scope: Scope, memory: Memory) -> BesideMemory:
    """What a claim contradicts, or the claims that contradict a memory."""
    rows = await store.under_key(tx, scope, memory.claim_of or memory.memory_key)
    seen = [one for one in rows if one.status is Status.ACTIVE and one.persona_id in (None, memory.persona_id)]
    if memory.claim_of is None:
        mine = [one for one in rows if one.status is Status.ACTIVE and one.claim_of is not None]
        shown = mine if memory.persona_id is None else [one for one in mine if one.persona_id == memory.persona_id]
        return BesideMemory(contradicted=None, claims=tuple(in_order_of_trust(shown)))
    facts = [one for one in seen if one.claim_of is None]
    own = next((one for one in facts if one.persona_id == memory.persona_id), None)
    return BesideMemory(contradicted=own or next(iter(facts), None), claims=())


class Placed(Protocol):
    """What lists are ordered by."""

    @property
    def id(self) -> str: ...

    @property
    def created_at(self) -> datetime: ...


def position_of(one: Placed) -> str:
    """Its place in a list that is newest first."""
    return f"{one.created_at.isoformat()} {one.id}"


def place_of(position: str | None) -> tuple[datetime, str] | None:
    """The place a position names."""
    if position is None:
        return None
    at, _, name = position.partition(" ")
    try:
        return parse_time(at), name
    except ValueError:
        raise Malformed(
            "The cursor is not one of ours. Take it unchanged from `meta.nextCursor`.", code="bad_cursor"
        ) from None
