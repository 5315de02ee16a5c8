"""What a search index is loaded from: a person's rows, as one persona may see them, written since a revision.

Loading has two steps, because the second is slow: `load_rows_since` reads tuples inside a transaction, `delta_of`
turns them into index entries and may run in a thread. `RowCache` holds rows found recently, since most queries find
what earlier ones found.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np

from mnemon.db.statements import load_statements
from mnemon.db.tx import Row, Tx
from mnemon.memory.recall.index_entry import IndexEntry, entry_of_memory, entry_of_message
from mnemon.memory.recall.query import FoundMessage, RecallItem
from mnemon.memory.trust import Trust, legacy_trust_of
from mnemon.memory.vector_store import VectorKind, join_by_hash
from mnemon.memory.words import reading_effort
from mnemon.scope import Scope
from mnemon.turn import Role

MOST_CACHED = 2_000
"""Rows that a cache holds."""
MOST_READ_AHEAD = 1_500
"""If a person has at most this many memories, all are read with the first that are found."""
ITEM_BYTES = 2_000
"""About how much memory a cached row takes."""


class RowCache:
    """The rows of one person that were found most recently, each valid for one revision."""

    def __init__(self) -> None:
        """Begin a cache of found rows without any."""
        self._held: dict[str, RecallItem] = {}
        self.read_ahead = False
        """Whether all of the person's memories were read, because they are few."""

    def get_row(self, thing_id: str, revision: int) -> RecallItem | None:
        """Return the cached memory or message if it is of this revision; None if it is absent or older."""
        row = self._held.get(thing_id)
        return row if row is not None and row.revision == revision else None

    def keep_row(self, row: RecallItem) -> None:
        """Cache a memory or message that was read as committed; drop the oldest if there are too many."""
        # Inserted again at the end, so that the first key is always the one that was read longest ago.
        self._held.pop(row.id, None)
        self._held[row.id] = row
        if len(self._held) > MOST_CACHED:
            del self._held[next(iter(self._held))]


SQL = load_statements("mnemon.memory.recall")
_HEADER_BYTES = 4
"""Bytes before the numbers in pgvector's binary format: the dimension and an unused word."""
_VECTORS_PER_CALL = 1_000
"""Vectors that are unpacked in one call."""


@dataclass(frozen=True, kw_only=True)
class IndexVersion:
    """The person, the database, and the revision up to which an index is complete."""

    database: int
    """The OID of the database: one created anew under the same name has another."""
    since: datetime | None
    """When the person's row was created; None if there is no such row."""
    forgettings: int
    """How often data of the person was forgotten. Forgetting deletes rows, which revisions do not show."""
    revision: int


@dataclass(frozen=True, kw_only=True)
class IndexDelta:
    """What is new in one index."""

    entries: Sequence[tuple[IndexEntry, np.ndarray | None]] = ()
    """Rows that were written, each with its current vector."""
    gone: Sequence[tuple[str, int]] = ()
    """Rows that must not be found any more, each with the revision of the removal."""
    vectors: Sequence[tuple[str, np.ndarray, int]] = ()
    """Vectors that were computed after their rows were indexed, each with its own revision."""
    heard: Sequence[FoundMessage] = ()
    """The latest messages themselves: what was just said is often found next."""

    def split_at(self, own: int) -> "tuple[IndexDelta, IndexDelta]":
        """Return the changes written before the revision, and those written since."""
        older = IndexDelta(
            entries=[one for one in self.entries if one[0].revision < own],
            gone=[one for one in self.gone if one[1] < own],
            vectors=[one for one in self.vectors if one[2] < own],
        )
        newer = IndexDelta(
            entries=[one for one in self.entries if one[0].revision >= own],
            gone=[one for one in self.gone if one[1] >= own],
            vectors=[one for one in self.vectors if one[2] >= own],
        )
        return older, newer


