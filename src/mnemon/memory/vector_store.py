"""SQL statements that read and write the vectors of memories, their versions and messages.

How vectors are computed is in `vectors`, how they are compared is in `ranking`.
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
"""Vectors converted to text between two pauses for other tasks, about 2 ms."""


class VectorKind(StrEnum):
    """What a vector belongs to."""

    MEMORY = "memory"
    VERSION = "version"
    MESSAGE = "message"


@asynccontextmanager
async def join_by_hash(tx: Tx) -> AsyncIterator[None]:
    """Make statements inside the block join a person's rows with their vectors by a hash join, in linear time."""
    # The planner takes one person's rows for a single one and would choose a nested loop, quadratic in their number.
    await tx.execute(SQL["join_by_hash"])
    yield
    # Not in a `finally`: after an error the transaction ends, and `set local` with it.
    await tx.execute(SQL["join_as_usual"])


async def save_vectors(
    tx: Tx, scope: Scope, model: str, vectors: Mapping[tuple[VectorKind, str], np.ndarray], *, revision: int
) -> None:
    """Store the model's vectors of these rows; the first model used becomes the organization's active one."""
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
    """Give the memory's vectors to its version with this number; the memory itself then has none."""
    await tx.execute(SQL["displace"], **scope.owner_params, memory_id=memory_id, number=number, revision=revision)


async def drop_vectors(tx: Tx, scope: Scope, memory_id: str) -> None:
    """Delete the memory's vectors, because its text was reworded."""
    await tx.execute(SQL["drop"], **scope.owner_params, memory_id=memory_id)


class MemoryTexts:
    """Memories, their versions and messages as a source of texts to embed."""

    async def list_unembedded(self, tx: Tx, scope: Scope, model: str, *, most: int) -> list[UnembeddedText]:
        """Return up to `most` memories, versions and messages of the person without a vector of this model."""
        async with join_by_hash(tx):
            rows = await tx.fetch_all(SQL["pending"], **scope.owner_params, model=model, most=most)
        return [UnembeddedText(address=(row["kind"], row["id"]), content=row["content"]) for row in rows]

    async def store_vectors(
        self, tx: Tx, scope: Scope, model: str, vectors: Mapping[UnembeddedText, np.ndarray]
    ) -> None:
        """Store the vectors of memories and messages under a new revision, so that the person's index is updated."""
        named = {(VectorKind(one.address[0]), one.address[1]): vector for one, vector in vectors.items()}
        await save_vectors(tx, scope, model, named, revision=await bump_revision(tx, scope))

    async def count_vectors(self, tx: Tx, scope: Scope, model: str) -> VectorCount:
        """Return how many texts of memory all people of the organization have, and how many have a vector."""
        return VectorCount(**await tx.fetch_one(SQL["count_texts"], org_id=scope.org_id, model=model))

    async def delete_other_vectors(self, tx: Tx, scope: Scope, model: str) -> int:
        """Delete the person's vectors of other embedding models; return how many there were."""
        return await tx.execute(SQL["drop_others"], **scope.owner_params, model=model)
