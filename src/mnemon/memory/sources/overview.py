"""Which sources speak about a person, how far each is trusted and how much of what it said is held.

Names of sources as they are shown on one line, and what somebody may have meant by a name.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches

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
MOST_COMPARED = 200
"""Comparing takes the product of two lengths: names beyond this many are not looked at."""
_LEAST_SIMILARITY = 0.5


@reads_outside_text
def printable_name(origin: str) -> str:
    r"""The name with every character that a line does not show written as an escape, like `\n` or `\x1b`."""
    if origin.isprintable():
        return origin
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in origin)


def resolve_source_name(given: str, known: Collection[str]) -> str:
    """The known source that is called so or shown so; what was given where none is, or more than one."""
    if given in known:
        return given
    alike = [one for one in known if printable_name(one) == given]
    return alike[0] if len(alike) == 1 else given


def closest_names(wanted: str, known: Sequence[str]) -> list[str]:
    """The names most like the wanted one, else the first of them: what to try next."""
    lowered = {one.casefold(): one for one in known[:MOST_COMPARED]}
    alike = get_close_matches(wanted.casefold(), list(lowered), n=MOST_SHOWN, cutoff=_LEAST_SIMILARITY)
    return [lowered[one] for one in alike] or list(known[:MOST_SHOWN])


def source_not_found(wanted: str, known: Sequence[str], whom: str) -> NotFound:
    """The error for a source that never spoke, with the names that come closest."""
    names = ", ".join(f"`{printable_name(one)}`" for one in closest_names(wanted, known))
    step = f"Sources that did: {names}." if names else "No source did."
    return NotFound(
        "source", code="no_such_source", detail=f"`{printable_name(wanted)}` never said anything about {whom}. {step}"
    )


SQL = load_statements("mnemon.memory.sources")


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
    return count_by_source(await tx.fetch_all(SQL["by_source"], org_id=scope.org_id, user_id=scope.user))


async def source_names(tx: Tx, scope: Scope) -> list[str]:
    """The names of every source that spoke about the person, or about anybody where the scope names no person."""
    rows = await tx.fetch_all(SQL["names_of_sources"], org_id=scope.org_id, user_id=scope.user_id)
    return [str(row["origin"]) for row in rows]


async def memories_of_source(tx: Tx, scope: Scope, origin: str, *, most: int) -> list[StoredMemory]:
    """What the source says about the person that is held or archived, over all personas, newest first.

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
    """What a withdrawal would take back, counted."""

    people: int
    memories: int
    versions: int
    todos: int


async def preview_withdrawal(tx: Tx, scope: Scope, origin: str) -> WithdrawalPreview:
    """Count what a source said and was not withdrawn, of one person or of everybody where the scope names none.

    Raises NotFound for a source that never spoke.
    """
    owner = {"org_id": scope.org_id, "user_id": scope.user_id}
    row = await tx.fetch_one(SQL["what_stands"], **owner, origin=origin)
    if not row["spoken"]:
        whom = "anybody" if scope.user_id is None else "this person"
        raise source_not_found(origin, await source_names(tx, scope), whom)
    return WithdrawalPreview(
        people=row["people"], memories=row["memories"], versions=row["versions"], todos=row["todos"]
    )


def count_by_source(rows: Iterable[Row]) -> list[SourceOverview]:
    """The counts of each source, over its kinds and states."""
    found: dict[str, SourceOverview] = {}
    for row in rows:
        trust = trust_of(row["source"]) if row["kind"] == "todo" else trust_of_row(row)
        one = found.get(row["origin"]) or SourceOverview(
            origin=row["origin"], trust=trust, active=0, claims=0, archived=0, past=0, todos=0, last_at=row["last_at"]
        )
        memory, number = row["kind"] == "memory", int(row["number"])
        active = memory and row["status"] == ArchiveStatus.ACTIVE
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
