"""Which rows belong together: an import takes an aggregate whole, or leaves the one that is there whole. Pure rules.

    memories        ◄── memory_versions, memory_provenance
    sessions        ◄── turns ◄── messages, reflections
    sessions        ◄── agent_states ◄── agent_state_journal
    session_states  ◄── rolling_summaries
    notes           ◄── note_texts, note_vectors

The first table of each line holds the roots, with the counters by which their next child is numbered. A child that came
without its root would take a number that the root gives out later, and may hang on a root that the key could not write.
Spines and aliases of entities have no root: all of a person's are one aggregate.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, NamedTuple


class ImportedRow(NamedTuple):
    """A row of an import."""

    number: int
    """The number of its line."""
    row: dict[str, Any]
    size: int = 0
    """The bytes of its line."""


RowKey = tuple[Any, ...]
"""The values that identify a row among the person's."""


@dataclass(frozen=True, kw_only=True)
class Parent:
    """The row that a child belongs to."""

    table: str
    columns: tuple[str, ...]
    """The child's columns that hold the parent's key."""


@dataclass(frozen=True, kw_only=True)
class Membership:
    """How the rows of one table belong to aggregates."""

    key: tuple[str, ...] = ("id",)
    """The columns that identify a row among the person's; what children refer to."""
    parents: tuple[Parent, ...] = ()
    """None for a table of roots. A row is stored only where all its parents are new."""
    is_one: bool = False
    """Whether all the person's rows are one aggregate: kept where there is any."""


_SESSION = Parent(table="sessions", columns=("session_id",))
_TURN = Parent(table="turns", columns=("turn_id",))
_MEMORY = Parent(table="memories", columns=("memory_id",))
MEMBERSHIPS: Mapping[str, Membership] = {
    "memories": Membership(),
    "memory_versions": Membership(key=("memory_id", "number"), parents=(_MEMORY,)),
    "memory_provenance": Membership(
        key=("memory_id", "message_id", "starts", "ends", "content_hash"), parents=(_MEMORY,)
    ),
    "sessions": Membership(),
    "turns": Membership(parents=(_SESSION,)),
    # Both parents: a message that names a new session and an old turn would stand in the old one.
    "messages": Membership(parents=(_SESSION, _TURN)),
    "reflections": Membership(key=("turn_id",), parents=(_TURN,)),
    "agent_states": Membership(key=("session_id",), parents=(_SESSION,)),
    "agent_state_journal": Membership(
        key=("session_id", "seq"), parents=(Parent(table="agent_states", columns=("session_id",)),)
    ),
    "session_states": Membership(key=("persona",)),
    "rolling_summaries": Membership(
        key=("persona", "message_count"), parents=(Parent(table="session_states", columns=("persona",)),)
    ),
    "notes": Membership(key=("namespace", "key")),
    "note_texts": Membership(
        key=("namespace", "key", "part"), parents=(Parent(table="notes", columns=("namespace", "key")),)
    ),
    "note_vectors": Membership(
        key=("namespace", "key", "model", "part"), parents=(Parent(table="notes", columns=("namespace", "key")),)
    ),
    "todos": Membership(),
    "curator_runs": Membership(),
    "user_seeds": Membership(key=(), is_one=True),
    "spines": Membership(key=("version",), is_one=True),
    "entity_aliases": Membership(key=("alias",), is_one=True),
    "entities_kept_apart": Membership(key=("one", "two")),
}
"""Every table of an export."""
IMPORT_ORDER = tuple(
    TopologicalSorter({name: [one.table for one in its.parents] for name, its in MEMBERSHIPS.items()}).static_order()
)
"""Every table of an export, each after those that its rows belong to."""


def key_in(row: Mapping[str, Any], columns: Sequence[str]) -> RowKey:
    """Return the row's values in these columns as a key; lists, as of a namespace, become tuples."""
    values = (row.get(column) for column in columns)
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


@dataclass(frozen=True, kw_only=True)
class BrokenCounter:
    """A row whose counter does not fit the rows that were counted by it."""

    number: int
    """The line of the import."""
    why: str


