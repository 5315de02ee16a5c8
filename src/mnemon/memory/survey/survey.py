"""The organization's memories, a page at a time, with how many stand under each value."""

from collections.abc import Sequence
from dataclasses import dataclass

from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.memory.memory import Memory
from mnemon.memory.store import memory_of
from mnemon.scope import Scope

SQL = statements("mnemon.memory.survey")


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What is looked for; None means all."""

    type: str | None = None
    status: str | None = None
    source: str | None = None
    persona_id: str | None = None
    entity: str | None = None
    """An entity key as stored."""
    pinned: bool | None = None
    words: str | None = None
    """A part of the text, in any case."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A memory and whose it is."""

    user: str
    """As the application calls the person."""
    memory: Memory


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """What a turn said and is remembered."""

    id: str
    content: str
    """As it is held now, which a later turn may have changed."""
    type: str
    status: str
    persona_id: str | None
    quote: str


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How much is held, over everyone."""

    active: int
    archived: int
    pinned: int
    people: int


async def page(tx: Tx, scope: Scope, filters: Filters, *, most: int, skip: int = 0) -> list[Kept]:
    """Memories of the organization, or of one person where the scope names one, latest change first."""
    rows = await tx.all(SQL["page"], **_params(scope, filters), most=most, skip=skip)
    return [Kept(user=row.pop("external_id"), memory=memory_of(row)) for row in rows]


async def facets(tx: Tx, scope: Scope, filters: Filters) -> dict[str, dict[str, int]]:
    """How many memories the filters let through, under each value of each facet."""
    found: dict[str, dict[str, int]] = {}
    for row in await tx.all(SQL["facets"], **_params(scope, filters)):
        found.setdefault(row["facet"], {})[row["value"]] = row["number"]
    return found


async def of_turns(tx: Tx, scope: Scope, turn_ids: Sequence[str]) -> dict[str, list[Remembered]]:
    """What these turns of the person said that is remembered, by turn."""
    found: dict[str, list[Remembered]] = {}
    for row in await tx.all(SQL["of_turns"], org_id=scope.org_id, user_id=scope.user, turns=list(turn_ids)):
        found.setdefault(row.pop("turn_id"), []).append(Remembered(**row))
    return found


async def counts(tx: Tx, scope: Scope) -> Counts:
    """How much the organization holds."""
    return Counts(**await tx.one(SQL["counts"], org_id=scope.org_id))


def _params(scope: Scope, filters: Filters) -> dict[str, object]:
    words = None
    if filters.words:
        plain = filters.words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        words = f"%{plain}%"
    return {
        "org_id": scope.org_id,
        "user_id": scope.user_id,
        "type": filters.type,
        "status": filters.status,
        "source": filters.source,
        "persona_id": filters.persona_id,
        "entity": filters.entity,
        "pinned": filters.pinned,
        "words": words,
    }
