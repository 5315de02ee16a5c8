"""What recall knows of one memory or message: its words, who said it, and where in the conversation it stands.

Columns that grow: numbers per row, with room to spare so that a row more costs nothing.
"""

import re
from array import array
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mnemon.memory.trust import Trust
from mnemon.memory.words import indexed_terms, stem_words, terms
from mnemon.turn import Role
from mnemon.untrusted_text import reads_outside_text

_QUOTED_SPEAKER = re.compile(
    r"((?:\[[^\]\n]{1,40}\]\s*|\([^)\n]{1,40}\)\s*)?)"
    r"([A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,2}):\s+(?=\S)"
)
"""`Anna: I moved` is something Anna said, wherever it is kept; so is `[8 May] Anna: I moved`."""
QUOTE_THREAD = "said"
"""The thread of memories that quote somebody."""
_TIME_WORDS = stem_words(
    "yesterday today tonight tomorrow last next ago week month year weekend morning evening night day recently "
    "monday tuesday wednesday thursday friday saturday sunday "
    "january february march april may june july august september october november december"
) | frozenset(map(str, range(1900, 2100)))
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


class IndexEntry(NamedTuple):
    """One row as the index holds it. Text is not kept: what is found is read again."""

    id: str
    revision: int
    """Of the row."""
    words: tuple[str, ...]
    """Stems, with repetitions: of the text, the speaker's name, and for what was said its date."""
    thread: str | None
    """Within one thread, neighbours count for each other; None stands alone."""
    place: tuple[datetime, int, int, str]
    """Order within the thread: when, which write, which place in it, id."""
    speaker: str | None
    """Who said it, folded; None when nobody says."""
    own: bool
    """The person's own words."""
    side: int
    """1 for the person's message, 2 for the assistant's, 0 for anything else."""
    type: str
    """A memory's type; empty for a message."""
    entity_refs: tuple[str, ...]
    """Entity keys."""
    entity_label: str | None
    pinned: bool
    importance: int
    created_at: datetime
    updated_at: datetime
    asks: bool
    """It ends in a question."""
    tells_time: bool
    memory_key: str = ""
    claim_of: str | None = None
    persona_id: str | None = None
    """The only persona that may see it."""
    trust: Trust = Trust.UNKNOWN


def entry_of_message(
    *,
    entry_id: str,
    revision: int,
    place: int,
    session_id: str,
    role: Role,
    name: str | None,
    content: str,
    at: datetime,
) -> IndexEntry:
    """A message as recall sees it."""
    speaker, text = (name, content) if name else _split_speaker(content)
    words = indexed_terms(text)
    return IndexEntry(
        id=entry_id,
        revision=revision,
        words=(*_heading_terms(speaker, at), *words),
        thread=session_id,
        place=(at, revision, place, entry_id),
        speaker=_fold_name(speaker),
        own=role is Role.USER,
        side={Role.USER: 1, Role.ASSISTANT: 2}.get(role, 0),
        type="",
        entity_refs=(),
        entity_label=None,
        pinned=False,
        importance=0,
        created_at=at,
        updated_at=at,
        asks=text.rstrip().endswith("?"),
        tells_time=not _TIME_WORDS.isdisjoint(words),
    )


def entry_of_memory(
    *,
    entry_id: str,
    revision: int,
    kind: str,
    content: str,
    entity_refs: tuple[str, ...],
    entity_label: str | None,
    pinned: bool,
    importance: int,
    valid_from: datetime,
    created_at: datetime,
    updated_at: datetime,
    memory_key: str = "",
    claim_of: str | None = None,
    persona_id: str | None = None,
    trust: Trust = Trust.PERSON,
) -> IndexEntry:
    """A memory as recall sees it; one that quotes somebody is treated as what was said."""
    speaker, text = _split_speaker(content)
    said = speaker is not None
    words = indexed_terms(text)
    heading = _heading_terms(speaker, valid_from) if said else _missing_label_terms(entity_label, words)
    return IndexEntry(
        id=entry_id,
        revision=revision,
        words=(*heading, *words),
        thread=QUOTE_THREAD if said else None,
        place=(valid_from, revision, 0, entry_id),
        speaker=_fold_name(speaker),
        own=False,
        side=0,
        type=kind,
        entity_refs=entity_refs,
        entity_label=entity_label,
        pinned=pinned,
        importance=importance,
        created_at=created_at,
        updated_at=updated_at,
        asks=said and text.rstrip().endswith("?"),
        tells_time=not _TIME_WORDS.isdisjoint(words),
        memory_key=memory_key,
        claim_of=claim_of,
        persona_id=persona_id,
        trust=trust,
    )


@reads_outside_text
def _split_speaker(content: str) -> tuple[str | None, str]:
    found = _QUOTED_SPEAKER.match(content)
    return (found[2], found[1] + content[found.end() :]) if found else (None, content)


def _fold_name(name: str | None) -> str | None:
    return " ".join(name.casefold().split()) or None if name else None


@lru_cache(maxsize=10_000)
def _cached_heading(speaker: str, year: int, month: str, day: int) -> tuple[str, ...]:
    return tuple(terms(f"{day} {month} {year} {speaker}"))


def _heading_terms(speaker: str | None, at: datetime) -> tuple[str, ...]:
    """What stands before the text in a transcript: the date and the name."""
    return _cached_heading(speaker or "", at.year, _MONTHS[at.month - 1], at.day)


@lru_cache(maxsize=10_000)
def _label_terms(label: str) -> tuple[str, ...]:
    return tuple(terms(label))


@reads_outside_text
def _missing_label_terms(label: str | None, words: list[str]) -> list[str]:
    """The entity's name belongs to the fact; what of it the sentence does not say."""
    said = frozenset(words)
    return [word for word in _label_terms(label) if word not in said] if label else []


_INITIAL_ROWS = 64


class ColumnArrays:
    """One numpy array per name, all of the same length; row 0 stands for "no row" and stays zero."""

    def __init__(self, **kinds: str) -> None:
        self._kinds = kinds
        self._held = {name: np.zeros(_INITIAL_ROWS, dtype=kind) for name, kind in kinds.items()}
        self.rows = 1

    def __getitem__(self, name: str) -> np.ndarray:
        return self._held[name][: self.rows]

    def extend(self, rows: int, **values: Sequence[float]) -> None:
        """So many rows more."""
        end = self.rows + rows
        if end > len(next(iter(self._held.values()))):
            self._held = {name: grow_array(column, end * 3 // 2) for name, column in self._held.items()}
        for name, column in values.items():
            self._held[name][self.rows : end] = column
        self.rows = end

    def pop(self) -> None:
        """The last row is gone."""
        self.rows -= 1
        for column in self._held.values():
            column[self.rows] = 0

    @property
    def bytes(self) -> int:
        return sum(column.nbytes for column in self._held.values())


def grow_array(array: np.ndarray, rows: int) -> np.ndarray:
    """The same array with this many rows, the new ones zero."""
    larger = np.zeros((rows, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


class Postings:
    """The rows that hold a word, and how often."""

    __slots__ = ("counts", "rows")

    def __init__(self) -> None:
        self.rows = array("i")
        self.counts = array("f")

    def as_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Views that must not outlive the next change."""
        return np.frombuffer(self.rows, dtype=np.int32), np.frombuffer(self.counts, dtype=np.float32)
