"""Which sources speak about a person, how far each is trusted and how much of what it said is held."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from mnemon.db.statements import statements
from mnemon.db.tx import Row, Tx
from mnemon.memory.lifecycle import Status
from mnemon.memory.store import trust_in
from mnemon.memory.todos.todo import TodoStatus
from mnemon.memory.trust import Trust, outranks, trust_of
from mnemon.scope import Scope

SQL = statements("mnemon.memory.sources")


@dataclass(frozen=True, kw_only=True)
class SourceOverview:
    """One source and what of it there is."""

    origin: str
    trust: Trust
    """The least that anything of it is trusted."""
    active: int
    """Memories that are held, claims included."""
    claims: int
    """Those of them that contradict a more trusted source."""
    archived: int
    past: int
    """Versions that were replaced."""
    todos: int
    """Open ones."""
    last_at: datetime


async def source_overviews(tx: Tx, scope: Scope) -> list[SourceOverview]:
    """Every source of the person's memories and todos, by name."""
    return counted_sources(await tx.all(SQL["by_source"], org_id=scope.org_id, user_id=scope.user))


def counted_sources(rows: Iterable[Row]) -> list[SourceOverview]:
    """The counts of each source, over its kinds and states."""
    found: dict[str, SourceOverview] = {}
    for row in rows:
        trust = trust_of(row["source"]) if row["kind"] == "todo" else trust_in(row)
        one = found.get(row["origin"]) or SourceOverview(
            origin=row["origin"], trust=trust, active=0, claims=0, archived=0, past=0, todos=0, last_at=row["last_at"]
        )
        memory, number = row["kind"] == "memory", int(row["number"])
        active = memory and row["status"] == Status.ACTIVE
        found[one.origin] = replace(
            one,
            trust=trust if outranks(one.trust, trust) else one.trust,
            active=one.active + number * active,
            claims=one.claims + number * (active and row["claim"]),
            archived=one.archived + number * (memory and not active),
            past=one.past + number * (row["kind"] == "version"),
            todos=one.todos + number * (row["kind"] == "todo" and row["status"] == TodoStatus.OPEN),
            last_at=max(one.last_at, row["last_at"]),
        )
    return [found[name] for name in sorted(found)]
