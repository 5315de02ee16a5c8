"""SQL statements that read the candidates of a query, and memories that were left out.

Candidates are found by an exact scan of one person's rows; there is no approximate index over all people.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.memory.fact import MemoryType
from mnemon.memory.lifecycle import ArchiveStatus
from mnemon.memory.memory import StoredMemory
from mnemon.memory.ranking import Ranking
from mnemon.memory.recall.query import FoundMessage, RecallItem, RecallQuery
from mnemon.memory.store import memory_of, trust_of_row
from mnemon.memory.words import query_coverage, reading_effort
from mnemon.scope import Scope
from mnemon.vectors.text_vectors import vector_literal

SQL = load_statements("mnemon.memory.recall")


class CandidateRow(NamedTuple):
    """A candidate with its cosine."""

    thing: RecallItem
    cosine: float | None
    """None if the row or the query has no vector."""
    revision: int
    place: int
    """A message's position in its turn."""


class CandidateBatch(NamedTuple):
    """Rows of candidates that are not parsed yet; parsing many is work for a thread."""

    rows: Sequence[Row]
    read: Callable[[Row], CandidateRow]
    are_claims: bool = False
    """Whether these are claims whose facts are held: they are shown beside these or not at all."""

    @property
    def effort(self) -> int:
        """Return the cost of ranking the batch's rows, counted in rows with short texts."""
        return len(self.rows) + reading_effort(row["content"] for row in self.rows)

    def read_all(self) -> list[CandidateRow]:
        """Return the batch's rows as candidates."""
        return list(map(self.read, self.rows))


async def nearest_memories(tx: Tx, scope: Scope, query: RecallQuery, *, most: int) -> list[CandidateBatch]:
    """Return the memories nearest by cosine, all without a vector yet, and claims beside the facts they contradict."""
    params = candidate_params(scope, query)
    near, waiting, claims = await tx.gather(
        tx.fetch_all(SQL["nearest"], **params, most=most),
        tx.fetch_all(SQL["not_embedded"], **params),
        tx.fetch_all(SQL["claims_of_held"], **params),
    )
    return [
        CandidateBatch(near, _memory_candidate),
        CandidateBatch(waiting, _memory_candidate),
        CandidateBatch(claims, _memory_candidate, are_claims=True),
    ]


async def every_memory(tx: Tx, scope: Scope, query: RecallQuery) -> list[CandidateBatch]:
    """Return all current memories that the scope's persona may see, as candidates of a query."""
    return [
        CandidateBatch(await tx.fetch_all(SQL["every_candidate"], **candidate_params(scope, query)), _memory_candidate)
    ]


async def memories_as_of(tx: Tx, scope: Scope, query: RecallQuery) -> list[CandidateBatch]:
    """Return all memories as they were at the query's time, as candidates."""
    params = {**candidate_params(scope, query), "as_of": query.as_of}
    current = await tx.fetch_all(SQL["candidates_as_of"], **params)
    past = await tx.fetch_all(SQL["versions_as_of"], **params)
    # At any time at most one version of a memory was valid, so no id is in both.
    return [CandidateBatch(current, _memory_candidate), CandidateBatch(past, _past_candidate)]


async def nearest_messages(tx: Tx, scope: Scope, query: RecallQuery, *, most: int) -> list[CandidateBatch]:
    """Return the persona's messages nearest to the query by cosine, and all without a vector yet."""
    params = candidate_params(scope, query)
    near = await tx.fetch_all(SQL["nearest_messages"], **params, most=most)
    waiting = await tx.fetch_all(SQL["messages_not_embedded"], **params)
    return [CandidateBatch(near, _message_candidate), CandidateBatch(waiting, _message_candidate)]


async def every_message(tx: Tx, scope: Scope, query: RecallQuery) -> list[CandidateBatch]:
    """Return all messages of the scope's persona up to the query's time, as candidates."""
    rows = await tx.fetch_all(SQL["every_message"], **candidate_params(scope, query), as_of=query.as_of)
    return [CandidateBatch(rows, _message_candidate)]


