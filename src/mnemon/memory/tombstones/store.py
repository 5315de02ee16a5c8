"""Reads and writes tombstones."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from mnemon.db.statements import statements
from mnemon.db.tx import Tx
from mnemon.memory.fact import Fact
from mnemon.memory.tombstones.stone import stones_of
from mnemon.scope import Scope

SQL = statements("mnemon.memory.tombstones")


async def forgotten(tx: Tx, scope: Scope, facts: Sequence[Fact]) -> frozenset[int]:
    """Which of the extracted facts, by place, were forgotten after they were said. What is said anew is new."""
    wanted = {stone for fact in facts for stone in stones_of(scope, fact)}
    if not wanted:
        return frozenset()
    rows = await tx.all(SQL["tombstones"], org_id=scope.org_id, user_id=scope.user, hashes=list(wanted))
    laid: dict[bytes, datetime] = {bytes(row["hash"]): row["at"] for row in rows}
    return frozenset(
        place
        for place, fact in enumerate(facts)
        if any(
            stone in laid and (fact.ground is None or fact.ground.at <= laid[stone]) for stone in stones_of(scope, fact)
        )
    )


async def lay(tx: Tx, scope: Scope, stones: Iterable[bytes], *, at: datetime) -> int:
    """The stones lie; gives how many are new."""
    rows = [{"org_id": scope.org_id, "user_id": scope.user, "hash": stone, "at": at} for stone in sorted(set(stones))]
    return await tx.many(SQL["lay_tombstone"], rows) if rows else 0
