"""Reads the candidates of a query: a scan of one person's rows, exact, never an index over all people."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from mnemon.db.statements import statements
from mnemon.db.tx import Row, Tx
from mnemon.memory.fact import MemoryType
from mnemon.memory.ranking import Ranking
from mnemon.memory.recall.query import Heard, Query, Thing
from mnemon.memory.store import memory_of, trust_in
from mnemon.memory.words import reading_effort
from mnemon.scope import Scope
from mnemon.turn import Role
from mnemon.vectors.literal import literal

SQL = statements("mnemon.memory.recall")


class Found(NamedTuple):
    """A candidate with its cosine."""

    thing: Thing
    cosine: float | None
    """None where it or the query has no vector."""
    revision: int
    place: int
    """A message's place in its turn."""


class Candidates(NamedTuple):
    """Rows of candidates, not looked into yet: of many, that is work for a thread."""

    rows: Sequence[Row]
    read: Callable[[Row], Found]
    beside: bool = False
    """Claims whose facts are held: shown beside them, or not at all."""

    @property
    def effort(self) -> int:
        """How long it takes to weigh them, as a number of rows with short texts."""
        return len(self.rows) + reading_effort(row["content"] for row in self.rows)

    def found(self) -> list[Found]:
        """Make candidates of the rows."""
        return list(map(self.read, self.rows))


async def nearest_memories(tx: Tx, scope: Scope, query: Query, *, most: int) -> list[Candidates]:
    """The nearest by cosine, all that have no vector yet, and the claims beside what is held."""
    params = params_of(scope, query)
    near, waiting, claims = await tx.together(
        tx.all(SQL["nearest"], **params, most=most),
        tx.all(SQL["not_embedded"], **params),
        tx.all(SQL["claims_of_held"], **params),
    )
    return [Candidates(near, _memory), Candidates(waiting, _memory), Candidates(claims, _memory, beside=True)]


async def every_memory(tx: Tx, scope: Scope, query: Query) -> list[Candidates]:
    """All current memories the scope's persona may see."""
    return [Candidates(await tx.all(SQL["every_candidate"], **params_of(scope, query)), _memory)]


async def memories_as_of(tx: Tx, scope: Scope, query: Query) -> list[Candidates]:
    """All memories as they were held at the query's time."""
    params = {**params_of(scope, query), "as_of": query.as_of}
    current = await tx.all(SQL["candidates_as_of"], **params)
    past = await tx.all(SQL["versions_as_of"], **params)
    return [Candidates(current, _memory), Candidates(past, _past_memory)]


async def nearest_messages(tx: Tx, scope: Scope, query: Query, *, most: int) -> list[Candidates]:
    """The nearest messages of the scope's persona by cosine, and all that have no vector yet."""
    params = params_of(scope, query)
    near = await tx.all(SQL["nearest_messages"], **params, most=most)
    waiting = await tx.all(SQL["messages_not_embedded"], **params)
    return [Candidates(near, _message), Candidates(waiting, _message)]


async def every_message(tx: Tx, scope: Scope, query: Query) -> list[Candidates]:
    """All messages of the scope's persona, up to the query's time."""
    rows = await tx.all(SQL["every_message"], **params_of(scope, query), as_of=query.as_of)
    return [Candidates(rows, _message)]


async def messages_by_ids(tx: Tx, scope: Scope, ids: Sequence[str]) -> dict[str, Heard]:
    """The person's messages with these ids."""
    if not ids:
        return {}
    rows = await tx.all(SQL["messages_by_ids"], org_id=scope.org_id, user_id=scope.user, ids=list(ids))
    return {row["id"]: _heard(row) for row in rows}


def params_of(scope: Scope, query: Query) -> dict[str, object]:
    """What every statement over candidates names."""
    return {
        "org_id": scope.org_id,
        "user_id": scope.user,
        "persona_id": scope.persona_id,
        # Hybrid weighs each row among all of them and picks the types afterwards, as the index does.
        "types": sorted(MemoryType if query.ranking is Ranking.HYBRID else query.types),
        "model": query.model,
        "vector": None if query.vector is None else literal(query.vector),
    }


def _cosine(row: Row) -> float | None:
    """A text without words has no direction, and its cosine is no number."""
    value = row["similarity"]
    return None if value is None or math.isnan(value) else float(value)


def _memory(row: Row) -> Found:
    return Found(memory_of(row), _cosine(row), row["revision"], 0)


def _past_memory(row: Row) -> Found:
    past = replace(
        memory_of(row),
        content=row["past_content"],
        importance=row["past_importance"],
        confidence=row["past_confidence"],
        source=row["past_source"],
        origin=row["past_origin"] or row["past_source"],
        trust=trust_in(row, "past_"),
        valid_from=row["past_valid_from"],
        valid_to=row["past_valid_to"],
        version=row["number"],
        updated_at=row["past_valid_from"],
    )
    return Found(past, _cosine(row), past.revision, 0)


def _message(row: Row) -> Found:
    return Found(_heard(row), _cosine(row), row["revision"], row["place"])


def _heard(row: Row) -> Heard:
    return Heard(
        id=row["id"],
        session_id=row["session_id"],
        turn_id=row["turn_id"],
        persona_id=row["persona_id"],
        role=Role(row["role"]),
        content=row["content"],
        name=row["name"],
        at=row["at"],
        revision=row["revision"],
    )
