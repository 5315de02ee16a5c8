"""All memories of an organization as one filtered and counted table, for the people who administer them."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.memory.keys import content_hash
from mnemon.memory.memory import StoredMemory
from mnemon.memory.store import memory_of, past_versions
from mnemon.scope import Scope

SQL = load_statements("mnemon.memory")
MOST_READ_ONE_BY_ONE = 2000
"""Up to this many matches are read and filtered in Python; with more, the page is likely near the top."""
MOST_PEOPLE = 20
"""The most people that the user facet lists."""


@dataclass(frozen=True, kw_only=True)
class SurveyFilters:
    """The filters; None means all."""

    type: str | None = None
    status: str | None = None
    source: str | None = None
    persona_id: str | None = None
    entity: str | None = None
    """An entity key as stored."""
    pinned: bool | None = None
    words: str | None = None
    """A part of the text, case-insensitive."""


@dataclass(frozen=True, kw_only=True)
class OwnedMemory:
    """A memory and its person."""

    user: str
    """The application's id of the person."""
    memory: StoredMemory


@dataclass(frozen=True, kw_only=True)
class TurnMemory:
    """A memory that a turn stated."""

    id: str
    content: str
    """The text as this turn was remembered; its quote where that version is not on record."""
    replaced: bool
    """Whether the memory says something else by now."""
    type: str
    status: str
    persona_id: str | None
    quote: str


@dataclass(frozen=True, kw_only=True)
class MemoryCounts:
    """Numbers of memories over all people."""

    active: int
    archived: int
    pinned: int


@dataclass(frozen=True, kw_only=True)
class Facets:
    """How many memories have each value of each facet."""

    total: int
    """The number with all filters applied."""
    by: Mapping[str, Mapping[str, int]]
    """Counts by facet: status, type, source, persona, pinned, user (the top twenty), entity (for one person only)."""


@dataclass(frozen=True, kw_only=True)
class MemorySurvey:
    """A page of memories and the facets."""

    found: tuple[OwnedMemory, ...]
    facets: Facets


async def survey_memories(tx: Tx, scope: Scope, filters: SurveyFilters, *, most: int, skip: int = 0) -> MemorySurvey:
    """Return a page of memories of the organization or a person, latest change first, and the facets.

    The memories are those of the organization, or of one person if the scope names one. Each facet is counted with the
    filters of the other facets applied.
    """
    params = {**_filter_params(scope, filters), "most": most, "skip": skip, "few": MOST_READ_ONE_BY_ONE + 1}
    # Unprepared: with filters that may be null, a plan for all values would be far worse than one for these.
    entities = await tx.fetch_unprepared(SQL["entities"], **params) if scope.user_id else []
    # Without words or entity the counts come from one pass over an index.
    if not filters.words and not filters.entity:
        facets = _make_facets(await tx.fetch_unprepared(SQL["standing"], **params), entities, filters)
        return _make_survey(await tx.fetch_unprepared(SQL["page"], **params), facets)
    matching = await tx.fetch_unprepared(SQL["matching"], **params)
    # Many matches: let the database count; few: count the rows that were read.
    if len(matching) > MOST_READ_ONE_BY_ONE:
        facets = _make_facets(await tx.fetch_unprepared(SQL["standing_of_matches"], **params), entities, filters)
        return _make_survey(await _page_of_many(tx, params, facets.total), facets)
    facets = _make_facets(_facet_rows(matching, scope, filters), entities, filters)
    return _make_survey(await _page_of_few(tx, scope, filters, matching, most=most, skip=skip), facets)


def _make_survey(found: Sequence[Row], facets: Facets) -> MemorySurvey:
    """Return rows of memories with their people, and the facets, as a survey."""
    memories = tuple(OwnedMemory(user=row.pop("external_id"), memory=memory_of(row)) for row in found)
    return MemorySurvey(found=memories, facets=facets)


async def _page_of_few(
    tx: Tx, scope: Scope, filters: SurveyFilters, matching: Sequence[Row], *, most: int, skip: int
) -> Sequence[Row]:
    """Return one page of few matching memories, by sorting all matches."""
    wanted = [row for row in matching if _is_in_scope(row, scope) and _has_wanted_values(row, filters)]
    chosen = sorted(wanted, key=lambda row: (row["updated_at"], row["id"]), reverse=True)[skip : skip + most]
    places = {"users": [row["user_id"] for row in chosen], "ids": [row["id"] for row in chosen]}
    return await tx.fetch_all(SQL["these"], org_id=scope.org_id, **places) if chosen else []


async def _page_of_many(tx: Tx, params: dict[str, Any], total: int) -> Sequence[Row]:
    """Return one page of many matching memories, by searching the latest first."""
    size = min(params["most"], total - params["skip"])
    if size <= 0:
        return []
    # The page is likely among them, and reading them is far cheaper than sorting all matches.
    found = await tx.fetch_unprepared(
        SQL["page_of_latest_matches"], **params, latest=MOST_READ_ONE_BY_ONE + 2 * (params["skip"] + size)
    )
    # The latest were too few: only now are all matches found and sorted.
    return found if len(found) == size else await tx.fetch_unprepared(SQL["page_of_matches"], **params)


