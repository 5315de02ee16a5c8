"""A key as it may be shown, the principal it proves, and what a principal is told that may not."""

from dataclasses import dataclass
from datetime import datetime

from mnemon.access.grants import PERSONAL_GRANTS, Grant
from mnemon.errors import NotAllowed


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


def lacks_scope(principal: Principal, grant: Grant) -> NotAllowed:
    """Give the refusal of a key that lacks the scope: it names a command that makes a key which has it."""
    said = f"This key lacks the scope `{grant}`. `mnemon keys create --scopes {grant},…` makes one that has it."
    if principal.bound_user is not None and grant not in PERSONAL_GRANTS:
        said = (
            f"This key is bound to one person, and no such key can have the scope `{grant}`. Use a key that is not "
            f"bound: `mnemon keys create --scopes {grant},…` without `--user` makes one."
        )
    return NotAllowed(said, code="missing_scope")


def names_another_person() -> NotAllowed:
    """Give the refusal of a bound key that names somebody else; it does not tell whom the key is bound to."""
    return NotAllowed(
        "This key is bound to one person, and the request names another. Name the person that the key was made for, "
        "or use a key that is not bound: `mnemon keys create` without `--user` makes one.",
        code="key_bound_to_user",
    )
