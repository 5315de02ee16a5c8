"""The organization's memories, a page at a time, with how many stand under each value."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mnemon.db.statements import statements
from mnemon.db.tx import Row, Tx
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


@dataclass(frozen=True, kw_only=True)
class Facets:
    """How many memories stand under each value."""

    total: int
    """All filters applied."""
    by: Mapping[str, Mapping[str, int]]
    """Per facet: status, type, source, persona, pinned, user (the top twenty), entity (of one person)."""


async def page(tx: Tx, scope: Scope, filters: Filters, *, most: int, skip: int = 0) -> list[Kept]:
    """Memories of the organization, or of one person where the scope names one, latest change first."""
    rows = await tx.all(SQL["page"], **_params(scope, filters), most=most, skip=skip)
    return [Kept(user=row.pop("external_id"), memory=memory_of(row)) for row in rows]


async def facets(tx: Tx, scope: Scope, filters: Filters) -> Facets:
    """How many memories stand under each value of each facet, the other facets' filters applied."""
    params = _params(scope, filters)
    rows = await tx.all(SQL["combinations"], **params)
    people = await tx.all(SQL["people"], **params)
    entities = await tx.all(SQL["entities"], **params) if scope.user_id else []
    return Facets(
        total=sum(row["number"] for row in rows if _passes(row, filters)),
        by={name: _counted(rows, filters, name) for name in _COLUMNS}
        | {"user": _numbers(people), "entity": _numbers(entities)},
    )


_COLUMNS = {"status": "status", "type": "type", "source": "source", "persona": "persona_id", "pinned": "pinned"}


def _counted(rows: Sequence[Row], filters: Filters, facet: str) -> dict[str, int]:
    """The facet's values with their numbers, most first; its own filter is not applied."""
    column = _COLUMNS[facet]
    found: Counter[str] = Counter()
    for row in rows:
        if row[column] is not None and _passes(row, filters, apart_from=column):
            found[str(row[column])] += row["number"]
    return dict(found.most_common())


def _passes(row: Row, filters: Filters, apart_from: str = "") -> bool:
    wanted = {column: getattr(filters, column) for column in _COLUMNS.values() if column != apart_from}
    return all(value is None or row[column] == value for column, value in wanted.items())


def _numbers(rows: Sequence[Row]) -> dict[str, int]:
    return {row["value"]: row["number"] for row in rows}


async def of_turns(tx: Tx, scope: Scope, turn_ids: Sequence[str]) -> dict[str, list[Remembered]]:
    """What these turns of the person said that is remembered, by turn."""
    found: dict[str, list[Remembered]] = {}
    for row in await tx.all(SQL["of_turns"], org_id=scope.org_id, user_id=scope.user, turns=list(turn_ids)):
        found.setdefault(row.pop("turn_id"), []).append(Remembered(**row))
    return found


async def counts(tx: Tx, scope: Scope) -> Counts:
    """How much the organization holds."""
    rows = await tx.all(SQL["counts"], org_id=scope.org_id)
    by = {(row["status"], row["pinned"]): row["number"] for row in rows}
    return Counts(
        active=sum(number for (status, _), number in by.items() if status == "ACTIVE"),
        archived=sum(number for (status, _), number in by.items() if status == "ARCHIVED"),
        pinned=sum(number for (_, pinned), number in by.items() if pinned),
    )


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
