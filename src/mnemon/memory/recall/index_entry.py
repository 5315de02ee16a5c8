"""The parts of a search index: an entry per memory or message, numeric columns that grow, and postings per word."""

import re
from array import array
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from heapq import merge
from typing import NamedTuple, TypeVar

import numpy as np

from mnemon.evidence.stems import stem_words
from mnemon.memory.trust import Trust
from mnemon.memory.words import indexed_terms, terms
from mnemon.turn import Role
from mnemon.untrusted_text import reads_outside_text

_QUOTED_SPEAKER = re.compile(
    r"((?:\[[^\]\n]{1,40}\]\s*|\([^)\n]{1,40}\)\s*)?)"
    r"([A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,2}):\s+(?=\S)"
)
"""`Anna: I moved` is something Anna said, even when it is stored as a memory; so is `[8 May] Anna: I moved`."""
QUOTE_THREAD = "said"
"""The thread of all memories that quote someone."""
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
    """One row of the index. The text itself is not kept; it is read from the database when the row is found."""

    id: str
    revision: int
    """The revision of the database row."""
    words: tuple[str, ...]
    """Stems, with repetitions: of the text, of the speaker's name, and of the date if something was said."""
    thread: str | None
    """Rows of one thread share scores with their neighbours; None for a row without neighbours."""
    place: tuple[datetime, int, int, str]
    """The sort key within the thread: time, revision, position within the write, id."""
    speaker: str | None
    """The speaker's name, case-folded; None if no speaker is named."""
    own: bool
    """Whether these are the person's own words."""
    side: int
    """1 for a message of the person, 2 for one of the assistant, 0 for anything else."""
    type: str
    """The memory's type; empty for a message."""
    entity_refs: tuple[str, ...]
    """Keys of the entities it mentions."""
    entity_label: str | None
    pinned: bool
    importance: int
    created_at: datetime
    updated_at: datetime
    asks: bool
    """Whether the text ends in a question mark."""
    tells_time: bool
    memory_key: str = ""
    claim_of: str | None = None
    persona_id: str | None = None
    """The only persona that may see it; None for all."""
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
    """Return the search index's entry for a message: its words, speaker, thread and times."""
    speaker, text = (name, content) if name else _split_speaker(content)
    words = indexed_terms(text)
    return IndexEntry(
        id=entry_id,
        revision=revision,
        # Date, speaker and previous turn raised R@10 from 0.65 to 0.73 (decision 12).
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
    """Return the index entry of a memory; one that quotes a speaker is indexed like a message."""
    speaker, text = _split_speaker(content)
    quotes_speaker = speaker is not None
    words = indexed_terms(text)
    heading = _heading_terms(speaker, valid_from) if quotes_speaker else _missing_label_terms(entity_label, words)
    return IndexEntry(
        id=entry_id,
        revision=revision,
        words=(*heading, *words),
        thread=QUOTE_THREAD if quotes_speaker else None,
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
        asks=quotes_speaker and text.rstrip().endswith("?"),
        tells_time=not _TIME_WORDS.isdisjoint(words),
        memory_key=memory_key,
        claim_of=claim_of,
        persona_id=persona_id,
        trust=trust,
    )


@reads_outside_text
def _split_speaker(content: str) -> tuple[str | None, str]:
    """Return the speaker that a text begins with ("Anna: …"), None without one, and the text without the name."""
    found = _QUOTED_SPEAKER.match(content)
    return (found[2], found[1] + content[found.end() :]) if found else (None, content)


def _fold_name(name: str | None) -> str | None:
    """Return a speaker's name case-folded, with single spaces; None stays None."""
    return " ".join(name.casefold().split()) or None if name else None


@lru_cache(maxsize=10_000)
def _cached_heading(speaker: str, year: int, month: str, day: int) -> tuple[str, ...]:
    """Return the stems of a date and a speaker's name, cached."""
    return tuple(terms(f"{day} {month} {year} {speaker}"))


def _heading_terms(speaker: str | None, at: datetime) -> tuple[str, ...]:
    """Return the stems of the date and the speaker's name, to be indexed with a message."""
    # Cached: all messages of a speaker on one day share their heading.
    return _cached_heading(speaker or "", at.year, _MONTHS[at.month - 1], at.day)


@lru_cache(maxsize=10_000)
def _label_terms(label: str) -> tuple[str, ...]:
    """Return the stems of an entity's name, cached."""
    return tuple(terms(label))


@reads_outside_text
def _missing_label_terms(label: str | None, words: list[str]) -> list[str]:
    """Return the stems of the entity's name that the text lacks: a fact should be found by that name too."""
    present = frozenset(words)
    return [word for word in _label_terms(label) if word not in present] if label else []


_INITIAL_ROWS = 64


class ColumnArrays:
    """Numeric columns of equal length, one numpy array each. Row 0 stands for "no row" and stays zero."""

    def __init__(self, **kinds: str) -> None:
        """Begin empty columns of these numpy types, with room for 64 rows."""
        self._kinds = kinds
        self._held = {name: np.zeros(_INITIAL_ROWS, dtype=kind) for name, kind in kinds.items()}
        self.rows = 1

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a column's values, a view without the spare capacity."""
        return self._held[name][: self.rows]

    def extend(self, rows: int, **values: Sequence[float]) -> None:
        """Append rows to all columns, with these values in the named ones and zero in the others."""
        end = self.rows + rows
        # Spare capacity of one half, so that appending a single row rarely copies the columns.
        if end > len(next(iter(self._held.values()))):
            self._held = {name: grow_array(column, end * 3 // 2) for name, column in self._held.items()}
        for name, column in values.items():
            self._held[name][self.rows : end] = column
        self.rows = end

    def pop(self) -> None:
        """Remove the last row of all columns."""
        self.rows -= 1
        for column in self._held.values():
            column[self.rows] = 0

    @property
    def bytes(self) -> int:
        """Return the memory that the columns take, in bytes."""
        return sum(column.nbytes for column in self._held.values())


def grow_array(array: np.ndarray, rows: int) -> np.ndarray:
    """Return a copy of the array with this many rows, the new ones zero."""
    larger = np.zeros((rows, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


class Postings:
    """The rows that contain a word, and how often each does."""

    __slots__ = ("counts", "rows")

    def __init__(self) -> None:
        """Begin the postings of a word that no row contains."""
        self.rows = array("i")
        self.counts = array("f")

    def as_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return a word's rows and counts as views, which must be dropped before the next change."""
        # An array cannot be resized while a numpy view of its buffer exists.
        return np.frombuffer(self.rows, dtype=np.int32), np.frombuffer(self.counts, dtype=np.float32)


class WordNumbers(dict[str, int]):
    """Numbers words in the order in which they are first looked up."""

    def __missing__(self, word: str) -> int:
        """Give a word that is looked up for the first time the next number, and return it."""
        self[word] = given = len(self)
        return given


T = TypeVar("T")
ThreadPosition = tuple[tuple[datetime, int, int, str], int]
"""A row's sort key within its thread, and the row."""
_ROWS_PER_CALL = 2_000
"""Rows given to one library call, which holds the GIL (2 ms at this size) while the event loop waits."""


def split_for_calls(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Return the items in parts of at most 2,000 for library calls that hold the GIL; one empty part for none."""
    return (items[start : start + _ROWS_PER_CALL] for start in range(0, len(items) or 1, _ROWS_PER_CALL))


def sort_positions(places: list[ThreadPosition]) -> list[ThreadPosition]:
    """Return a thread's positions sorted; many of them in parts, since one long sort would block other threads."""
    return list(merge(*map(sorted, split_for_calls(places)))) if len(places) > _ROWS_PER_CALL else sorted(places)
