"""Holds a question against books: every row gets its parts, and the best rows are picked.

What a question's words earn the rows of a book. A row is held together with its neighbours in the conversation.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np

from mnemon.memory.entities.aliases import Aliases
from mnemon.memory.keys import split_key
from mnemon.memory.ranking import (
    HALF_LIFE_DAYS,
    HYBRID_WEIGHTS,
    NEIGHBOUR_WEIGHTS,
    RankedItem,
    inverse_document_frequency,
    length_normalization,
    standard_scores,
    term_saturation,
    weighted_total,
)
from mnemon.memory.recall.index import SearchIndex
from mnemon.memory.recall.query import ParsedQuery, named_speakers, possible_names

_MOST_DENSE_CELLS = 1 << 16
"""Rows times words up to which all of them are counted at once."""


class TermPostings(NamedTuple):
    """The rows that hold a word, how often, and what the word counts."""

    rows: np.ndarray
    counts: np.ndarray
    weight: np.float32


def term_scores(book: SearchIndex, held: Sequence[TermPostings], dampings: np.ndarray) -> np.ndarray:
    """The sum over all words, for each row."""
    around = book.neighbour_rows()
    if not around:
        return _scores_without_neighbours(held, dampings)
    if len(held) * len(dampings) <= _MOST_DENSE_CELLS:
        return _dense_scores(held, around, dampings)
    return _scores_by_word(held, around, dampings)


def _scores_without_neighbours(held: Sequence[TermPostings], dampings: np.ndarray) -> np.ndarray:
    scores = np.zeros(len(dampings), dtype=np.float32)
    for rows, counts, weight in held:
        scores[rows] += weight * term_saturation(counts, dampings[rows])
    return scores


def _dense_scores(held: Sequence[TermPostings], around: Mapping[int, np.ndarray], dampings: np.ndarray) -> np.ndarray:
    """All words over all rows: few rows are sooner counted than looked up."""
    counts = np.zeros((len(held), len(dampings)), dtype=np.float32)
    for place, one in enumerate(held):
        counts[place, one.rows] = one.counts
    spread = counts.copy()
    for step, rows in around.items():
        spread += np.float32(NEIGHBOUR_WEIGHTS[step]) * counts[:, rows]
    weights = np.array([one.weight for one in held], dtype=np.float32)
    scores: np.ndarray = (weights[:, None] * term_saturation(spread, dampings)).sum(axis=0)
    scores[0] = 0.0
    return scores


def _scores_by_word(held: Sequence[TermPostings], around: Mapping[int, np.ndarray], dampings: np.ndarray) -> np.ndarray:
    """Only the rows that hold a word, and those near them."""
    scores, scratch = np.zeros(len(dampings), dtype=np.float32), np.zeros(len(dampings), dtype=np.float32)
    for rows, counts, weight in held:
        reached = [rows]
        scratch[rows] = counts
        for step in around:
            # A row counts for the one after it as the one before.
            other = around[-step][rows]
            scratch[other] += np.float32(NEIGHBOUR_WEIGHTS[step]) * counts
            reached.append(other)
        touched = np.concatenate(reached)
        scores[touched] += weight * term_saturation(scratch[touched], dampings[touched])
        scores[0] = 0.0
        scratch[touched] = 0.0
    return scores


_DAY_S = 86_400.0
_NAME_RATIO = 3
"""A name said this often on one side, and hardly on the other, is the other side's."""


@dataclass(frozen=True, kw_only=True)
class IndexView:
    """A book and which of its rows a query may find."""

    book: SearchIndex
    may: np.ndarray
    """True for rows that stand and were asked for."""
    whole: bool
    """Everything that stands was asked for."""


@dataclass(frozen=True, kw_only=True)
class ScoredRows:
    """The best rows, and how many there were to choose from."""

    best: tuple[tuple[RankedItem, IndexView], ...]
    considered: int


def view_index(book: SearchIndex, types: frozenset[str] | None = None) -> IndexView:
    """The book for a query; with types, only memories of these. A claim beside what it contradicts is not found."""
    may = book.columns["alive"]
    followers = book.claim_groups().follower_ids
    if followers:
        may = may.copy()
        may[[book.row_of[one] for one in followers]] = False
    if types is not None:
        may = may & np.isin(book.columns["type"], [book.types.get(one, -1) for one in types])
    return IndexView(book=book, may=may, whole=types is None and not followers)


