"""Reads and writes vectors."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import StrEnum

import numpy as np

from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.pauses import with_pauses
from mnemon.scope import Scope
from mnemon.sessions.people import bump_revision
from mnemon.vectors import active
from mnemon.vectors.literal import literal
from mnemon.vectors.texts import Counted, Waiting

SQL = statements("mnemon.memory.vectors")
_WRITTEN_AT_ONCE = 16
"""Vectors written out as text before others may run, in about 2 ms."""


class Kind(StrEnum):
    """What a vector stands for."""

    MEMORY = "memory"
    VERSION = "version"
    MESSAGE = "message"


@asynccontextmanager
async def joined_by_hash(tx: Tx) -> AsyncIterator[None]:
    """Statements inside join a person's rows with their vectors in linear time."""
    await tx.run(SQL["join_by_hash"])
    yield
    await tx.run(SQL["join_as_usual"])


async def save(
    tx: Tx, scope: Scope, model: str, vectors: Mapping[tuple[Kind, str], np.ndarray], *, revision: int
) -> None:
    """Each thing has this vector of the model."""
    rows = [
        {
            "org_id": scope.org_id,
            "user_id": scope.user,
            "model": model,
            "kind": kind,
            "id": name,
            "vector": literal(vector),
            "revision": revision,
        }
        async for (kind, name), vector in with_pauses(vectors.items(), _WRITTEN_AT_ONCE)
    ]
    if rows:
        await tx.many(SQL["save"], rows)
        await active.begin(tx, scope, model)


async def displace(tx: Tx, scope: Scope, memory_id: str, number: int, *, revision: int) -> None:
    """The memory's vectors stand for its version with this number; the memory itself has none."""
    await tx.run(SQL["displace"], **_owner(scope), memory_id=memory_id, number=number, revision=revision)


async def drop(tx: Tx, scope: Scope, memory_id: str) -> None:
    """Remove the memory's vectors: its text was put in other words."""
    await tx.run(SQL["drop"], **_owner(scope), memory_id=memory_id)


class MemoryTexts:
    """Memories, their versions and messages, as what gives texts their vectors sees them."""

    async def waiting(self, tx: Tx, scope: Scope, model: str, *, most: int) -> list[Waiting]:
        """What of the person has no vector of this model yet."""
        async with joined_by_hash(tx):
            rows = await tx.all(SQL["pending"], **_owner(scope), model=model, most=most)
        return [Waiting(address=(row["kind"], row["id"]), content=row["content"]) for row in rows]

    async def keep(self, tx: Tx, scope: Scope, model: str, vectors: Mapping[Waiting, np.ndarray]) -> None:
        """Each has its vector, and the person's index is renewed."""
        named = {(Kind(one.address[0]), one.address[1]): vector for one, vector in vectors.items()}
        await save(tx, scope, model, named, revision=await bump_revision(tx, scope))

    async def counted(self, tx: Tx, scope: Scope, model: str) -> Counted:
        """Over every person of the organization."""
        return Counted(**await tx.one(SQL["count_texts"], org_id=scope.org_id, model=model))

    async def drop_others(self, tx: Tx, scope: Scope, model: str) -> int:
        """The person has no vectors of other models; how many there were."""
        return await tx.run(SQL["drop_others"], **_owner(scope), model=model)


def _owner(scope: Scope) -> dict[str, str]:
    return {"org_id": scope.org_id, "user_id": scope.user}
