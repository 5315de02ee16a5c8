"""Reads and writes vectors."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.scope import Scope

SQL = statements("mnemon.memory.vectors")


class Kind(StrEnum):
    """What a vector stands for."""

    MEMORY = "memory"
    VERSION = "version"
    MESSAGE = "message"


@dataclass(frozen=True, kw_only=True)
class Pending:
    """A text that has no vector yet."""

    kind: Kind
    id: str
    content: str


def literal(vector: np.ndarray) -> str:
    """The vector as PostgreSQL reads it."""
    return "[" + ",".join(f"{value:.6g}" for value in vector.tolist()) + "]"


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
        for (kind, name), vector in vectors.items()
    ]
    if rows:
        await tx.many(SQL["save"], rows)
        await tx.run(SQL["begin_active"], org_id=scope.org_id, model=model, now=tx.now)


async def displace(tx: Tx, scope: Scope, memory_id: str, number: int, *, revision: int) -> None:
    """The memory's vectors stand for its version with this number; the memory itself has none."""
    owner = {"org_id": scope.org_id, "user_id": scope.user}
    await tx.run(SQL["displace"], **owner, memory_id=memory_id, number=number, revision=revision)


async def pending(tx: Tx, scope: Scope, model: str, *, most: int) -> list[Pending]:
    """What of the person has no vector of this model yet."""
    owner = {"org_id": scope.org_id, "user_id": scope.user}
    async with joined_by_hash(tx):
        rows = await tx.all(SQL["pending"], **owner, model=model, most=most)
    return [Pending(kind=Kind(row["kind"]), id=row["id"], content=row["content"]) for row in rows]