def score_rows(
    books: Sequence[IndexView],
    question: ParsedQuery,
    vector: np.ndarray | None,
    *,
    aliases: Aliases,
    now: datetime,
    limit: int,
) -> ScoredRows:
    """The rows that answer best, of all books together: what is rare or usual is so over all of them."""
    may = np.concatenate([one.may for one in books]) if books else np.zeros(0, dtype=bool)
    columns = _JoinedColumns(books)
    parts = {
        "lexical": standard_scores(_lexical_scores(books, question), may),
        "similarity": _similarity_scores(books, vector, may),
        **_speaker_scores(books, columns, question),
        "entity": np.concatenate([_entity_flags(one.book, question, aliases) for one in books]),
        "question": columns["asks"],
        "time": columns["tells_time"] & question.asks_when,
        "recency": _recency_scores(columns["updated"], now),
    }
    scores = weighted_total(parts)
    scores[~may] = -np.inf
    rows = _best_rows(scores, columns["updated"], limit, int(may.sum()), lambda row: _locate_row(books, row)[0])
    return ScoredRows(best=_explain_rows(books, parts, scores, rows), considered=int(may.sum()))


class _JoinedColumns:
    """The columns of several books, one after the other."""

    def __init__(self, books: Sequence[IndexView]) -> None:
        self._books = [one.book for one in books]

    def __getitem__(self, name: str) -> np.ndarray:
        if len(self._books) == 1:
            return self._books[0].columns[name]
        return np.concatenate([book.columns[name] for book in self._books])


def _lexical_scores(books: Sequence[IndexView], question: ParsedQuery) -> np.ndarray:
    """BM25 over each row together with its neighbours."""
    lengths = [_view_lengths(one) for one in books]
    size = sum(int(np.count_nonzero(one.may)) for one in books)
    every = sum(float((length * one.may).sum(dtype=np.float64)) for length, one in zip(lengths, books, strict=True))
    average = np.float32(every / max(1, size) or 1.0)
    found: list[list[TermPostings]] = [[] for _ in books]
    for word in question.terms:
        held = [_rows_with_term(one, word) for one in books]
        holding = sum(len(rows) for rows, _ in held)
        weight = np.float32(inverse_document_frequency(size, holding))
        for place, (rows, counts) in enumerate(held):
            if len(rows):
                found[place].append(TermPostings(rows, counts, weight))
    return np.concatenate([
        term_scores(one.book, held, length_normalization(length / average))
        for one, held, length in zip(books, found, lengths, strict=True)
    ])  # fmt: skip


