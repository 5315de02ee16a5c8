"""The sources that speak about a person: their trust, how much of each is stored, and how names are shown."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches

from mnemon.db.rows import from_row
from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.errors import NotFound
from mnemon.memory import store
from mnemon.memory.lifecycle import ArchiveStatus
from mnemon.memory.memory import StoredMemory
from mnemon.memory.store import trust_of_row
from mnemon.memory.todos.todo import TodoStatus
from mnemon.memory.trust import Trust, outranks, trust_of
from mnemon.scope import Scope
from mnemon.untrusted_text import reads_outside_text

MOST_SHOWN = 5
"""The most names that an error suggests."""
MOST_COMPARED = 200
"""Comparing takes the product of two lengths: names beyond this many are not compared."""
_LEAST_SIMILARITY = 0.5


@reads_outside_text
def printable_name(origin: str) -> str:
    r"""Return a source's name with every unprintable character escaped, such as `\n` or `\x1b`."""
    if origin.isprintable():
        return origin
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in origin)


def resolve_source_name(given: str, known: Collection[str]) -> str:
    """Return the known source with this name or printable name; the given one unless exactly one matches."""
    if given in known:
        return given
    matches = [one for one in known if printable_name(one) == given]
    # Two sources may look the same once escaped: then neither is guessed.
    return matches[0] if len(matches) == 1 else given


def closest_names(wanted: str, known: Sequence[str]) -> list[str]:
    """Return the known sources most similar to the wanted name, or the first ones if none is similar."""
    lowered = {one.casefold(): one for one in known[:MOST_COMPARED]}
    similar = get_close_matches(wanted.casefold(), list(lowered), n=MOST_SHOWN, cutoff=_LEAST_SIMILARITY)
    return [lowered[one] for one in similar] or list(known[:MOST_SHOWN])


def source_not_found(wanted: str, known: Sequence[str], subject: str) -> NotFound:
    """Return the NotFound error for a source that never spoke, with the most similar names."""
    names = ", ".join(f"`{printable_name(one)}`" for one in closest_names(wanted, known))
    step = f"Sources that did: {names}." if names else "No source did."
    return NotFound(
        "source",
        code="no_such_source",
        detail=f"`{printable_name(wanted)}` never said anything about {subject}. {step}",
    )


SQL = load_statements("mnemon.memory.sources")


@dataclass(frozen=True, kw_only=True)
class SourceOverview:
    """One source and how much of it is stored."""

    origin: str
    trust_level: Trust
    """The lowest trust of anything it said."""
    active: int
    """Active memories, including claims."""
    claims: int
    """Active memories that contradict a more trusted source."""
    archived: int
    past: int
    """Versions that were replaced."""
    todos: int
    """Open todos."""
    last_at: datetime


async def source_overviews(tx: Tx, scope: Scope) -> list[SourceOverview]:
    """Return every source of the person's memories and todos, by name."""
    return count_by_source(await tx.fetch_all(SQL["by_source"], org_id=scope.org_id, user_id=scope.user))


async def source_names(tx: Tx, scope: Scope) -> list[str]:
    """Return the names of all sources that spoke about the person, or about anyone if the scope names no person."""
    rows = await tx.fetch_all(SQL["names_of_sources"], org_id=scope.org_id, user_id=scope.user_id)
    return [str(row["origin"]) for row in rows]


async def memories_of_source(tx: Tx, scope: Scope, origin: str, *, most: int) -> list[StoredMemory]:
    """Return what the source says about the person, active or archived, over all personas, newest first.

    Raises NotFound for a source that never spoke about them.
    """
    names = await source_names(tx, scope)
    if origin not in names:
        raise source_not_found(origin, names, "this person")
    rows = await tx.fetch_all(
        SQL["memories_of_source"], org_id=scope.org_id, user_id=scope.user, origin=origin, most=most
    )
    found = {one.id: one for one in await store.by_ids(tx, scope, [str(row["id"]) for row in rows])}
    return [found[row["id"]] for row in rows]


@dataclass(frozen=True, kw_only=True)
class WithdrawalPreview:
    """The number of items that a withdrawal would change."""

    people: int
    memories: int
    versions: int
    todos: int


async def preview_withdrawal(tx: Tx, scope: Scope, origin: str) -> WithdrawalPreview:
    """Return how much of what a source said would be withdrawn, for one person or for all.

    Raises NotFound for a source that never spoke.
    """
    owner = {"org_id": scope.org_id, "user_id": scope.user_id}
    row = await tx.fetch_one(SQL["what_stands"], **owner, origin=origin)
    if not row["spoken"]:
        subject = "anybody" if scope.user_id is None else "this person"
        raise source_not_found(origin, await source_names(tx, scope), subject)
    return from_row(WithdrawalPreview, row)


def count_by_source(rows: Iterable[Row]) -> list[SourceOverview]:
    """Return the counts of each source, added up over its kinds and states, by name."""
    found: dict[str, SourceOverview] = {}
    for row in rows:
        # Todos store no trust of their own; it follows from their source.
        trust = trust_of(row["source"]) if row["kind"] == "todo" else trust_of_row(row)
        one = found.get(row["origin"]) or SourceOverview(
            origin=row["origin"],
            trust_level=trust,
            active=0,
            claims=0,
            archived=0,
            past=0,
            todos=0,
            last_at=row["last_at"],
        )
        memory, number = row["kind"] == "memory", int(row["number"])
        active = memory and row["status"] == ArchiveStatus.ACTIVE
        found[one.origin] = replace(
            one,
            trust_level=trust if outranks(one.trust_level, trust) else one.trust_level,
            active=one.active + number * active,
            claims=one.claims + number * (active and row["claim"]),
            archived=one.archived + number * (memory and not active),
            past=one.past + number * (row["kind"] == "version"),
            todos=one.todos + number * (row["kind"] == "todo" and row["status"] == TodoStatus.OPEN),
            last_at=max(one.last_at, row["last_at"]),
        )
    return [found[name] for name in sorted(found)]
