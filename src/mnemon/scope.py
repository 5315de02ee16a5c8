"""Scopes and ids: whose data a statement is about, prefixed ULIDs for rows, and internal ids of people.

Functions on the database take the transaction first and the scope second.
"""

import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

# Crockford's base 32: without I, L, O and U, which are misread.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ID_PATTERN = re.compile(r"[a-z]{2,4}_[0-9A-HJKMNP-TV-Z]{26}")


NewId = Callable[[str], str]
"""Makes a new id for a prefix: `new_id("mem")`. Passed as an argument, so that tests can number ids instead."""


def make_ulid(at: datetime, entropy: int) -> str:
    """Return a 26-character ULID of this millisecond and these 80 random bits."""
    # The time in the upper bits, so that ids sort by it as texts too.
    value = (int(at.timestamp() * 1000) << 80) | (entropy & ((1 << 80) - 1))
    return _encode_crockford(value, 26)


def new_id(prefix: str, at: datetime) -> str:
    """Return a new id like `mem_01H…`, ordered by time to the millisecond."""
    return f"{prefix}_{make_ulid(at, secrets.randbits(80))}"


def is_id(text: str, prefix: str) -> bool:
    """Say whether the text has the form of an id with this prefix."""
    return text.startswith(prefix + "_") and _ID_PATTERN.fullmatch(text) is not None


def is_any_id(text: str) -> bool:
    """Say whether the text has the form of an id made by Mnemon, of whatever prefix."""
    return _ID_PATTERN.fullmatch(text) is not None


def internal_user_id(org_id: str, external: str) -> str:
    """Return the internal id of the person an organization calls `external`: always the same, and unique everywhere.

    Derived, not looked up, so that naming a person costs no round trip and needs no directory on a cluster.
    """
    # NUL between the two, which neither may contain: no other pair gives the same text.
    digest = hashlib.sha256(f"{org_id}\0{external}".encode()).digest()
    return "usr_" + _encode_crockford(int.from_bytes(digest[:16], "big"), 26)


def _encode_crockford(value: int, length: int) -> str:
    """Return the number's lowest 5-bit digits in Crockford's base 32, this many of them."""
    return "".join(ALPHABET[(value >> (5 * place)) & 31] for place in reversed(range(length)))


@dataclass(frozen=True, kw_only=True)
class Scope:
    """An organization, and where needed one of its people and the persona they talk with."""

    org_id: str
    """The organization's name, as its keys carry it."""
    user_id: str | None = None
    """The person's internal id (`usr_…`), never the name the application uses."""
    persona_id: str | None = None
    """The persona the person talks with; None means no persona: global data and direct messages."""

    @property
    def user(self) -> str:
        """Return the person's internal id; raise RuntimeError in a scope without a person."""
        if self.user_id is None:
            raise RuntimeError("this scope names no person")
        return self.user_id

    @property
    def owner_params(self) -> dict[str, str]:
        """Return the statement parameters that name the organization and the person."""
        return {"org_id": self.org_id, "user_id": self.user}

    def with_persona(self, persona_id: str | None) -> "Scope":
        """Return the same scope with this persona."""
        return replace(self, persona_id=persona_id)


LOCAL_ORG = "local"
"""The organization that `mnemon serve` makes at its first start, and that commands use unless they name another."""


def org_option(org_id: str) -> str:
    """Return the option that makes a suggested command use this organization: ` --org NAME`, or nothing for `local`."""
    return "" if org_id == LOCAL_ORG else f" --org {org_id}"


def person_scope(org_id: str, external_user: str, persona_id: str | None = None) -> Scope:
    """Return the scope of the person that the organization calls `external_user`."""
    return Scope(org_id=org_id, user_id=internal_user_id(org_id, external_user), persona_id=persona_id)
