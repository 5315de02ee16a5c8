"""The hash that stands for something forgotten."""

import hashlib
import hmac

from mnemon.memory.fact import Fact
from mnemon.memory.keys import key_of, normalized
from mnemon.scope import Scope


def content_stone(scope: Scope, content: str) -> bytes:
    """The hash of what a memory said."""
    return _hash(scope, "content", normalized(content))


def quote_stone(scope: Scope, quote: str) -> bytes:
    """The hash of the words it rested on."""
    return _hash(scope, "quote", normalized(quote))


def place_stone(scope: Scope, turn_id: str, memory_key: str) -> bytes:
    """The hash of the turn it was taken from, under its key: other words for the same are refused too."""
    return _hash(scope, "place", f"{turn_id}\0{memory_key}")


def stones_of(scope: Scope, fact: Fact) -> frozenset[bytes]:
    """Every hash under which a fact could have been forgotten."""
    stones = {content_stone(scope, fact.content)}
    if fact.ground:
        stones |= {quote_stone(scope, fact.ground.quote), place_stone(scope, fact.ground.turn_id, key_of(fact))}
    return frozenset(stones)


def _hash(scope: Scope, kind: str, text: str) -> bytes:
    """Keyed by the person, so that equal hashes of two people say nothing."""
    key = f"{scope.org_id}\0{scope.user}".encode()
    return hmac.new(key, f"{kind}\0{text}".encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
