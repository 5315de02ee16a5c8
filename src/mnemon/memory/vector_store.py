"""Reads and writes vectors.

Where the vectors of memories, their versions and messages stand. Not how they are made (vectors), nor how they are
weighed (ranking).
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from enum import StrEnum

import numpy as np

from mnemon.db.statements import load_statements
from mnemon.db.tx import Tx
from mnemon.event_loop import with_pauses
from mnemon.scope import Scope
from mnemon.sessions.people import bump_revision
from mnemon.vectors import active_model
from mnemon.vectors.embed_job import UnembeddedText, VectorCount
from mnemon.vectors.text_vectors import vector_literal

SQL = load_statements("mnemon.memory")
_VECTORS_BETWEEN_PAUSES = 16
"""Vectors written out as text before others may run, in about 2 ms."""


class VectorKind(StrEnum):
    """What a vector stands for."""

    MEMORY = "memory"
    VERSION = "version"
    MESSAGE = "message"


@asynccontextmanager
async def join_by_hash(tx: Tx) -> AsyncIterator[None]:
    """Statements inside join a person's rows with their vectors in linear time."""
    await tx.execute(SQL["join_by_hash"])
    yield
    await tx.execute(SQL["join_as_usual"])


async def save_vectors(
    tx: Tx, scope: Scope, model: str, vectors: Mapping[tuple[VectorKind, str], np.ndarray], *, revision: int
) -> None:
    """Each thing has this vector of the model."""
    rows = [
        {
            "org_id": scope.org_id,
            "user_id": scope.user,
            "model": model,
            "kind": kind,
            "id": name,
            "vector": vector_literal(vector),
            "revision": revision,
        }
        async for (kind, name), vector in with_pauses(vectors.items(), _VECTORS_BETWEEN_PAUSES)
    ]
    if rows:
        await tx.execute_many(SQL["save"], rows)
        await active_model.activate_first_model(tx, scope, model)


async def move_to_version(tx: Tx, scope: Scope, memory_id: str, number: int, *, revision: int) -> None:
    """The memory's vectors stand for its version with this number; the memory itself has none."""
    await tx.execute(SQL["displace"], **_owner_params(scope), memory_id=memory_id, number=number, revision=revision)


async def drop_vectors(tx: Tx, scope: Scope, memory_id: str) -> None:
    """Remove the memory's vectors: its text was put in other words."""
    await tx.execute(SQL["drop"], **_owner_params(scope), memory_id=memory_id)


class MemoryTexts:
    """Memories, their versions and messages, as what gives texts their vectors sees them."""

    async def list_unembedded(self, tx: Tx, scope: Scope, model: str, *, most: int) -> list[UnembeddedText]:
        """What of the person has no vector of this model yet."""
        async with join_by_hash(tx):
            rows = await tx.fetch_all(SQL["pending"], **_owner_params(scope), model=model, most=most)
        return [UnembeddedText(address=(row["kind"], row["id"]), content=row["content"]) for row in rows]

    async def store_vectors(
        self, tx: Tx, scope: Scope, model: str, vectors: Mapping[UnembeddedText, np.ndarray]
    ) -> None:
        """Each has its vector, and the person's index is renewed."""
        named = {(VectorKind(one.address[0]), one.address[1]): vector for one, vector in vectors.items()}
        await save_vectors(tx, scope, model, named, revision=await bump_revision(tx, scope))

    async def count_vectors(self, tx: Tx, scope: Scope, model: str) -> VectorCount:
        """Over every person of the organization."""
        return VectorCount(**await tx.fetch_one(SQL["count_texts"], org_id=scope.org_id, model=model))

    async def delete_other_vectors(self, tx: Tx, scope: Scope, model: str) -> int:
        """The person has no vectors of other models; how many there were."""
        return await tx.execute(SQL["drop_others"], **_owner_params(scope), model=model)


def _owner_params(scope: Scope) -> dict[str, str]:
    return {"org_id": scope.org_id, "user_id": scope.user}
