"""Which sources speak about a person, how far each is trusted and how much of what it said is held."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from mnemon.db.statements import statements
from mnemon.db.tx import Row, Tx
from mnemon.memory import store
from mnemon.memory.lifecycle import Status
from mnemon.memory.memory import Memory
from mnemon.memory.sources.names import no_such_source
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


async def source_names(tx: Tx, scope: Scope) -> list[str]:
    """The names of every source that spoke about the person, or about anybody where the scope names no person."""
    rows = await tx.all(SQL["names_of_sources"], org_id=scope.org_id, user_id=scope.user_id)
    return [str(row["origin"]) for row in rows]


async def said_by(tx: Tx, scope: Scope, origin: str, *, most: int) -> list[Memory]:
    """What the source says about the person that is held or archived, over all personas, newest first.

    Raises NotFound for a source that never spoke about them.
    """
    names = await source_names(tx, scope)
    if origin not in names:
        raise no_such_source(origin, names, "this person")
    rows = await tx.all(SQL["memories_of_source"], org_id=scope.org_id, user_id=scope.user, origin=origin, most=most)
    found = {one.id: one for one in await store.by_ids(tx, scope, [str(row["id"]) for row in rows])}
    return [found[row["id"]] for row in rows]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a withdrawal would take back, counted."""

    people: int
    memories: int
    versions: int
    todos: int


async def what_stands(tx: Tx, scope: Scope, origin: str) -> Standing:
    """Count what a source said and was not withdrawn, of one person or of everybody where the scope names none.

    Raises NotFound for a source that never spoke.
    """
    owner = {"org_id": scope.org_id, "user_id": scope.user_id}
    row = await tx.one(SQL["what_stands"], **owner, origin=origin)
    if not row["spoken"]:
        whom = "anybody" if scope.user_id is None else "this person"
        raise no_such_source(origin, await source_names(tx, scope), whom)
    return Standing(people=row["people"], memories=row["memories"], versions=row["versions"], todos=row["todos"])


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
