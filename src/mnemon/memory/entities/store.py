"""SQL statements that read and write aliases, the merge log, and the memories that mention entities."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.memory.entities.aliases import Aliases, AliasLink
from mnemon.memory.memory import StoredMemory
from mnemon.memory.store import memory_of
from mnemon.scope import Scope

SQL = load_statements("mnemon.memory.entities")
MadeBy = Literal["person", "rule"]


@dataclass(frozen=True, kw_only=True)
class EntityMention:
    """A memory that mentions an entity, and the turns in which it was said."""

    memory: StoredMemory
    turns: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class MergeLogEntry:
    """An entry of the merge log."""

    id: str
    source: str
    target: str
    made_by: MadeBy
    reasons: tuple[str, ...]
    at: datetime
    split_at: datetime | None


async def load_aliases(tx: Tx, scope: Scope) -> Aliases:
    """Return every merge of entities in force for the person."""
    rows = await tx.fetch_all(SQL["links"], **scope.owner_params)
    return Aliases.from_links(map(link_from_row, rows))


def link_from_row(row: Row) -> AliasLink:
    """Return a row of `entity_aliases` as an AliasLink."""
    return from_row(AliasLink, row)


async def add_link(tx: Tx, scope: Scope, link: AliasLink) -> None:
    """Insert the link from an alias to its target into `entity_aliases`."""
    await tx.execute(SQL["add_link"], **scope.owner_params, **vars(link), now=tx.now)


async def delete_link(tx: Tx, scope: Scope, link: AliasLink) -> None:
    """Delete the link of an alias from `entity_aliases`."""
    await tx.execute(SQL["drop_link"], **scope.owner_params, alias=link.alias)


async def log_merge(tx: Tx, scope: Scope, link: AliasLink, reasons: tuple[str, ...]) -> None:
    """Insert a merge of entities into the log `entity_merges`."""
    entry = {"id": link.merge_id, "source": link.asked_from, "target": link.target, "made_by": link.made_by}
    await tx.execute(SQL["log_merge"], **scope.owner_params, **entry, reasons=list(reasons), now=tx.now)


async def log_split(tx: Tx, scope: Scope, merge_id: str) -> None:
    """Mark a merge in the log `entity_merges` as undone."""
    await tx.execute(SQL["log_split"], **scope.owner_params, id=merge_id, now=tx.now)


async def list_merges(tx: Tx, scope: Scope, *, most: int) -> list[MergeLogEntry]:
    """Return up to `most` entries of the log of merges, newest first."""
    rows = await tx.fetch_all(SQL["merges"], **scope.owner_params, most=most)
    return [MergeLogEntry(**{**row, "reasons": tuple(row["reasons"])}) for row in rows]


async def pairs_kept_apart(tx: Tx, scope: Scope) -> frozenset[frozenset[str]]:
    """Return the pairs of entity keys that the person split."""
    rows = await tx.fetch_all(SQL["kept_apart"], **scope.owner_params)
    return frozenset(frozenset({row["one"], row["two"]}) for row in rows)


async def keep_apart(tx: Tx, scope: Scope, one: str, two: str) -> None:
    """Record in `entities_kept_apart` that the rule must not merge the pair again."""
    first, second = sorted((one, two))
    # Sorted above, so that a pair is the same row in either order.
    await tx.execute(SQL["keep_apart"], **scope.owner_params, one=first, two=second, now=tx.now)


async def allow_together(tx: Tx, scope: Scope, one: str, two: str) -> None:
    """Delete the record that keeps a pair of entities apart."""
    first, second = sorted((one, two))
    await tx.execute(SQL["no_longer_apart"], **scope.owner_params, one=first, two=second)


async def list_mentions(tx: Tx, scope: Scope) -> list[EntityMention]:
    """Return the active memories with an entity that the scope's persona may see, oldest first."""
    rows = await tx.fetch_all(SQL["spoken_of"], **scope.owner_params, persona_id=scope.persona_id)
    return [EntityMention(memory=memory_of(row), turns=frozenset(row["turns"])) for row in rows]


async def global_entity_refs(tx: Tx, scope: Scope) -> list[tuple[str, ...]]:
    """Return the entity keys of the person's memories that every persona may see, the oldest first."""
    return [tuple(row["entity_refs"]) for row in await tx.fetch_all(SQL["global_refs"], **scope.owner_params)]


async def all_entity_refs(tx: Tx, scope: Scope) -> list[tuple[str, ...]]:
    """Return the entity keys of all the person's memories, including archived ones."""
    return [tuple(row["entity_refs"]) for row in await tx.fetch_all(SQL["every_ref"], **scope.owner_params)]
