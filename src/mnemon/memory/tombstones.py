"""Reads and writes tombstones.

Hashes of what was forgotten, so that a reflection run again does not bring it back. Not the forgetting: custody.

The hash that stands for something forgotten.
"""

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from datetime import datetime

from mnemon.db.statements import load_statements
from mnemon.db.tx import Tx
from mnemon.memory.fact import Fact
from mnemon.memory.keys import key_of_fact, normalize_content
from mnemon.scope import Scope


def content_tombstone(scope: Scope, content: str) -> bytes:
    """The hash of what a memory said."""
    return _person_hash(scope, "content", normalize_content(content))


def quote_tombstone(scope: Scope, quote: str) -> bytes:
    """The hash of the words it rested on."""
    return _person_hash(scope, "quote", normalize_content(quote))


def place_tombstone(scope: Scope, turn_id: str, memory_key: str) -> bytes:
    """The hash of the turn it was taken from, under its key: other words for the same are refused too."""
    return _person_hash(scope, "place", f"{turn_id}\0{memory_key}")


def tombstones_of(scope: Scope, fact: Fact) -> frozenset[bytes]:
    """Every hash under which a fact could have been forgotten."""
    stones = {content_tombstone(scope, fact.content)}
    if fact.ground:
        stones |= {
            quote_tombstone(scope, fact.ground.quote),
            place_tombstone(scope, fact.ground.turn_id, key_of_fact(fact)),
        }
    return frozenset(stones)


def _person_hash(scope: Scope, kind: str, text: str) -> bytes:
    """Keyed by the person, so that equal hashes of two people say nothing."""
    key = f"{scope.org_id}\0{scope.user}".encode()
    return hmac.new(key, f"{kind}\0{text}".encode("utf-8", "surrogatepass"), hashlib.sha256).digest()


SQL = load_statements("mnemon.memory")


async def find_forgotten(tx: Tx, scope: Scope, facts: Sequence[Fact]) -> frozenset[int]:
    """Which of the extracted facts, by place, were forgotten after they were said. What is said anew is new."""
    wanted = {stone for fact in facts for stone in tombstones_of(scope, fact)}
    if not wanted:
        return frozenset()
    rows = await tx.fetch_all(SQL["tombstones"], org_id=scope.org_id, user_id=scope.user, hashes=list(wanted))
    laid: dict[bytes, datetime] = {bytes(row["hash"]): row["at"] for row in rows}
    return frozenset(
        place
        for place, fact in enumerate(facts)
        if any(
            stone in laid and (fact.ground is None or fact.ground.at <= laid[stone])
            for stone in tombstones_of(scope, fact)
        )
    )


async def store_tombstones(tx: Tx, scope: Scope, stones: Iterable[bytes], *, at: datetime) -> int:
    """The stones lie; gives how many are new."""
    rows = [{"org_id": scope.org_id, "user_id": scope.user, "hash": stone, "at": at} for stone in sorted(set(stones))]
    return await tx.execute_many(SQL["lay_tombstone"], rows) if rows else 0