def _rows_with_term(one: IndexView, word: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows a query may find that hold the word, and how often."""
    held = one.book.words.get(word)
    if held is None:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
    rows, counts = held.as_arrays()
    if one.whole and not one.book.dead:
        return rows, counts
    seen = one.may[rows]
    return rows[seen], counts[seen]


def _view_lengths(one: IndexView) -> np.ndarray:
    return one.book.document_lengths() if one.whole else one.book.spread_values(one.book.columns["length"] * one.may)


def _similarity_scores(books: Sequence[IndexView], vector: np.ndarray | None, may: np.ndarray) -> np.ndarray:
    """Cosine, seen from the middle of what is there, with the neighbours' shares."""
    if vector is None:
        return np.zeros(len(may), dtype=np.float32)
    known = [one.may & one.book.columns["embedded"] for one in books]
    cosines = [_cosine_scores(one.book, vector, which) for one, which in zip(books, known, strict=True)]
    plain = standard_scores(np.concatenate(cosines), np.concatenate(known))
    if not any(one.book.neighbour_rows() for one in books):
        return plain
    starts = np.cumsum([0, *(len(one.may) for one in books)])
    spread = [
        one.book.spread_values(plain[start : start + len(one.may)]) for one, start in zip(books, starts, strict=False)
    ]
    return standard_scores(np.concatenate(spread), may)


def _cosine_scores(book: SearchIndex, vector: np.ndarray, known: np.ndarray) -> np.ndarray:
    rows = len(known)
    if book.vectors.shape[1] != len(vector):
        return np.zeros(rows, dtype=np.float32)
    cosines: np.ndarray = book.vectors[:rows] @ vector.astype(np.float32, copy=False)
    return cosines


def _speaker_scores(
    books: Sequence[IndexView], columns: _JoinedColumns, question: ParsedQuery
) -> dict[str, np.ndarray]:
    """Whether the one asked about said it; where nobody is asked about, whether the person did."""
    names = {name for one in books for name, rows in one.book.heard.items() if rows}
    asked = named_speakers(question, names)
    if len(asked) == 1:
        said = [one.book.columns["speaker"] == one.book.speakers.get(asked[0], -1) for one in books]
        return {"speaker": np.concatenate(said)}
    if asked:
        return {}
    side = (0 if names else _side_named(books, question)) or question.side
    if side:
        # What the other side said stands back; a memory is on neither.
        return {"speaker": columns["side"] != 3 - side}
    return {"own": columns["own"]}


def _side_named(books: Sequence[IndexView], question: ParsedQuery) -> int:
    """The side that goes by a name in the question: people call each other by name, hardly themselves."""
    for name in question.proper:
        sides = np.concatenate([one.book.columns["side"][_rows_with_term(one, name)[0]] for one in books])
        person, assistant = int((sides == 1).sum()), int((sides == 2).sum())
        if max(person, assistant) >= _NAME_RATIO * (1 + min(person, assistant)):
            return 1 if assistant > person else 2
    return 0


def _entity_flags(book: SearchIndex, question: ParsedQuery, aliases: Aliases) -> np.ndarray:
    """1 where a row speaks of an entity that the question names, under any of its names."""
    flags = np.zeros(len(book.entries), dtype=bool)
    if not book.entities:
        return flags
    linked = {*aliases.links, *(link.target for link in aliases.links.values())}
    longest = max(book.longest_slug, *(key.count("_") + 1 for key in linked)) if linked else book.longest_slug
    names = set(possible_names(question.slugs, longest))
    named_keys = [key for name in names for key in book.keys_by_slug.get(name, ())]
    named_keys += [key for key in linked if split_key(key)[1] in names]
    for meant in {member for key in named_keys for member in aliases.member_keys(key)}:
        if meant in book.entities:
            flags[np.frombuffer(book.entities[meant], dtype=np.int32)] = True
    return flags


def _recency_scores(updated: np.ndarray, now: datetime) -> np.ndarray:
    half_lives = ((updated - now.timestamp()) / (_DAY_S * HALF_LIFE_DAYS)).astype(np.float32)
    return np.exp2(np.minimum(half_lives, np.float32(0)))


def _best_rows(scores: np.ndarray, updated: np.ndarray, limit: int, most: int, name: Callable[[int], str]) -> list[int]:
    """The rows with the best scores; ties by the later update, then by id."""
    count = min(limit, most)
    if count == 0:
        return []
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    rows: Iterable[int] = np.flatnonzero(scores >= least).tolist()
    return sorted(rows, key=lambda row: (-scores[row], -updated[row], name(row)))[:count]


def _locate_row(books: Sequence[IndexView], row: int) -> tuple[str, IndexView]:
    for one in books:
        if row < len(one.may):
            return one.book.id_of(row), one
        row -= len(one.may)
    raise IndexError(row)


def _explain_rows(
    books: Sequence[IndexView], parts: Mapping[str, np.ndarray], scores: np.ndarray, rows: Sequence[int]
) -> tuple[tuple[RankedItem, IndexView], ...]:
    """The rows with their scores and what those are made of."""
    weights = {part: HYBRID_WEIGHTS[part] for part in parts}
    chosen = {part: values[rows].astype(float).tolist() for part, values in parts.items()}
    made = []
    for place, (row, reached) in enumerate(zip(rows, scores[rows].tolist(), strict=True)):
        name, found_in = _locate_row(books, row)
        explained = {part: values[place] for part, values in chosen.items()}
        made.append((RankedItem(id=name, score=reached, parts=explained, weights=weights), found_in))
    return tuple(made)
