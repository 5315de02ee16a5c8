"""What a key may do. The wire calls these scopes.

A key as it may be shown, the principal it proves, and what a principal is told that may not.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemon.errors import Invalid, NotAllowed


class Grant(StrEnum):
    CHAT = "chat"
    """Chat, record turns, read the context a turn would get."""
    MEMORY_READ = "memory:read"
    """Read memories, entities, todos, sessions, summaries, and what personas are told."""
    MEMORY_WRITE = "memory:write"
    """Write memories, entities, todos, seeds, notes."""
    PERSONAS_WRITE = "personas:write"
    """Describe personas: their prompt is given to everyone who speaks with them."""
    CUSTODY = "custody"
    """Export, import and forget: people and single memories."""
    ENGAGEMENT_READ = "engagement:read"
    """Read the engagement, also as the layer L8 of a context."""
    AGENT_STATE_READ = "agent-state:read"
    AGENT_STATE_WRITE = "agent-state:write"
    AGENTS_READ = "agents:read"
    """Read agents, runs, decisions, calibration."""
    AGENTS_WRITE = "agents:write"
    """Create, change, chat with and run agents; resolve decisions."""
    PRICES_WRITE = "prices:write"
    """Push prices, which resolve open trades."""
    JOBS = "jobs"
    """See the organization's jobs."""
    JOBS_WRITE = "jobs:write"
    """Run jobs again."""
    ADMIN = "admin"
    """Make and revoke keys; read the audit log."""


ALL_GRANTS = frozenset(Grant)
PERSONAL_GRANTS = frozenset(
    {
        Grant.CHAT,
        Grant.MEMORY_READ,
        Grant.MEMORY_WRITE,
        Grant.CUSTODY,
        Grant.AGENT_STATE_READ,
        Grant.AGENT_STATE_WRITE,
    }
)
"""What concerns one person only: all that a key bound to a person can have."""
DEFAULT_PERSONAL_GRANTS = PERSONAL_GRANTS - {Grant.AGENT_STATE_READ, Grant.AGENT_STATE_WRITE}
"""What a bound key has when none are named: an agent's state is not shown to the person unless somebody says so."""
DEFAULT_PERSONAL_IN_ORDER = tuple(grant for grant in Grant if grant in DEFAULT_PERSONAL_GRANTS)
"""The same for sentences, in the order of the docs."""


def parse_grants(words: Iterable[str]) -> frozenset[Grant]:
    """Give the grants that these words name. Raises Invalid for no words: an empty list is a slip, never everything."""
    named = {word.strip() for word in words} - {""}
    if not named:
        raise Invalid(
            f"No scope is named. Leave `--scopes` out for the default (all; for a key bound to a person "
            f"{', '.join(DEFAULT_PERSONAL_IN_ORDER)}), or name some of: {', '.join(Grant)}.",
            code="scopes_missing",
        )
    unknown = sorted(named - set(Grant))
    if unknown:
        raise Invalid(f"Unknown scope: {', '.join(unknown)}. There are: {', '.join(Grant)}.", code="unknown_scope")
    return frozenset(Grant(word) for word in named)


def stored_grants(words: Iterable[str]) -> frozenset[Grant]:
    """Give the grants of a stored row; a word that another version of the program knows gives nothing here."""
    known = set(Grant)
    return frozenset(Grant(word) for word in words if word in known)


def grants_of_new_key(named: frozenset[Grant] | None, *, bound: bool) -> frozenset[Grant]:
    """Give what a new key may do: what was named, or its kind's default. Raises Invalid for what it cannot have."""
    if named is None:
        return DEFAULT_PERSONAL_GRANTS if bound else ALL_GRANTS
    beyond = sorted(named - PERSONAL_GRANTS)
    if bound and beyond:
        raise Invalid(
            f"A key bound to one person cannot have {', '.join(beyond)}: that concerns the whole organization. "
            f"It can have {', '.join(sorted(PERSONAL_GRANTS))}. Leave out the rest, or make a key that is not bound.",
            code="scope_not_for_bound_key",
        )
    return named


def effective_grants(held: frozenset[Grant], *, bound: bool) -> frozenset[Grant]:
    """Give what a key may do now: a bound one never more than what concerns its person, whatever was stored."""
    return held & PERSONAL_GRANTS if bound else held


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


def missing_scope_error(principal: Principal, grant: Grant) -> NotAllowed:
    """Give the refusal of a key that lacks the scope: it names a command that makes a key which has it."""
    said = f"This key lacks the scope `{grant}`. `mnemon keys create --scopes {grant},…` makes one that has it."
    if principal.bound_user is not None and grant not in PERSONAL_GRANTS:
        said = (
            f"This key is bound to one person, and no such key can have the scope `{grant}`. Use a key that is not "
            f"bound: `mnemon keys create --scopes {grant},…` without `--user` makes one."
        )
    return NotAllowed(said, code="missing_scope")


def other_person_error() -> NotAllowed:
    """Give the refusal of a bound key that names somebody else; it does not tell whom the key is bound to."""
    return NotAllowed(
        "This key is bound to one person, and the request names another. Name the person that the key was made for, "
        "or use a key that is not bound: `mnemon keys create` without `--user` makes one.",
        code="key_bound_to_user",
    )
