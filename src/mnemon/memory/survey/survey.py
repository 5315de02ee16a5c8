"""The organization's memories, a page at a time, with how many stand under each value."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemon.db.statements import statements
from mnemon.db.tx import Row, Tx
from mnemon.memory.memory import Memory
from mnemon.memory.store import memory_of
from mnemon.scope import Scope

SQL = statements("mnemon.memory.survey")
FEW = 2000
"""Up to so many matches are looked at one by one; of more, a page stands near the top."""
PEOPLE = 20


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


@dataclass(frozen=True, kw_only=True)
class Surveyed:
    """A page of memories and what stands beside it."""

    found: tuple[Kept, ...]
    facets: Facets


async def survey(tx: Tx, scope: Scope, filters: Filters, *, most: int, skip: int = 0) -> Surveyed:
    """Memories of the organization, or of one person where the scope names one, latest change first, and how many
    stand under each value of each facet, the other facets' filters applied."""
    params = {**_params(scope, filters), "most": most, "skip": skip, "few": FEW + 1}
    entities = await tx.afresh(SQL["entities"], **params) if scope.user_id else []
    if not filters.words and not filters.entity:
        facets = _facets(await tx.afresh(SQL["standing"], **params), entities, filters)
        return _surveyed(await tx.afresh(SQL["page"], **params), facets)
    matching = await tx.afresh(SQL["matching"], **params)
    if len(matching) > FEW:
        facets = _facets(await tx.afresh(SQL["standing_of_matches"], **params), entities, filters)
        return _surveyed(await _many(tx, params, facets.total), facets)
    facets = _facets(_counted_rows(matching, scope, filters), entities, filters)
    return _surveyed(await _few(tx, scope, filters, matching, most=most, skip=skip), facets)


def _surveyed(found: Sequence[Row], facets: Facets) -> Surveyed:
    kept = tuple(Kept(user=row.pop("external_id"), memory=memory_of(row)) for row in found)
    return Surveyed(found=kept, facets=facets)


async def _few(
    tx: Tx, scope: Scope, filters: Filters, matching: Sequence[Row], *, most: int, skip: int
) -> Sequence[Row]:
    """A page of what matches, out of all that does."""
    mine = [row for row in matching if _whose(row, scope) and _passes(row, filters)]
    chosen = sorted(mine, key=lambda row: (row["updated_at"], row["id"]), reverse=True)[skip : skip + most]
    places = {"users": [row["user_id"] for row in chosen], "ids": [row["id"] for row in chosen]}
    return await tx.all(SQL["these"], org_id=scope.org_id, **places) if chosen else []


async def _many(tx: Tx, params: dict[str, Any], total: int) -> Sequence[Row]:
    """A page of what matches: first looked for among the latest, since there is much of it."""
    left = min(params["most"], total - params["skip"])
    if left <= 0:
        return []
    found = await tx.afresh(SQL["page_of_latest_matches"], **params, latest=FEW + 2 * (params["skip"] + left))
    return found if len(found) == left else await tx.afresh(SQL["page_of_matches"], **params)


def _counted_rows(matching: Sequence[Row], scope: Scope, filters: Filters) -> list[Row]:
    """The rows that `standing` would give of these: combinations of values, and the top twenty people."""
    columns = tuple(_COLUMNS.values())
    combinations = Counter(tuple(row[name] for name in columns) for row in matching if _whose(row, scope))
    people = Counter(row["person"] for row in matching if _passes(row, filters))
    return [
        *({"person": None, **dict(zip(columns, key, strict=True)), "number": n} for key, n in combinations.items()),
        *({"person": person, "number": n} for person, n in people.most_common(PEOPLE)),
    ]


def _whose(row: Row, scope: Scope) -> bool:
    return scope.user_id in (None, row["user_id"])


def _facets(rows: Sequence[Row], entities: Sequence[Row], filters: Filters) -> Facets:
    combinations = [row for row in rows if row["person"] is None]
    people = sorted((-row["number"], row["person"]) for row in rows if row["person"] is not None)
    return Facets(
        total=sum(row["number"] for row in combinations if _passes(row, filters)),
        by={name: _counted(combinations, filters, name) for name in _COLUMNS}
        | {
            "user": {person: -number for number, person in people},
            "entity": {row["value"]: row["number"] for row in entities},
        },
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


def _params(scope: Scope, filters: Filters) -> dict[str, Any]:
    plain = _plain(filters.words) if filters.words else None
    exact = _pattern(filters.words) if filters.words else None
    return {
        "org_id": scope.org_id,
        "user_id": scope.user_id,
        "type": filters.type,
        "status": filters.status,
        "source": filters.source,
        "persona_id": filters.persona_id,
        "entity": filters.entity,
        "pinned": filters.pinned,
        "plain": plain,
        "words": None if exact is None or exact.lower() == plain else exact,
    }


def _pattern(words: str) -> str:
    """A pattern for texts that contain the words as they are."""
    return "%" + "".join(f"\\{letter}" if letter in "\\%_" else letter for letter in words) + "%"


def _plain(words: str) -> str:
    """A wider pattern in small plain letters: anything goes where a letter beyond those could be meant, İ for i."""
    pieces = re.split(r"[^\x00-\x7f]|[ik]", words.lower())
    return "".join(_pattern(piece) for piece in pieces if piece) or "%"
