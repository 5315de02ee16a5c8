"""A key as it may be shown, and the principal it proves."""

from dataclasses import dataclass
from datetime import datetime

from mnemon.access.grants import Grant


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key as its organization may see it: everything but the secret."""

    id: str
    name: str
    grants: frozenset[Grant]
    bound_user: str | None
    """The one person it may speak of, as the application names them."""
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None
    """Last use, to the minute."""


@dataclass(frozen=True, kw_only=True)
class Principal:
    """Who is asking, as their key proved it."""

    org_id: str
    key_id: str
    """The key's id; `operator` for whoever followed a link to the console."""
    grants: frozenset[Grant]
    bound_user: str | None = None
    expires_at: datetime | None = None
    """When the key ends; None for one without an end."""

    def may(self, grant: Grant) -> bool:
        return grant in self.grants