@dataclass(frozen=True, kw_only=True)
class PersonDelta:
    """What is new for a person since a revision."""

    memories: IndexDelta = field(default_factory=IndexDelta)
    messages: IndexDelta = field(default_factory=IndexDelta)

    @property
    def may_hide_rows(self) -> bool:
        """Say whether the delta may replace rows that were there before; new messages alone only add rows."""
        some = self.memories
        return bool(some.entries or some.gone or some.vectors or self.messages.gone or self.messages.vectors)

    def split_at(self, own: int) -> "tuple[PersonDelta, PersonDelta]":
        """Return the changes that others committed, and those of this transaction, from the revision `own` on."""
        (old, new), (older, newer) = self.memories.split_at(own), self.messages.split_at(own)
        return PersonDelta(memories=old, messages=older), PersonDelta(memories=new, messages=newer)


async def load_index_version(tx: Tx, scope: Scope) -> IndexVersion:
    """Return the version of the person's rows as this transaction sees it."""
    return index_version_of(await tx.fetch_all(SQL["index_version"], org_id=scope.org_id, user_id=scope.user))


def index_version_of(rows: Sequence[Row]) -> IndexVersion:
    """Return the version of a person's rows from the rows of the statement `index_version`."""
    if not rows:
        return IndexVersion(database=0, since=None, forgettings=0, revision=0)
    row = rows[0]
    return IndexVersion(
        database=row["database"], since=row["created_at"], forgettings=row["forgettings"], revision=row["revision"]
    )


@dataclass(frozen=True, kw_only=True)
class ChangedRows:
    """Rows written since a revision, as the database returns them; `delta_of` turns them into entries."""

    scope: Scope
    whole: bool
    """Whether these are all rows, not only newer ones."""
    memories: Sequence[tuple[Any, ...]] = ()
    messages: Sequence[tuple[Any, ...]] = ()
    vectors: Sequence[tuple[Any, ...]] = ()

    def __len__(self) -> int:
        """Return the number of changed memories, messages and vectors."""
        return len(self.memories) + len(self.messages) + len(self.vectors)

    @property
    def effort(self) -> int:
        """Return the cost of making index entries of the rows, counted in rows with short texts."""
        return len(self) + reading_effort((*(row[4] for row in self.memories), *(row[6] for row in self.messages)))


async def load_rows_since(tx: Tx, scope: Scope, model: str, since: int) -> ChangedRows:
    """Return the person's memories, messages and vectors written after the revision; all if it is negative."""
    params: dict[str, object] = {
        "org_id": scope.org_id,
        "user_id": scope.user,
        "persona_id": scope.persona_id,
        "model": model,
        "since": since,
    }
    if since < 0:
        # The planner setting must be in force for these two statements only.
        async with join_by_hash(tx):
            memories = await tx.fetch_tuples(SQL["whole_memories"], **params)
            messages = await tx.fetch_tuples(SQL["whole_messages"], **params)
        return ChangedRows(scope=scope, whole=True, memories=memories, messages=messages)
    memories, messages, vectors = await tx.gather(
        tx.fetch_tuples(SQL["newer_memories"], **params),
        tx.fetch_tuples(SQL["newer_messages"], **params),
        tx.fetch_tuples(SQL["newer_vectors"], **params),
    )
    return ChangedRows(scope=scope, whole=False, memories=memories, messages=messages, vectors=vectors)


def delta_of(rows: ChangedRows) -> PersonDelta:
    """Return the rows as index entries; this splits every text into words, at about 15 µs each."""
    memories, messages = _memory_delta(rows.memories), _message_delta(rows.messages)
    if rows.whole:
        return PersonDelta(memories=memories, messages=messages)
    # Messages just written are likely to be found next, so they are cached; those of a whole load are not.
    latest = rows.messages[-MOST_CACHED:]
    messages = replace(messages, heard=[_found_message(row, rows.scope) for row in latest if row[6]])
    return PersonDelta(
        memories=_add_vectors(memories, rows.vectors, VectorKind.MEMORY),
        messages=_add_vectors(messages, rows.vectors, VectorKind.MESSAGE),
    )


