"""A search index over one person's memories, or over their messages with one persona, as columns of numbers.

Rows are appended or marked as removed, never moved. Each change returns a function that undoes it, which lets a
transaction search its own uncommitted writes without leaving them in the index. When a third of the rows is removed,
the index is rebuilt at its next update. A large index is filled in a thread, so no single call holds the GIL for long.
"""

from array import array
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from itertools import chain, pairwise

import numpy as np

from mnemon.memory.cards import is_card_worthy
from mnemon.memory.claims import NO_CLAIMS, ClaimGroups, group_claims
from mnemon.memory.keys import split_key
from mnemon.memory.ranking import NEIGHBOUR_WEIGHTS
from mnemon.memory.recall.index_entry import (
    QUOTE_THREAD,
    ColumnArrays,
    IndexEntry,
    Postings,
    ThreadPosition,
    WordNumbers,
    grow_array,
    sort_positions,
    split_for_calls,
)

CONVERSATION_GAP = timedelta(minutes=30)
"""Quoting memories further apart than this belong to different conversations."""
_ENTRY_BYTES = 850
_POSTING_BYTES = 18
_WORD_BYTES = 340
"""Measured memory in bytes: of an entry, of a posting, and of a word that only one text contains."""

Undo = Callable[[], None]
"""A function that undoes one change; undo several in reverse order."""