def find_broken_counter(gathered: Mapping[str, Sequence[ImportedRow]]) -> BrokenCounter | None:
    """Return the first row by whose counter the next child would get a number that is taken; None if none is.

    Columns have the types of their tables already.
    """
    return next((found for faults in _FAULTS for found in faults(gathered)), None)


def _version_faults(gathered: Mapping[str, Sequence[ImportedRow]]) -> Iterator[BrokenCounter]:
    """Yield the past versions whose numbers their memory's counters do not cover; repeats have negative numbers."""
    memories = {row.get("id"): row for _, row, _ in gathered.get("memories", ())}
    for number, row, _ in gathered.get("memories", ()):
        if not 1 <= (row.get("version") or 0) <= (row.get("versions") or 0):
            yield BrokenCounter(number=number, why="has a version that is not among its versions")
    for number, row, _ in gathered.get("memory_versions", ()):
        memory = memories.get(row.get("memory_id"))
        if memory is None:
            continue
        own = row.get("number") or 0
        if own == 0 or own > (memory.get("versions") or 0) or own == memory.get("version"):
            yield BrokenCounter(number=number, why="has a number that its memory has not given out")


def _turn_faults(gathered: Mapping[str, Sequence[ImportedRow]]) -> Iterator[BrokenCounter]:
    """Yield the turns whose place is beyond the last one that their session has given out."""
    last = {row.get("id"): row.get("seq") or 0 for _, row, _ in gathered.get("sessions", ())}
    for number, row, _ in gathered.get("turns", ()):
        if not 1 <= (row.get("seq") or 0) <= last.get(row.get("session_id"), row.get("seq") or 0):
            yield BrokenCounter(number=number, why="has a seq that its session has not given out")


def _message_faults(gathered: Mapping[str, Sequence[ImportedRow]]) -> Iterator[BrokenCounter]:
    """Yield the messages whose place is not among the first of their turn: the next one's is their number."""
    said = Counter(row.get("turn_id") for _, row, _ in gathered.get("messages", ()))
    for number, row, _ in gathered.get("messages", ()):
        if not 0 <= (row.get("place") or 0) < said[row.get("turn_id")]:
            yield BrokenCounter(number=number, why="has a place beyond the messages of its turn")


def _journal_faults(gathered: Mapping[str, Sequence[ImportedRow]]) -> Iterator[BrokenCounter]:
    """Yield the journal's entries that are later than their state's version, which is the last entry's seq."""
    last = {row.get("session_id"): row.get("version") or 0 for _, row, _ in gathered.get("agent_states", ())}
    for number, row, _ in gathered.get("agent_state_journal", ()):
        if not 1 <= (row.get("seq") or 0) <= last.get(row.get("session_id"), row.get("seq") or 0):
            yield BrokenCounter(number=number, why="has a seq beyond the version of its state")


def _alias_faults(gathered: Mapping[str, Sequence[ImportedRow]]) -> Iterator[BrokenCounter]:
    """Yield the aliases by which an entity would be an alias of itself."""
    for number in _rows_in_circles(gathered.get("entity_aliases", ()), "alias", "target"):
        yield BrokenCounter(number=number, why="makes an entity an alias of itself")


def _resumption_faults(gathered: Mapping[str, Sequence[ImportedRow]]) -> Iterator[BrokenCounter]:
    """Yield the sessions that would resume themselves, through others or not."""
    for number in _rows_in_circles(gathered.get("sessions", ()), "id", "resumed_from"):
        yield BrokenCounter(number=number, why="makes a session resume itself")


def _rows_in_circles(rows: Sequence[ImportedRow], name: str, link: str) -> Iterator[int]:
    """Yield the line numbers of the rows from which following a column to the row it names never ends."""
    targets = {row.get(name): row.get(link) for _, row, _ in rows}
    ends: dict[Any, bool] = {}
    for number, row, _ in rows:
        path, key = [], row.get(name)
        while key in targets and key not in ends:
            ends[key] = False  # while it is on the path: to meet it again means a circle
            path.append(key)
            key = targets[key]
        good = ends.get(key, True)
        ends.update(dict.fromkeys(path, good))
        if not good:
            yield number


_FAULTS = (_version_faults, _turn_faults, _message_faults, _journal_faults, _alias_faults, _resumption_faults)
