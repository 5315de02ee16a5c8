"""What a query speaks of and recall did not even weigh, and why."""

from dataclasses import dataclass
from enum import StrEnum

from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.memory.lifecycle import Status
from mnemon.memory.memory import Memory
from mnemon.memory.recall.query import Query
from mnemon.memory.recall.store import params_of
from mnemon.memory.store import memory_of
from mnemon.memory.words import coverage
from mnemon.scope import Scope

SQL = statements("mnemon.memory.recall")
NEAR = 0.35
"""A cosine from which a memory is near enough to be missed."""
_LOOKED_AT = 40


class Why(StrEnum):
    """Why a memory was not weighed."""

    ARCHIVED = "archived"
    OTHER_PERSONA = "other_persona"
    NOT_YET = "not_yet"
    """It was not known at the time asked for."""


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A memory that speaks of the query and was not weighed."""

    memory: Memory
    why: Why
    similarity: float | None


async def left_out(tx: Tx, scope: Scope, query: Query, *, most: int = 10) -> list[LeftOut]:
    """The memories nearest to the query that recall may not use for this persona at this time, nearest first."""
    params = params_of(scope, query)
    rows = await tx.all(SQL["not_weighed"], **params, as_of=query.as_of, most=_LOOKED_AT)
    found = [(memory_of(row), row["similarity"]) for row in rows]
    words = coverage(query.text, [memory.content for memory, _ in found])
    near = [
        LeftOut(memory=memory, why=why_not(memory, scope, query), similarity=similarity)
        for (memory, similarity), covered in zip(found, words, strict=True)
        if covered > 0 or (similarity is not None and similarity >= NEAR)
    ]
    return near[:most]


def why_not(memory: Memory, scope: Scope, query: Query) -> Why:
    """Why a memory was not weighed; a persona's secret is its own whatever else holds."""
    if memory.persona_id not in (None, scope.persona_id):
        return Why.OTHER_PERSONA
    if memory.status is Status.ARCHIVED and (query.as_of is None or memory.valid_from <= query.as_of):
        return Why.ARCHIVED
    return Why.NOT_YET