class SearchIndex:
    """What the ranking needs to know about each row. Row 0 stands for "no row"."""

    def __init__(self) -> None:
        """Begin an empty search index, with row 0 for "no row"."""
        self.entries: list[IndexEntry | None] = [None]
        self.row_of: dict[str, int] = {}
        self.words: dict[str, Postings] = {}
        self.entities: dict[str, array[int]] = {}
        """Rows by entity key."""
        self.keys_by_slug: dict[str, list[str]] = {}
        """Entity keys by the name within them."""
        self.longest_slug = 0
        """Words in the longest of these names."""
        self.types: dict[str, int] = {}
        """The number of each memory type."""
        self.speakers: dict[str, int] = {}
        """The number of each speaker; 0 means no speaker."""
        self.heard: Counter[str] = Counter()
        """How many live rows each speaker has."""
        self.columns = ColumnArrays(
            alive="?", length="f4", embedded="?", updated="f8", asks="?", tells_time="?",
            speaker="i4", own="?", side="i1", type="i1", weighty="?", claim="?", before="i4", after="i4",
        )  # fmt: skip
        self.vectors = np.zeros((64, 0), dtype=np.float32)
        self.dead = 0
        self._threads: dict[str, list[ThreadPosition]] = {}
        self._postings = 0
        self._around: dict[int, np.ndarray] | None = None
        self._lengths: np.ndarray | None = None
        self._claim_groups: ClaimGroups | None = None

    @property
    def size(self) -> int:
        """Return the number of the index's live rows."""
        return len(self.row_of)

    @property
    def bytes(self) -> int:
        """Return about how much memory the index takes."""
        words = self._postings * _POSTING_BYTES + len(self.words) * _WORD_BYTES
        return self.columns.bytes + self.vectors.nbytes + len(self.entries) * _ENTRY_BYTES + words

    def fill(self, entries: Sequence[tuple[IndexEntry, np.ndarray | None]]) -> None:
        """Add all entries to an empty index, faster than `put_entry` for each but with the same result."""
        added = [entry for entry, _ in entries]
        self.columns.extend(len(added), **self._column_values(added))
        self.entries += added
        self.row_of |= {entry.id: row for row, entry in enumerate(added, start=1)}
        self._fill_words(added)
        for row, entry in enumerate(added, start=1):
            self._count_speaker(entry, 1)
            for key in set(entry.entity_refs):
                self._rows_about(key).append(row)
        self._fill_vectors([vector for _, vector in entries])
        for row, (entry, _) in enumerate(entries, start=1):
            if entry.thread is not None:
                self._threads.setdefault(entry.thread, []).append((entry.place, row))
        before, after = self.columns["before"], self.columns["after"]
        for name, places in self._threads.items():
            thread = self._threads[name] = sort_positions(places)
            for one, two in pairwise(thread):
                if self._is_neighbour(one, two):
                    after[one[1]], before[two[1]] = two[1], one[1]

    def put_entry(self, entry: IndexEntry, vector: np.ndarray | None) -> Undo:
        """Add an entry with its vector, if any, in place of the one with its id; return a function that undoes it."""
        # Never in place: the old row stays, marked as removed, and the undo brings it back.
        back = self.remove_entry(entry.id)
        row = self._append_row(entry)
        self._set_vector(row, vector)
        if entry.thread is not None:
            self._link_row(entry, row)

        def undo() -> None:
            """Remove the added row again and bring back the one that it replaced."""
            if entry.thread is not None:
                self._unlink_row(entry, row)
            # Undo runs in reverse order, so this entry's row is the last one again.
            self._pop_row(entry)
            back()

        return undo

    def remove_entry(self, entry_id: str) -> Undo:
        """Mark the entry with this id as removed, if there is one; return a function that undoes it."""
        row = self.row_of.pop(entry_id, None)
        if row is None:
            return lambda: None
        entry = self._entry_at(row)
        self.columns["alive"][row] = False
        self.dead += 1
        self._count_speaker(entry, -1)
        self._clear_caches()
        if entry.thread is not None:
            self._unlink_row(entry, row)

        def undo() -> None:
            """Make the removed entry live again."""
            self.row_of[entry_id] = row
            self.columns["alive"][row] = True
            self.dead -= 1
            self._count_speaker(entry, 1)
            self._clear_caches()
            if entry.thread is not None:
                self._link_row(entry, row)

        return undo

    def set_entry_vector(self, entry_id: str, vector: np.ndarray) -> Undo:
        """Set the vector of the entry, if it is live; return a function that undoes it."""
        row = self.row_of.get(entry_id)
        if row is None:
            return lambda: None
        before = self.vectors[row].copy() if self.columns["embedded"][row] else None
        self._set_vector(row, vector)
        return lambda: self._set_vector(row, before)

    @property
    def is_blank(self) -> bool:
        """Say whether nothing was ever added to the index."""
        return len(self.entries) == 1

    @property
    def needs_rebuild(self) -> bool:
        """Say whether a third or more of the rows is removed, so that the index should be rebuilt."""
        return self.dead * 3 >= len(self.entries)

    def live_entries(self) -> dict[str, tuple[IndexEntry, np.ndarray | None]]:
        """Return the index's live entries, each with its vector, by id."""
        embedded = self.columns["embedded"]
        return {
            name: (self._entry_at(row), self.vectors[row] if embedded[row] else None)
            for name, row in self.row_of.items()
        }

    def neighbour_rows(self) -> dict[int, np.ndarray]:
        """Return for each step, -3 to 3, the row that is so many messages before or after each row; 0 for none."""
        if self._around is None:
            before, after = self.columns["before"], self.columns["after"]
            around: dict[int, np.ndarray] = {}
            if before.any():
                for step, link in ((-1, before), (1, after)):
                    reached = link
                    for distance in range(1, max(map(abs, NEIGHBOUR_WEIGHTS)) + 1):
                        around[step * distance] = reached
                        reached = link[reached]
            self._around = around  # only when finished: another thread may be reading
        return self._around

    def with_neighbour_values(self, values: np.ndarray) -> np.ndarray:
        """Return each row's value plus a share of the values of its neighbours in the conversation."""
        spread = values.copy()
        for step, rows in self.neighbour_rows().items():
            spread += values.dtype.type(NEIGHBOUR_WEIGHTS[step]) * values[rows]
        return spread

    def document_lengths(self) -> np.ndarray:
        """Return the number of words in each live row, with its neighbours' shares, for BM25."""
        if self._lengths is None:
            self._lengths = self.with_neighbour_values(self.columns["length"] * self.columns["alive"])
        return self._lengths

    def claim_groups(self) -> ClaimGroups:
        """Return the claims among the index's live rows, each with the memory it contradicts."""
        if self._claim_groups is None:
            some = bool((self.columns["claim"] & self.columns["alive"]).any())
            self._claim_groups = group_claims(map(self._entry_at, self.row_of.values())) if some else NO_CLAIMS
        return self._claim_groups

    def entry_of(self, entry_id: str) -> IndexEntry:
        """Return the index's live entry with this id; raise KeyError if there is none."""
        return self._entry_at(self.row_of[entry_id])

    def card_entries_about(self, keys: Iterable[str]) -> list[IndexEntry]:
        """Return the live entries that are important enough for a card and mention one of the entities."""
        rows = [np.frombuffer(self.entities[key], dtype=np.int32) for key in keys if key in self.entities]
        if not rows:
            return []
        found = np.unique(np.concatenate(rows)) if len(rows) > 1 else rows[0]
        chosen = found[self.columns["weighty"][found] & self.columns["alive"][found]]
        return [self._entry_at(row) for row in chosen.tolist()]

    def id_of(self, row: int) -> str:
        """Return the id of the memory or message in this row."""
        return self._entry_at(row).id

    def _clear_caches(self) -> None:
        """Drop what was computed from the rows: neighbours, lengths and claims."""
        self._around = self._lengths = self._claim_groups = None

    def _entry_at(self, row: int) -> IndexEntry:
        """Return the entry in this row, live or removed; row 0 has none."""
        entry = self.entries[row]
        assert entry is not None
        return entry

    def _append_row(self, entry: IndexEntry) -> int:
        """Append the entry as a live row with its words and entities, without vector and thread; return the row."""
        row = self.columns.rows
        self.columns.extend(1, **self._column_values([entry]))
        self.entries.append(entry)
        self.row_of[entry.id] = row
        for word, count in Counter(entry.words).items():
            held = self.words.get(word)
            if held is None:
                held = self.words[word] = Postings()
            held.rows.append(row)
            held.counts.append(count)
        for key in set(entry.entity_refs):
            self._rows_about(key).append(row)
        self._postings += len(entry.words)
        self._count_speaker(entry, 1)
        self._clear_caches()
        return row

    def _column_values(self, entries: Sequence[IndexEntry]) -> dict[str, Sequence[float]]:
        """Return the values of the index's columns for these entries."""
        return {
            "alive": [True] * len(entries),
            "length": [len(one.words) for one in entries],
            "updated": [one.updated_at.timestamp() for one in entries],
            "asks": [one.asks for one in entries],
            "tells_time": [one.tells_time for one in entries],
            "speaker": [self._speaker_number(one.speaker) for one in entries],
            "own": [one.own for one in entries],
            "side": [one.side for one in entries],
            "weighty": [is_card_worthy(one) for one in entries],
            "claim": [one.claim_of is not None for one in entries],
            "type": [self.types.setdefault(one.type, len(self.types) + 1) for one in entries],
        }

    def _rows_about(self, key: str) -> "array[int]":
        """Return the rows that mention the entity, a growing array that is made at the first mention."""
        rows = self.entities.get(key)
        if rows is None:
            rows = self.entities[key] = array("i")
            name = split_key(key)[1]
            self.keys_by_slug.setdefault(name, []).append(key)
            self.longest_slug = max(self.longest_slug, name.count("_") + 1)
        return rows

    def _fill_words(self, entries: Sequence[IndexEntry]) -> None:
        """Build the index's postings of all entries at once: sort by word and row, count, and split by word."""
        number = WordNumbers()
        flat = np.concatenate([
            np.array(list(map(number.__getitem__, chain.from_iterable(entry.words for entry in part))), dtype=np.int64)
            for part in split_for_calls(entries)
        ])  # fmt: skip
        lengths = [len(entry.words) for entry in entries]
        rows = np.repeat(np.arange(1, len(entries) + 1, dtype=np.int64), lengths)
        # Sort pairs of word and row as single 64-bit numbers, with the word in the upper half and the row in the lower.
        places, counts = np.unique((flat << 32) | rows, return_counts=True)
        starts = np.searchsorted(places, np.arange(len(number) + 1, dtype=np.int64) << 32).tolist()
        all_rows = (places & 0xFFFFFFFF).astype(np.int32).tobytes()
        all_counts = counts.astype(np.float32).tobytes()
        for word, (start, end) in zip(number, pairwise(starts), strict=True):
            held = self.words[word] = Postings()
            held.rows.frombytes(all_rows[4 * start : 4 * end])
            held.counts.frombytes(all_counts[4 * start : 4 * end])
        self._postings += len(flat)
        self._clear_caches()

    def _pop_row(self, entry: IndexEntry) -> None:
        """Remove the index's last row, which must be this entry's, without a trace."""
        for word in set(entry.words):
            held = self.words[word]
            held.rows.pop()
            held.counts.pop()
        for key in set(entry.entity_refs):
            self.entities[key].pop()
        self._postings -= len(entry.words)
        self.entries.pop()
        del self.row_of[entry.id]
        self._count_speaker(entry, -1)
        self.columns.pop()
        self._clear_caches()

    def _count_speaker(self, entry: IndexEntry, rows: int) -> None:
        """Add this many rows, or subtract them if negative, to the count of the entry's speaker."""
        if entry.speaker is not None:
            self.heard[entry.speaker] += rows

    def _speaker_number(self, name: str | None) -> int:
        """Return the number by which the speaker's column names a speaker; 0 for none."""
        return 0 if name is None else self.speakers.setdefault(name, len(self.speakers) + 1)

    def _set_vector(self, row: int, vector: np.ndarray | None) -> None:
        """Store a row's vector, or mark the row as one without; a zero vector counts as none."""
        usable = vector is not None and bool(vector.any())
        self.columns["embedded"][row] = usable
        # A vector of another dimension: the old ones cannot be compared with it.
        if vector is not None and self.vectors.shape[1] != len(vector):
            self.vectors = np.zeros((len(self.vectors), len(vector)), dtype=np.float32)
        if row >= len(self.vectors):
            self.vectors = grow_array(self.vectors, max(row + 1, 2 * len(self.vectors)))
        self.vectors[row] = vector if usable else 0.0

    def _fill_vectors(self, vectors: Sequence[np.ndarray | None]) -> None:
        """Store the vectors of all rows of an index that is being filled."""
        known = [(row, vector) for row, vector in enumerate(vectors, start=1) if vector is not None]
        if not known:
            return
        self.vectors = np.zeros((max(64, len(vectors) * 9 // 8 + 1), len(known[0][1])), dtype=np.float32)
        embedded = self.columns["embedded"]
        for some in split_for_calls(known):
            rows, matrix = [row for row, _ in some], np.stack([vector for _, vector in some])
            self.vectors[rows] = matrix
            embedded[rows] = matrix.any(axis=1)

    def _link_row(self, entry: IndexEntry, row: int) -> None:
        """Insert the row between its neighbours in the entry's thread."""
        thread = self._threads.setdefault(entry.thread or "", [])
        at: ThreadPosition = (entry.place, row)
        # New messages are the latest almost always: append without a search.
        if not thread or thread[-1] < at:
            thread.append(at)
        else:
            insort(thread, at)
        self._relink_around(thread, bisect_left(thread, at))

    def _unlink_row(self, entry: IndexEntry, row: int) -> None:
        """Take the row out of its thread and link its neighbours to each other."""
        thread = self._threads[entry.thread or ""]
        found = bisect_left(thread, (entry.place, row))
        del thread[found]
        self.columns["before"][row] = self.columns["after"][row] = 0
        self._relink_around(thread, found)

    def _relink_around(self, thread: list[ThreadPosition], found: int) -> None:
        """Link the rows around this position of a thread to each other."""
        before, after = self.columns["before"], self.columns["after"]
        near = thread[max(0, found - 1) : found + 2]
        if found == 0 and near:
            before[near[0][1]] = 0
        if found + 2 > len(thread) and near:
            after[near[-1][1]] = 0
        for one, two in pairwise(near):
            joined = self._is_neighbour(one, two)
            after[one[1]] = two[1] if joined else 0
            before[two[1]] = one[1] if joined else 0
        self._clear_caches()

    def _is_neighbour(self, one: ThreadPosition, two: ThreadPosition) -> bool:
        """Say whether two consecutive rows of a thread belong to one conversation."""
        # All quoting memories share one thread, so there a gap in time separates conversations.
        return self._entry_at(one[1]).thread != QUOTE_THREAD or two[0][0] - one[0][0] <= CONVERSATION_GAP


def build_index(entries: Sequence[tuple[IndexEntry, np.ndarray | None]]) -> SearchIndex:
    """Return a search index of these entries."""
    index = SearchIndex()
    index.fill(entries)
    return index
