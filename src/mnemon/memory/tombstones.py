"""Tombstones: hashes of what was forgotten, so that a repeated reflection does not store it again.

This file computes, reads and writes them; the forgetting itself is in `custody`.
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from mnemon.db.statements import load_statements
from mnemon.db.tx import Tx
from mnemon.memory.fact import Fact
from mnemon.memory.keys import key_of_fact, normalize_content
from mnemon.scope import Scope


def content_tombstone(scope: Scope, content: str) -> bytes:
    """Return the hash by which a forgotten memory's content is recognized."""
    return _person_hash(scope, "content", normalize_content(content))


def quote_tombstone(scope: Scope, quote: str) -> bytes:
    """Return the hash by which the quoted words of a forgotten memory are recognized."""
    return _person_hash(scope, "quote", normalize_content(quote))


def place_tombstone(scope: Scope, turn_id: str, memory_key: str) -> bytes:
    """Return the hash of turn and memory key that keeps a forgotten fact from returning in other words."""
    return _person_hash(scope, "place", f"{turn_id}\0{memory_key}")


def tombstones_of(scope: Scope, fact: Fact) -> frozenset[bytes]:
    """Return every hash that would be among the tombstones if the fact was forgotten before."""
    stones = {content_tombstone(scope, fact.content)}
    # Without a quote the application states it, and only its content can be recognized.
    if fact.ground:
        stones |= {
            quote_tombstone(scope, fact.ground.quote),
            place_tombstone(scope, fact.ground.turn_id, key_of_fact(fact)),
        }
    return frozenset(stones)


def _person_hash(scope: Scope, kind: str, text: str) -> bytes:
    """Return an HMAC of the text keyed by the person, so that hashes cannot be compared between people."""
    key = f"{scope.org_id}\0{scope.user}".encode()
    return hmac.new(key, f"{kind}\0{text}".encode("utf-8", "surrogatepass"), hashlib.sha256).digest()


SQL = load_statements("mnemon.memory")


async def find_forgotten(tx: Tx, scope: Scope, facts: Sequence[Fact]) -> frozenset[int]:
    """Return the positions of extracted facts that were forgotten after they were said; what was said later is new."""
    wanted = {stone for fact in facts for stone in tombstones_of(scope, fact)}
    if not wanted:
        return frozenset()
    rows = await tx.fetch_all(SQL["tombstones"], org_id=scope.org_id, user_id=scope.user, hashes=list(wanted))
    forgotten_at: dict[bytes, datetime] = {bytes(row["hash"]): row["at"] for row in rows}
    return frozenset(
        position
        for position, fact in enumerate(facts)
        if any(
            # What is said again after the forgetting is new and may be remembered.
            stone in forgotten_at and (fact.ground is None or fact.ground.at <= forgotten_at[stone])
            for stone in tombstones_of(scope, fact)
        )
    )


async def store_tombstones(tx: Tx, scope: Scope, stones: Iterable[bytes], *, at: datetime) -> int:
    """Store the tombstones, or move the time of those that exist; return how many rows were written."""
    return await store_dated_tombstones(tx, scope, dict.fromkeys(stones, at))


async def store_dated_tombstones(tx: Tx, scope: Scope, stones: Mapping[bytes, datetime]) -> int:
    """Store tombstones of several forgettings, each with its time, as `store_tombstones` does."""
    # In a fixed order, so that two transactions that write the same hashes cannot deadlock.
    rows = [{"org_id": scope.org_id, "user_id": scope.user, "hash": one, "at": stones[one]} for one in sorted(stones)]
    return await tx.execute_many(SQL["lay_tombstone"], rows) if rows else 0
