"""Grants: what a key may do (the API calls them scopes), keys without their secret, and authenticated principals."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemon.errors import Invalid, NotAllowed
from mnemon.scope import org_option


class Grant(StrEnum):
    """One permission of a key; the API calls it a scope."""

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
    """Make and revoke keys; read the audit log; the organization's settings; decide about claims of the engagement."""


ALL_GRANTS = frozenset(Grant)
# Without `personas:write` and the agents' grants: what those change concerns the whole organization.
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
"""Grants that concern one person only: all that a key bound to a person can have."""
DEFAULT_PERSONAL_GRANTS = PERSONAL_GRANTS - {Grant.AGENT_STATE_READ, Grant.AGENT_STATE_WRITE}
"""Grants of a bound key when none are named: an agent's state is shown to the person only if that is granted."""
DEFAULT_PERSONAL_IN_ORDER = tuple(grant for grant in Grant if grant in DEFAULT_PERSONAL_GRANTS)
"""The same in the order of the docs, for use in messages."""


def parse_grants(words: Iterable[str]) -> frozenset[Grant]:
    """Return the grants that these scope names stand for; raise Invalid for an unknown name, or for none.

    An empty list is taken for a mistake, never for everything.
    """
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
    """Return the grants in a stored row of a key; names that this version does not know are left out."""
    known = set(Grant)
    return frozenset(Grant(word) for word in words if word in known)


def grants_of_new_key(named: frozenset[Grant] | None, *, bound: bool) -> frozenset[Grant]:
    """Return a new key's grants: the named ones or the default; raise Invalid for one a bound key cannot have."""
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
    """Return the grants that a key has now; a key bound to one person never has more than the personal ones."""
    return held & PERSONAL_GRANTS if bound else held


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key as its organization may see it: everything but the secret."""

    id: str
    name: str
    grants: frozenset[Grant]
    bound_user: str | None
    """The one person it gives access to, as the application names them."""
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None
    """Last use, to the minute."""


@dataclass(frozen=True, kw_only=True)
class Principal:
    """The authenticated caller."""

    org_id: str
    key_id: str
    """The key's id; `operator` for someone who signed in to the console by a link."""
    grants: frozenset[Grant]
    bound_user: str | None = None
    expires_at: datetime | None = None
    """When the key expires; None if it does not."""

    def may(self, grant: Grant) -> bool:
        """Say whether the authenticated caller has this grant."""
        return grant in self.grants


def missing_scope_error(principal: Principal, grant: Grant) -> NotAllowed:
    """Return the error for a key that lacks the scope; it names a command that creates a key with it."""
    scopes = ",".join(sorted({*principal.grants, grant}))
    command = f"mnemon keys create --name laptop{org_option(principal.org_id)} --scopes {scopes}"
    message = f"This key lacks the scope `{grant}`. `{command}` makes one that has it."
    if principal.bound_user is not None:
        message = f"This key lacks the scope `{grant}`. `{command} --user …` makes one for its person that has it."
    if principal.bound_user is not None and grant not in PERSONAL_GRANTS:
        message = (
            f"This key is bound to one person, and no such key can have the scope `{grant}`. Use a key that is not "
            f"bound: `{command}`, without `--user`, makes one."
        )
    return NotAllowed(message, code="missing_scope")


def other_person_error(org_id: str) -> NotAllowed:
    """Return the error for a bound key of the organization that names another person than its own, unnamed here."""
    return NotAllowed(
        "This key is bound to one person, and the request names another. Name the person that the key was made for, "
        f"or use a key that is not bound: `mnemon keys create --name laptop{org_option(org_id)}`, without `--user`, "
        "makes one.",
        code="key_bound_to_user",
    )
