"""Reads what books are made of: a person's rows as one persona may see them, with their vectors, since a revision."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np

from mnemon.db.statements import statements
from mnemon.db.tx import Row, Tx
from mnemon.memory.recall.entry import Entry, of_memory, of_message
from mnemon.memory.recall.known import MOST
from mnemon.memory.recall.query import Heard
from mnemon.memory.trust import Trust, trust_as_held
from mnemon.memory.vectors.store import Kind, joined_by_hash
from mnemon.memory.words import reading_effort
from mnemon.scope import Scope
from mnemon.turn import Role

SQL = statements("mnemon.memory.recall")
_HEADER = 4
"""Bytes before the numbers in pgvector's wire form: dimension and a spare word."""
_AT_ONCE = 1_000
"""Vectors unpacked by one call."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Whose rows, in which database, and how far they are written."""

    database: int
    """The database's own number, so that one put in its place is another."""
    since: datetime | None
    """When the person was first seen; None for one never seen."""
    forgettings: int
    """How often something of theirs was forgotten: rows may be gone that no revision tells of."""
    revision: int


@dataclass(frozen=True, kw_only=True)
class Page:
    """What is new in one book."""

    entries: Sequence[tuple[Entry, np.ndarray | None]] = ()
    """Rows that were written, each with the vector it has now."""
    gone: Sequence[tuple[str, int]] = ()
    """Rows that are no longer to be found, each with the revision that said so."""
    vectors: Sequence[tuple[str, np.ndarray, int]] = ()
    """Vectors that came later than their rows, each with its own revision."""
    heard: Sequence[Heard] = ()
    """Messages among the rows, where they are few: what was just said is often found next."""

    def split(self, own: int) -> "tuple[Page, Page]":
        """What was written before the revision, and from it on."""
        older = Page(
            entries=[one for one in self.entries if one[0].revision < own],
            gone=[one for one in self.gone if one[1] < own],
            vectors=[one for one in self.vectors if one[2] < own],
        )
        newer = Page(
            entries=[one for one in self.entries if one[0].revision >= own],
            gone=[one for one in self.gone if one[1] >= own],
            vectors=[one for one in self.vectors if one[2] >= own],
        )
        return older, newer


@dataclass(frozen=True, kw_only=True)
class News:
    """What is new since a revision."""

    memories: Page = field(default_factory=Page)
    messages: Page = field(default_factory=Page)

    @property
    def changes_rows(self) -> bool:
        """Whether it may hide rows that were there before; messages alone are only ever added."""
        some = self.memories
        return bool(some.entries or some.gone or some.vectors or self.messages.gone or self.messages.vectors)

    def split(self, own: int) -> "tuple[News, News]":
        """What others committed, and what the transaction wrote, whose first revision is `own`."""
        (old, new), (older, newer) = self.memories.split(own), self.messages.split(own)
        return News(memories=old, messages=older), News(memories=new, messages=newer)


async def standing(tx: Tx, scope: Scope) -> Standing:
    """How the person's rows stand for this transaction."""
    return standing_of(await tx.all(SQL["standing"], org_id=scope.org_id, user_id=scope.user))


def standing_of(rows: Sequence[Row]) -> Standing:
    """The same from the rows of its statement."""
    if not rows:
        return Standing(database=0, since=None, forgettings=0, revision=0)
    row = rows[0]
    return Standing(
        database=row["database"], since=row["created_at"], forgettings=row["forgettings"], revision=row["revision"]
    )


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What is new since a revision, as the database gives it: `news_of` makes entries of it, which takes longer."""

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


async def newer(tx: Tx, scope: Scope, model: str, since: int) -> Rows:
    """Read what was written after the revision; all there is when it is negative."""
    params: dict[str, object] = {
        "org_id": scope.org_id,
        "user_id": scope.user,
        "persona_id": scope.persona_id,
        "model": model,
        "since": since,
    }
    if since < 0:
        async with joined_by_hash(tx):
            memories = await tx.tuples(SQL["whole_memories"], **params)
            messages = await tx.tuples(SQL["whole_messages"], **params)
        return Rows(scope=scope, whole=True, memories=memories, messages=messages)
    memories, messages, vectors = await tx.together(
        tx.tuples(SQL["newer_memories"], **params),
        tx.tuples(SQL["newer_messages"], **params),
        tx.tuples(SQL["newer_vectors"], **params),
    )
    return Rows(scope=scope, whole=False, memories=memories, messages=messages, vectors=vectors)


def news_of(rows: Rows) -> News:
    """Make entries of the rows: splits every text into its words, about 15 µs each."""
    memories, messages = _memories(rows.memories), _messages(rows.messages)
    if rows.whole:
        return News(memories=memories, messages=messages)
    latest = rows.messages[-MOST:]
    messages = replace(messages, heard=[_heard(row, rows.scope) for row in latest if row[6]])
    return News(
        memories=_with(memories, rows.vectors, Kind.MEMORY), messages=_with(messages, rows.vectors, Kind.MESSAGE)
    )


def _with_vectors(rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], np.ndarray | None]]:
    """Each row with its vector, unpacked for some rows at a time: no single call holds up other threads for long."""
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        yield from zip(some, unpacked([row[-1] for row in some]), strict=True)


def _memories(rows: Sequence[tuple[Any, ...]]) -> Page:
    entries, gone = [], []
    for row, vector in _with_vectors(rows):
        name, revision, active, kind, content, refs, label, pinned, importance, since, created_at, updated_at, *rest = (
            row
        )
        memory_key, claim_of, persona_id, source, coarse, level, _ = rest
        if not active:
            gone.append((name, revision))
            continue
        entry = of_memory(
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
            trust=Trust(level) if level else trust_as_held(source, coarse),
        )
        entries.append((entry, vector))
    return Page(entries=entries, gone=gone)


def _messages(rows: Sequence[tuple[Any, ...]]) -> Page:
    entries, gone = [], []
    for row, vector in _with_vectors(rows):
        name, revision, place, session_id, role, speaker, content, at, _, _ = row
        if not content:
            gone.append((name, revision))
            continue
        entry = of_message(
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
    return Page(entries=entries, gone=gone)


def _heard(row: tuple[Any, ...], scope: Scope) -> Heard:
    name, revision, _, session_id, role, speaker, content, at, turn_id, _ = row
    return Heard(
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


def _with(page: Page, vectors: Sequence[tuple[Any, ...]], kind: Kind) -> Page:
    wanted = [(row[1], row[3], row[2]) for row in vectors if row[0] == kind]
    known = [(row[0], vector, row[1]) for row, vector in _with_vectors(wanted) if vector is not None]
    return replace(page, vectors=known)


def unpacked(packed: Sequence[bytes | None]) -> list[np.ndarray | None]:
    """Vectors of length 1 from pgvector's wire form, where there are any."""
    known = [one for one in packed if one is not None]
    if not known:
        return [None] * len(packed)
    wide = len(known[0])
    numbers = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(len(known), wide)[:, _HEADER:]
    rows = np.ascontiguousarray(numbers).view(">f2").astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    made = iter(rows)
    return [None if one is None else next(made) for one in packed]
