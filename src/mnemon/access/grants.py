"""What a key may do. The wire calls these scopes."""

from enum import StrEnum

from mnemon.errors import Invalid


class Grant(StrEnum):
    CHAT = "chat"
    """Chat, record turns, read the context a turn would get."""
    MEMORY_READ = "memory:read"
    """Read memories, entities, todos, sessions, summaries."""
    MEMORY_WRITE = "memory:write"
    """Write memories, entities, todos, seeds, personas."""
    CUSTODY = "custody"
    """Export, import and forget people."""
    ENGAGEMENT_READ = "engagement:read"
    AGENT_STATE_READ = "agent-state:read"
    AGENT_STATE_WRITE = "agent-state:write"
    AGENTS_READ = "agents:read"
    """Read agents, runs, decisions, calibration."""
    AGENTS_WRITE = "agents:write"
    """Create, change, chat with and run agents; resolve decisions; push prices."""
    JOBS = "jobs"
    """See the organization's jobs and run them again."""
    ADMIN = "admin"
    """Make and revoke keys; read the audit log."""


ALL_GRANTS = frozenset(Grant)


def parse_grants(words: list[str]) -> frozenset[Grant]:
    """The grants these words name; none named means all."""
    if not words:
        return ALL_GRANTS
    unknown = sorted(set(words) - set(Grant))
    if unknown:
        raise Invalid(f"Unknown scope: {', '.join(unknown)}. There are: {', '.join(Grant)}.", code="unknown_scope")
    return frozenset(Grant(word) for word in words)