def _rows_with_vectors(rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], np.ndarray | None]]:
    """Yield each row with its last column unpacked as a vector.

    Vectors are unpacked in parts, so that no call holds the GIL for long.
    """
    for start in range(0, len(rows), _VECTORS_PER_CALL):
        part = rows[start : start + _VECTORS_PER_CALL]
        yield from zip(part, unpack_vectors([row[-1] for row in part]), strict=True)


def _memory_delta(rows: Sequence[tuple[Any, ...]]) -> IndexDelta:
    """Return rows of memories as index entries; archived ones as removals."""
    entries, removed = [], []
    for row, vector in _rows_with_vectors(rows):
        # `fetch_tuples` gives no column names; the order is that of `whole_memories` and `newer_memories`.
        name, revision, active, kind, content, refs, label, pinned, importance, since, created_at, updated_at, *rest = (
            row
        )
        memory_key, claim_of, persona_id, source, coarse, level, _ = rest
        if not active:
            removed.append((name, revision))
            continue
        entry = entry_of_memory(
            entry_id=name,
            revision=revision,
            kind=kind,
            content=content,
            entity_refs=tuple(refs),
            entity_label=label,
            pinned=pinned,
            importance=importance,
            valid_from=since,
            created_at=created_at,
            updated_at=updated_at,
            memory_key=memory_key,
            claim_of=claim_of,
            persona_id=persona_id,
            trust=Trust(level) if level else legacy_trust_of(source, coarse),
        )
        entries.append((entry, vector))
    return IndexDelta(entries=entries, gone=removed)


def _message_delta(rows: Sequence[tuple[Any, ...]]) -> IndexDelta:
    """Return rows of messages as index entries; those without text as removals."""
    entries, removed = [], []
    for row, vector in _rows_with_vectors(rows):
        name, revision, place, session_id, role, speaker, content, at, _, _ = row
        # A message without text is never found; one whose text was removed leaves the index here.
        if not content:
            removed.append((name, revision))
            continue
        entry = entry_of_message(
            entry_id=name,
            revision=revision,
            place=place,
            session_id=session_id,
            role=Role(role),
            name=speaker,
            content=content,
            at=at,
        )
        entries.append((entry, vector))
    return IndexDelta(entries=entries, gone=removed)


def _found_message(row: tuple[Any, ...], scope: Scope) -> FoundMessage:
    """Return a row of a messages statement as a FoundMessage."""
    name, revision, _, session_id, role, speaker, content, at, turn_id, _ = row
    return FoundMessage(
        id=name,
        session_id=session_id,
        turn_id=turn_id,
        persona_id=scope.persona_id,
        role=Role(role),
        content=content,
        name=speaker,
        at=at,
        revision=revision,
    )


def _add_vectors(delta: IndexDelta, vectors: Sequence[tuple[Any, ...]], kind: VectorKind) -> IndexDelta:
    """Return the delta with the vectors of this kind, which were computed after their rows were indexed."""
    wanted = [(row[1], row[3], row[2]) for row in vectors if row[0] == kind]
    known = [(row[0], vector, row[1]) for row, vector in _rows_with_vectors(wanted) if vector is not None]
    return replace(delta, vectors=known)


def unpack_vectors(packed: Sequence[bytes | None]) -> list[np.ndarray | None]:
    """Return vectors unpacked from pgvector's binary format, scaled to length 1; None stays None."""
    known = [one for one in packed if one is not None]
    if not known:
        return [None] * len(packed)
    wide = len(known[0])
    numbers = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(len(known), wide)[:, _HEADER_BYTES:]
    # halfvec is sent as big-endian half precision.
    rows = np.ascontiguousarray(numbers).view(">f2").astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    unpacked = iter(rows)
    return [None if one is None else next(unpacked) for one in packed]
