"""Reads and writes aliases, the merge log, and what memories say about each entity."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.memory.entities.aliases import Aliases, Link
from mnemon.memory.memory import Memory
from mnemon.memory.store import memory_of
from mnemon.scope import Scope

SQL = statements("mnemon.memory.entities")
MadeBy = Literal["person", "rule"]


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """A memory that names an entity, and the turns in which it was said."""

    memory: Memory
    turns: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Merge:
    """An entry of the log."""

    id: str
    source: str
    target: str
    made_by: MadeBy
    reasons: tuple[str, ...]
    at: datetime
    split_at: datetime | None


async def load_aliases(tx: Tx, scope: Scope) -> Aliases:
    """Every merge in force for the person."""
    rows = await tx.all(SQL["links"], **_owner(scope))
    return Aliases.of(Link(**row) for row in rows)


async def add_link(tx: Tx, scope: Scope, link: Link) -> None:
    """The alias reads as its target."""
    await tx.run(SQL["add_link"], **_owner(scope), **vars(link), now=tx.now)


async def drop_link(tx: Tx, scope: Scope, link: Link) -> None:
    """The alias reads as itself."""
    await tx.run(SQL["drop_link"], **_owner(scope), alias=link.alias)


async def log_merge(tx: Tx, scope: Scope, link: Link, reasons: tuple[str, ...]) -> None:
    """The merge is on record."""
    entry = {"id": link.merge_id, "source": link.asked_from, "target": link.target, "made_by": link.made_by}
    await tx.run(SQL["log_merge"], **_owner(scope), **entry, reasons=list(reasons), now=tx.now)


async def log_split(tx: Tx, scope: Scope, merge_id: str) -> None:
    """The merge is on record as undone."""
    await tx.run(SQL["log_split"], **_owner(scope), id=merge_id, now=tx.now)


async def merges(tx: Tx, scope: Scope, *, most: int) -> list[Merge]:
    """The log of merges, newest first."""
    rows = await tx.all(SQL["merges"], **_owner(scope), most=most)
    return [Merge(**{**row, "reasons": tuple(row["reasons"])}) for row in rows]


async def kept_apart(tx: Tx, scope: Scope) -> frozenset[frozenset[str]]:
    """Pairs that a person took apart."""
    rows = await tx.all(SQL["kept_apart"], **_owner(scope))
    return frozenset(frozenset({row["one"], row["two"]}) for row in rows)


async def keep_apart(tx: Tx, scope: Scope, one: str, two: str) -> None:
    """The pair is never merged by itself again."""
    first, second = sorted((one, two))
    await tx.run(SQL["keep_apart"], **_owner(scope), one=first, two=second, now=tx.now)


async def allow_together(tx: Tx, scope: Scope, one: str, two: str) -> None:
    """The pair is no longer kept apart."""
    first, second = sorted((one, two))
    await tx.run(SQL["no_longer_apart"], **_owner(scope), one=first, two=second)


async def spoken_of(tx: Tx, scope: Scope) -> list[Spoken]:
    """Active memories with an entity that the scope's persona may see, oldest first."""
    rows = await tx.all(SQL["spoken_of"], **_owner(scope), persona_id=scope.persona_id)
    return [Spoken(memory=memory_of(row), turns=frozenset(row["turns"])) for row in rows]


async def every_ref(tx: Tx, scope: Scope) -> list[tuple[str, ...]]:
    """The entity keys of all memories, archived ones too."""
    return [tuple(row["entity_refs"]) for row in await tx.all(SQL["every_ref"], **_owner(scope))]


def _owner(scope: Scope) -> dict[str, str]:
    return {"org_id": scope.org_id, "user_id": scope.user}
