"""Reads what books are made of: a person's rows as one persona may see them, with their vectors, since a revision.

Things that were found lately, as they stood at a revision: most questions find what others have found.
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
MOST_READ_AHEAD = 1_500
"""Memories up to which all of them are read with the first that are found."""
ITEM_BYTES = 2_000
"""About how much memory one takes."""


class RowCache:
    """The latest things found of one person. One that has changed since is not given."""

    def __init__(self) -> None:
        self._held: dict[str, RecallItem] = {}
        self.read_ahead = False
        """All of the person's memories were read: they are so few that the next questions will want them too."""

    def get_row(self, thing_id: str, revision: int) -> RecallItem | None:
        """The thing as its row stands at this revision."""
        thing = self._held.get(thing_id)
        return thing if thing is not None and thing.revision == revision else None

    def keep_row(self, thing: RecallItem) -> None:
        """It was read from a committed row."""
        self._held.pop(thing.id, None)
        self._held[thing.id] = thing
        if len(self._held) > MOST_CACHED:
            del self._held[next(iter(self._held))]


SQL = load_statements("mnemon.memory.recall")
_HEADER_BYTES = 4
"""Bytes before the numbers in pgvector's wire form: dimension and a spare word."""
_VECTORS_PER_CALL = 1_000
"""Vectors unpacked by one call."""


@dataclass(frozen=True, kw_only=True)
class IndexVersion:
    """Whose rows, in which database, and how far they are written."""

    database: int
    """The database's own number, so that one put in its place is another."""
    since: datetime | None
    """When the person was first seen; None for one never seen."""
    forgettings: int
    """How often something of theirs was forgotten: rows may be gone that no revision tells of."""
    revision: int


@dataclass(frozen=True, kw_only=True)
class IndexDelta:
    """What is new in one book."""

    entries: Sequence[tuple[IndexEntry, np.ndarray | None]] = ()
    """Rows that were written, each with the vector it has now."""
    gone: Sequence[tuple[str, int]] = ()
    """Rows that are no longer to be found, each with the revision that said so."""
    vectors: Sequence[tuple[str, np.ndarray, int]] = ()
    """Vectors that came later than their rows, each with its own revision."""
    heard: Sequence[FoundMessage] = ()
    """Messages among the rows, where they are few: what was just said is often found next."""

    def split_at(self, own: int) -> "tuple[IndexDelta, IndexDelta]":
        """What was written before the revision, and from it on."""
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
    """What is new since a revision."""

    memories: IndexDelta = field(default_factory=IndexDelta)
    messages: IndexDelta = field(default_factory=IndexDelta)

    @property
    def may_hide_rows(self) -> bool:
        """Whether it may hide rows that were there before; messages alone are only ever added."""
        some = self.memories
        return bool(some.entries or some.gone or some.vectors or self.messages.gone or self.messages.vectors)

    def split_at(self, own: int) -> "tuple[PersonDelta, PersonDelta]":
        """What others committed, and what the transaction wrote, whose first revision is `own`."""
        (old, new), (older, newer) = self.memories.split_at(own), self.messages.split_at(own)
        return PersonDelta(memories=old, messages=older), PersonDelta(memories=new, messages=newer)


async def load_index_version(tx: Tx, scope: Scope) -> IndexVersion:
    """How the person's rows stand for this transaction."""
    return index_version_of(await tx.fetch_all(SQL["standing"], org_id=scope.org_id, user_id=scope.user))


def index_version_of(rows: Sequence[Row]) -> IndexVersion:
    """The same from the rows of its statement."""
    if not rows:
        return IndexVersion(database=0, since=None, forgettings=0, revision=0)
    row = rows[0]
    return IndexVersion(
        database=row["database"], since=row["created_at"], forgettings=row["forgettings"], revision=row["revision"]
    )


@dataclass(frozen=True, kw_only=True)
class ChangedRows:
    """What is new since a revision, as the database gives it: `delta_of` makes entries of it, which takes longer."""

    scope: Scope
    whole: bool
    """Everything there is, rather than what is newer."""
    memories: Sequence[tuple[Any, ...]] = ()
    messages: Sequence[tuple[Any, ...]] = ()
    vectors: Sequence[tuple[Any, ...]] = ()

    def __len__(self) -> int:
        return len(self.memories) + len(self.messages) + len(self.vectors)

    @property
    def effort(self) -> int:
        """How long entries take to make, as a number of rows with short texts."""
        return len(self) + reading_effort((*(row[4] for row in self.memories), *(row[6] for row in self.messages)))


async def load_rows_since(tx: Tx, scope: Scope, model: str, since: int) -> ChangedRows:
    """Read what was written after the revision; all there is when it is negative."""
    params: dict[str, object] = {
        "org_id": scope.org_id,
        "user_id": scope.user,
        "persona_id": scope.persona_id,
        "model": model,
        "since": since,
    }
    if since < 0:
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
    """Make entries of the rows: splits every text into its words, about 15 µs each."""
    memories, messages = _memory_delta(rows.memories), _message_delta(rows.messages)
    if rows.whole:
        return PersonDelta(memories=memories, messages=messages)
    latest = rows.messages[-MOST_CACHED:]
    messages = replace(messages, heard=[_found_message(row, rows.scope) for row in latest if row[6]])
    return PersonDelta(
        memories=_add_vectors(memories, rows.vectors, VectorKind.MEMORY),
        messages=_add_vectors(messages, rows.vectors, VectorKind.MESSAGE),
    )


def _rows_with_vectors(rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], np.ndarray | None]]:
    """Each row with its vector, unpacked for some rows at a time: no single call holds up other threads for long."""
    for start in range(0, len(rows), _VECTORS_PER_CALL):
        some = rows[start : start + _VECTORS_PER_CALL]
        yield from zip(some, unpack_vectors([row[-1] for row in some]), strict=True)


def _memory_delta(rows: Sequence[tuple[Any, ...]]) -> IndexDelta:
    entries, gone = [], []
    for row, vector in _rows_with_vectors(rows):
        name, revision, active, kind, content, refs, label, pinned, importance, since, created_at, updated_at, *rest = (
            row
        )
        memory_key, claim_of, persona_id, source, coarse, level, _ = rest
        if not active:
            gone.append((name, revision))
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
    return IndexDelta(entries=entries, gone=gone)


def _message_delta(rows: Sequence[tuple[Any, ...]]) -> IndexDelta:
    entries, gone = [], []
    for row, vector in _rows_with_vectors(rows):
        name, revision, place, session_id, role, speaker, content, at, _, _ = row
        if not content:
            gone.append((name, revision))
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
    return IndexDelta(entries=entries, gone=gone)


def _found_message(row: tuple[Any, ...], scope: Scope) -> FoundMessage:
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


def _add_vectors(page: IndexDelta, vectors: Sequence[tuple[Any, ...]], kind: VectorKind) -> IndexDelta:
    wanted = [(row[1], row[3], row[2]) for row in vectors if row[0] == kind]
    known = [(row[0], vector, row[1]) for row, vector in _rows_with_vectors(wanted) if vector is not None]
    return replace(page, vectors=known)


def unpack_vectors(packed: Sequence[bytes | None]) -> list[np.ndarray | None]:
    """Vectors of length 1 from pgvector's wire form, where there are any."""
    known = [one for one in packed if one is not None]
    if not known:
        return [None] * len(packed)
    wide = len(known[0])
    numbers = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(len(known), wide)[:, _HEADER_BYTES:]
    rows = np.ascontiguousarray(numbers).view(">f2").astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    made = iter(rows)
    return [None if one is None else next(made) for one in packed]
