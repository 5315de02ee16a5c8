"""The hybrid ranking over what there is: over an index, or over rows as they come from the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.fact import MemoryType
from mnemon.memory.memory import Memory
from mnemon.memory.ranking import Ranked
from mnemon.memory.recall.book import filled
from mnemon.memory.recall.books import Books
from mnemon.memory.recall.entry import Entry, of_memory, of_message
from mnemon.memory.recall.query import Heard, Query, RecallKind
from mnemon.memory.recall.question import read
from mnemon.memory.recall.score import Opened, open_book, score
from mnemon.memory.recall.store import Found

_ALL = frozenset(MemoryType)


@dataclass(frozen=True, kw_only=True)
class Fused:
    """The best, with what the rest of the search needs."""

    ranked: Sequence[Ranked]
    considered: int
    aliases: Aliases


def from_books(books: Books, query: Query, now: datetime) -> Fused:
    """The best of the person's books."""
    opened = []
    if RecallKind.MEMORIES in query.kinds:
        opened.append(open_book(books.memories, _types(query)))
    if RecallKind.MESSAGES in query.kinds:
        opened.append(open_book(books.messages))
    return _fused(opened, query, _rounded(query.vector), books.aliases, now)


def from_rows(found: Sequence[Found], query: Query, aliases: Aliases, now: datetime) -> Fused:
    """The best of these rows, whose cosines the database has computed and stand as their vectors' first number."""
    said = [(_entry(one), _cosine(one)) for one in found if isinstance(one.thing, Heard)]
    known = [(_entry(one), _cosine(one)) for one in found if isinstance(one.thing, Memory)]
    opened = []
    if RecallKind.MEMORIES in query.kinds:
        opened.append(open_book(filled(known), _types(query)))
    if RecallKind.MESSAGES in query.kinds:
        opened.append(open_book(filled(said)))
    axis = None if query.vector is None else np.array([1.0, 0.0], dtype=np.float32)
    return _fused(opened, query, axis, aliases, now)


def _fused(opened: Sequence[Opened], query: Query, vector: np.ndarray | None, aliases: Aliases, now: datetime) -> Fused:
    scored = score(opened, read(query.text), vector, aliases=aliases, now=now, limit=query.limit)
    return Fused(ranked=[one for one, _ in scored.best], considered=scored.considered, aliases=aliases)


def _types(query: Query) -> frozenset[str] | None:
    return None if query.types == _ALL else frozenset(query.types)


def _rounded(vector: np.ndarray | None) -> np.ndarray | None:
    """The query's vector as precise as stored ones are, and of length 1, so that both ways give the same cosine."""
    if vector is None:
        return None
    halved = vector.astype(np.float16).astype(np.float32)
    length = float(np.linalg.norm(halved))
    return halved / np.float32(length) if length else None


def _cosine(one: Found) -> np.ndarray | None:
    # The second number tells a cosine of 0 from a text without words.
    return None if one.cosine is None else np.array([one.cosine, 1.0], dtype=np.float32)


def _entry(one: Found) -> Entry:
    thing = one.thing
    if isinstance(thing, Heard):
        return of_message(
            entry_id=thing.id,
            revision=one.revision,
            place=one.place,
            session_id=thing.session_id,
            role=thing.role,
            name=thing.name,
            content=thing.content,
            at=thing.at,
        )
    return of_memory(
        entry_id=thing.id,
        revision=one.revision,
        kind=thing.type,
        content=thing.content,
        entity_refs=thing.entity_refs,
        entity_label=thing.entity_label,
        pinned=thing.pinned,
        importance=thing.importance,
        valid_from=thing.valid_from,
        created_at=thing.created_at,
        updated_at=thing.updated_at,
        memory_key=thing.memory_key,
        claim_of=thing.claim_of,
        persona_id=thing.persona_id,
        trust=thing.trust,
    )
