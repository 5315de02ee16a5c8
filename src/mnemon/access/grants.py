"""What a key may do. The wire calls these scopes."""

from collections.abc import Iterable
from enum import StrEnum

from mnemon.errors import Invalid


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
