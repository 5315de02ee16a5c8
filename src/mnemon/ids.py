"""Ids: prefixed ULIDs for rows, and the internal id that a person's own name is turned into."""

import hashlib
import re
import secrets
from collections.abc import Callable
from datetime import datetime

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ID = re.compile(r"[a-z]{2,4}_[0-9A-HJKMNP-TV-Z]{26}")


NewId = Callable[[str], str]
"""Makes a fresh id for a prefix: `new_id("mem")`. Passed as an argument, so that tests can count instead."""


def ulid(at: datetime, entropy: int) -> str:
    """A 26-character ULID of this millisecond and these 80 bits."""
    value = (int(at.timestamp() * 1000) << 80) | (entropy & ((1 << 80) - 1))
    return _crockford(value, 26)


def new_id(prefix: str, at: datetime) -> str:
    """A fresh id like `mem_01H…`, ordered by time to the millisecond."""
    return f"{prefix}_{ulid(at, secrets.randbits(80))}"


def is_id(text: str, prefix: str) -> bool:
    """Whether the text has the form of an id with this prefix."""
    return text.startswith(prefix + "_") and _ID.fullmatch(text) is not None


def has_id_form(text: str) -> bool:
    """Whether the text has the form of an id of ours, of whatever prefix."""
    return _ID.fullmatch(text) is not None


def internal_user_id(org_id: str, external: str) -> str:
    """The internal id of the person an organization calls `external`: the same for the same two, unique everywhere.

    Derived, not looked up, so that naming a person costs no round trip and needs no directory on a cluster.
    """
    digest = hashlib.sha256(f"{org_id}\0{external}".encode()).digest()
    return "usr_" + _crockford(int.from_bytes(digest[:16], "big"), 26)


def _crockford(value: int, length: int) -> str:
    return "".join(ALPHABET[(value >> (5 * place)) & 31] for place in reversed(range(length)))