async def messages_by_ids(tx: Tx, scope: Scope, ids: Sequence[str]) -> dict[str, FoundMessage]:
    """Return the person's messages with these ids, by id."""
    if not ids:
        return {}
    rows = await tx.fetch_all(SQL["messages_by_ids"], org_id=scope.org_id, user_id=scope.user, ids=list(ids))
    return {row["id"]: _found_message(row) for row in rows}


def candidate_params(scope: Scope, query: RecallQuery) -> dict[str, object]:
    """Return the parameters that all statements over candidates of a query share."""
    return {
        "org_id": scope.org_id,
        "user_id": scope.user,
        "persona_id": scope.persona_id,
        # The hybrid ranking compares each row with all others and filters by type afterwards, as the index does.
        "types": sorted(MemoryType if query.ranking is Ranking.HYBRID else query.types),
        "model": query.model,
        "vector": None if query.vector is None else vector_literal(query.vector),
    }


def _cosine_of(row: Row) -> float | None:
    """Return a row's cosine to the query; None for a text without words, whose zero vector makes it NaN."""
    value = row["similarity"]
    return None if value is None or math.isnan(value) else float(value)


def _memory_candidate(row: Row) -> CandidateRow:
    """Return a row of `memories` as a candidate."""
    return CandidateRow(memory_of(row), _cosine_of(row), row["revision"], 0)


def _past_candidate(row: Row) -> CandidateRow:
    """Return a row of a memory and its past version as a candidate with that version's text and times."""
    past = replace(
        memory_of(row),
        content=row["past_content"],
        importance=row["past_importance"],
        confidence=row["past_confidence"],
        source=row["past_source"],
        origin=row["past_origin"] or row["past_source"],
        trust=trust_of_row(row, "past_"),
        valid_from=row["past_valid_from"],
        valid_to=row["past_valid_to"],
        version=row["number"],
        mentions=row["past_mentions"],
        updated_at=row["past_valid_from"],
    )
    return CandidateRow(past, _cosine_of(row), past.revision, 0)


def _message_candidate(row: Row) -> CandidateRow:
    """Return a row of `messages` as a candidate."""
    return CandidateRow(_found_message(row), _cosine_of(row), row["revision"], row["place"])


def _found_message(row: Row) -> FoundMessage:
    """Return a row of `messages` as a FoundMessage."""
    return from_row(FoundMessage, row)


NEAR_COSINE = 0.35
"""The cosine from which a memory is near enough to be missed."""
_MOST_LOOKED_AT = 40


class LeftOutReason(StrEnum):
    """Why a memory was not ranked."""

    ARCHIVED = "archived"
    OTHER_PERSONA = "other_persona"
    NOT_YET = "not_yet"
    """It was not known at the time asked for."""


@dataclass(frozen=True, kw_only=True)
class LeftOutMemory:
    """A memory that matches the query but was not ranked."""

    memory: StoredMemory
    why: LeftOutReason
    similarity: float | None


async def list_left_out(tx: Tx, scope: Scope, query: RecallQuery, *, most: int = 10) -> list[LeftOutMemory]:
    """Return the memories nearest to the query that this persona may not recall at this time, nearest first."""
    params = candidate_params(scope, query)
    rows = await tx.fetch_all(SQL["not_weighed"], **params, as_of=query.as_of, most=_MOST_LOOKED_AT)
    found = [(memory_of(row), row["similarity"]) for row in rows]
    words = query_coverage(query.text, [memory.content for memory, _ in found])
    near = [
        LeftOutMemory(memory=memory, why=left_out_reason(memory, scope, query), similarity=similarity)
        for (memory, similarity), covered in zip(found, words, strict=True)
        # Either is enough: a text without a vector is judged by its words.
        if covered > 0 or (similarity is not None and similarity >= NEAR_COSINE)
    ]
    return near[:most]


def left_out_reason(memory: StoredMemory, scope: Scope, query: RecallQuery) -> LeftOutReason:
    """Return why recall left this memory out; "of another persona" comes before every other reason."""
    if memory.persona_id not in (None, scope.persona_id):
        return LeftOutReason.OTHER_PERSONA
    if memory.status is ArchiveStatus.ARCHIVED and (query.as_of is None or memory.valid_from <= query.as_of):
        return LeftOutReason.ARCHIVED
    return LeftOutReason.NOT_YET