def _facet_rows(matching: Sequence[Row], scope: Scope, filters: SurveyFilters) -> list[Row]:
    """Return rows like those of the statement `standing`: combinations of values, and the people with most memories."""
    columns = tuple(_FACET_COLUMNS.values())
    combinations = Counter(tuple(row[name] for name in columns) for row in matching if _is_in_scope(row, scope))
    people = Counter(row["person"] for row in matching if _has_wanted_values(row, filters))
    return [
        *({"person": None, **dict(zip(columns, key, strict=True)), "number": n} for key, n in combinations.items()),
        *({"person": person, "number": n} for person, n in people.most_common(MOST_PEOPLE)),
    ]


def _is_in_scope(row: Row, scope: Scope) -> bool:
    """Say whether a memory's row is of the scope's person, or the scope names none."""
    return scope.user_id in (None, row["user_id"])


def _make_facets(rows: Sequence[Row], entities: Sequence[Row], filters: SurveyFilters) -> Facets:
    """Return how many memories have each value of each facet, and how many match all filters."""
    combinations = [row for row in rows if row["person"] is None]
    people = sorted((-row["number"], row["person"]) for row in rows if row["person"] is not None)
    return Facets(
        total=sum(row["number"] for row in combinations if _has_wanted_values(row, filters)),
        by={name: _facet_counts(combinations, filters, name) for name in _FACET_COLUMNS}
        | {
            "user": {person: -number for number, person in people},
            "entity": {row["value"]: row["number"] for row in entities},
        },
    )


_FACET_COLUMNS = {"status": "status", "type": "type", "source": "source", "persona": "persona_id", "pinned": "pinned"}


def _facet_counts(rows: Sequence[Row], filters: SurveyFilters, facet: str) -> dict[str, int]:
    """Return the counts of a facet's values, most frequent first; the facet's own filter is not applied."""
    column = _FACET_COLUMNS[facet]
    found: Counter[str] = Counter()
    for row in rows:
        if row[column] is not None and _has_wanted_values(row, filters, apart_from=column):
            found[str(row[column])] += row["number"]
    return dict(found.most_common())


def _has_wanted_values(row: Row, filters: SurveyFilters, apart_from: str = "") -> bool:
    """Say whether a memory's row has the values that the filters want, but for one column."""
    wanted = {column: getattr(filters, column) for column in _FACET_COLUMNS.values() if column != apart_from}
    return all(value is None or row[column] == value for column, value in wanted.items())


async def memories_by_turn(tx: Tx, scope: Scope, turn_ids: Sequence[str]) -> dict[str, list[TurnMemory]]:
    """Return the memories that these turns of the person stated, by turn, each in the words of its version then."""
    rows = await tx.fetch_all(SQL["of_turns"], org_id=scope.org_id, user_id=scope.user, turns=list(turn_ids))
    changed = sorted({row["id"] for row in rows if row["versions"] > 1})
    past = await past_versions(tx, scope, changed)
    found: dict[str, list[TurnMemory]] = {}
    for row in rows:
        turn_id, texts = row.pop("turn_id"), [one.content for one in past.get(row["id"], ())]
        found.setdefault(turn_id, []).append(_turn_memory(row, texts))
    return found


def _turn_memory(row: Row, past_texts: Sequence[str]) -> TurnMemory:
    """Return what a turn stated in the words of that time, given the memory's past texts, the latest last."""
    digest, current = row.pop("content_hash"), row.pop("content")
    one_text = row.pop("versions") == 1
    if one_text or content_hash(current) == digest:
        return TurnMemory(**row, content=current, replaced=False)
    then = next((text for text in reversed(past_texts) if content_hash(text) == digest), row["quote"])
    return TurnMemory(**row, content=then, replaced=True)


async def count_memories(tx: Tx, scope: Scope) -> MemoryCounts:
    """Return how many of the organization's memories are active, archived and pinned."""
    rows = await tx.fetch_all(SQL["counts"], org_id=scope.org_id)
    by = {(row["status"], row["pinned"]): row["number"] for row in rows}
    return MemoryCounts(
        active=sum(number for (status, _), number in by.items() if status == "ACTIVE"),
        archived=sum(number for (status, _), number in by.items() if status == "ARCHIVED"),
        pinned=sum(number for (_, pinned), number in by.items() if pinned),
    )


def _filter_params(scope: Scope, filters: SurveyFilters) -> dict[str, Any]:
    """Return the parameters that all statements of a survey share."""
    # The plain pattern is a cheap first filter in SQL; the exact one is needed only where it is narrower.
    plain = _plain_pattern(filters.words) if filters.words else None
    exact = _like_pattern(filters.words) if filters.words else None
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


def _like_pattern(words: str) -> str:
    """Return a LIKE pattern for texts that contain the words as they are."""
    return "%" + "".join(f"\\{letter}" if letter in "\\%_" else letter for letter in words) + "%"


def _plain_pattern(words: str) -> str:
    """Return a LIKE pattern in lower-case ASCII, with a wildcard where case folding could leave ASCII (İ for i)."""
    pieces = re.split(r"[^\x00-\x7f]|[ik]", words.lower())
    return "".join(_like_pattern(piece) for piece in pieces if piece) or "%"
