"""Scores for the rows of search indexes: each row gets the parts of its score, and the best rows are picked.

A row's words and vector count together with those of its neighbours in the conversation, with smaller weights.
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
    neighbour_share,
    standard_scores,
    term_saturation,
    weighted_total,
)
from mnemon.memory.recall.index import SearchIndex
from mnemon.memory.recall.query import ParsedQuery, named_speakers, possible_names

_MOST_DENSE_CELLS = 1 << 16
"""Rows times words up to which the dense computation is used."""


class TermPostings(NamedTuple):
    """The rows that contain a word, how often each does, and the word's weight."""

    rows: np.ndarray
    counts: np.ndarray
    weight: np.float32


def term_scores(index: SearchIndex, held: Sequence[TermPostings], dampings: np.ndarray) -> np.ndarray:
    """Return each row's BM25 score: the sum over all words of the query."""
    around = index.neighbour_rows()
    if not around:
        return _scores_without_neighbours(held, dampings)
    # Measured: 1.5 ms became 0.6 for the 300 messages of a session (docs/recall.md).
    if len(held) * len(dampings) <= _MOST_DENSE_CELLS:
        return _dense_scores(held, around, dampings)
    return _scores_by_word(held, around, dampings)


def _scores_without_neighbours(held: Sequence[TermPostings], dampings: np.ndarray) -> np.ndarray:
    """Return each row's BM25 score where no row has neighbours."""
    scores = np.zeros(len(dampings), dtype=np.float32)
    for rows, counts, weight in held:
        scores[rows] += weight * term_saturation(counts, dampings[rows])
    return scores


def _dense_scores(held: Sequence[TermPostings], around: Mapping[int, np.ndarray], dampings: np.ndarray) -> np.ndarray:
    """Return the BM25 scores of all rows at once: for few rows faster than looking up those with a word."""
    counts = np.zeros((len(held), len(dampings)), dtype=np.float32)
    for number, one in enumerate(held):
        counts[number, one.rows] = one.counts
    spread = counts.copy()
    for step, rows in around.items():
        spread += np.float32(NEIGHBOUR_WEIGHTS[step]) * counts[:, rows]
    weights = np.array([one.weight for one in held], dtype=np.float32)
    scores: np.ndarray = (weights[:, None] * term_saturation(spread, dampings)).sum(axis=0)
    # Row 0 stands for "no row": links to it must not collect a score.
    scores[0] = 0.0
    return scores


def _scores_by_word(held: Sequence[TermPostings], around: Mapping[int, np.ndarray], dampings: np.ndarray) -> np.ndarray:
    """Return the BM25 scores, computed only for the rows that contain a word and their neighbours."""
    scores, scratch = np.zeros(len(dampings), dtype=np.float32), np.zeros(len(dampings), dtype=np.float32)
    for rows, counts, weight in held:
        reached = [rows]
        scratch[rows] = counts
        for step in around:
            # `around[-step]` leads from a row to those for which it is the neighbour at `step`.
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
"""A name used this many times more often by one side is the other side's name."""


@dataclass(frozen=True, kw_only=True)
class IndexView:
    """An index and which of its rows a query may find."""

    index: SearchIndex
    wanted: np.ndarray
    """True for rows that are live and wanted."""
    whole: bool
    """Whether all live rows are wanted."""


@dataclass(frozen=True, kw_only=True)
class ScoredRows:
    """The best rows, and how many rows were candidates."""

    best: tuple[tuple[RankedItem, IndexView], ...]
    considered: int


def view_index(index: SearchIndex, types: frozenset[str] | None = None) -> IndexView:
    """Return a view of the index's rows that a query may find.

    With types, only memories of these types. A claim that is shown beside the memory it contradicts is left out.
    """
    wanted = index.columns["alive"]
    followers = index.claim_groups().follower_ids
    if followers:
        wanted = wanted.copy()
        wanted[[index.row_of[one] for one in followers]] = False
    if types is not None:
        wanted = wanted & np.isin(index.columns["type"], [index.types.get(one, -1) for one in types])
    return IndexView(index=index, wanted=wanted, whole=types is None and not followers)


def score_rows(
    views: Sequence[IndexView],
    question: ParsedQuery,
    vector: np.ndarray | None,
    *,
    aliases: Aliases,
    now: datetime,
    limit: int,
) -> ScoredRows:
    """Return the best rows of all views together; word and score statistics are taken over all of them."""
    wanted = np.concatenate([one.wanted for one in views]) if views else np.zeros(0, dtype=bool)
    columns = _JoinedColumns(views)
    parts = {
        "lexical": standard_scores(_lexical_scores(views, question), wanted),
        "similarity": _similarity_scores(views, vector, wanted),
        **_speaker_scores(views, columns, question),
        "entity": np.concatenate([_entity_flags(one.index, question, aliases) for one in views]),
        "question": columns["asks"],
        "time": columns["tells_time"] & question.asks_when,
        "recency": _recency_scores(columns["updated"], now),
    }
    scores = weighted_total(parts)
    # Rows that may not be found are scored with the others, which keeps the arrays aligned.
    scores[~wanted] = -np.inf
    rows = _best_rows(scores, columns["updated"], limit, int(wanted.sum()), lambda row: _locate_row(views, row)[0])
    return ScoredRows(best=_explain_rows(views, parts, scores, rows), considered=int(wanted.sum()))


class _JoinedColumns:
    """The columns of several indexes, concatenated."""

    def __init__(self, views: Sequence[IndexView]) -> None:
        """Keep the search indexes of the views, in order, to read their columns as one."""
        self._indexes = [one.index for one in views]

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a column of all search indexes, one after the other."""
        if len(self._indexes) == 1:
            return self._indexes[0].columns[name]
        return np.concatenate([index.columns[name] for index in self._indexes])


def _lexical_scores(views: Sequence[IndexView], question: ParsedQuery) -> np.ndarray:
    """Return the BM25 score of every row of all views, in order; a row's neighbours in its thread count in part."""
    lengths = [_view_lengths(one) for one in views]
    size = sum(int(np.count_nonzero(one.wanted)) for one in views)
    every = sum(float((length * one.wanted).sum(dtype=np.float64)) for length, one in zip(lengths, views, strict=True))
    # 1 if there are no words at all, so that lengths can be divided by it.
    average = np.float32(every / max(1, size) or 1.0)
    found: list[list[TermPostings]] = [[] for _ in views]
    for word in question.terms:
        held = [_rows_with_term(one, word) for one in views]
        holding = sum(len(rows) for rows, _ in held)
        weight = np.float32(inverse_document_frequency(size, holding))
        for number, (rows, counts) in enumerate(held):
            if len(rows):
                found[number].append(TermPostings(rows, counts, weight))
    return np.concatenate([
        term_scores(one.index, held, length_normalization(length / average))
        for one, held, length in zip(views, found, lengths, strict=True)
    ])  # fmt: skip


def _rows_with_term(one: IndexView, word: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the view that contain the word, and how often each does."""
    held = one.index.words.get(word)
    if held is None:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
    rows, counts = held.as_arrays()
    # Nothing is filtered out: skip the copy.
    if one.whole and not one.index.dead:
        return rows, counts
    seen = one.wanted[rows]
    return rows[seen], counts[seen]


def _view_lengths(one: IndexView) -> np.ndarray:
    """Return the number of words of each row of a view, with its neighbours' shares."""
    return (
        one.index.document_lengths()
        if one.whole
        else one.index.with_neighbour_values(one.index.columns["length"] * one.wanted)
    )


def _similarity_scores(views: Sequence[IndexView], vector: np.ndarray | None, wanted: np.ndarray) -> np.ndarray:
    """Return the standardized cosine of each row to the query, with its neighbours' shares where texts are short."""
    if vector is None:
        return np.zeros(len(wanted), dtype=np.float32)
    known = [one.wanted & one.index.columns["embedded"] for one in views]
    cosines = [_cosine_scores(one.index, vector, which) for one, which in zip(views, known, strict=True)]
    plain = standard_scores(np.concatenate(cosines), np.concatenate(known))
    # Without neighbours the scores are standardized already.
    if not any(one.index.neighbour_rows() for one in views):
        return plain
    starts = np.cumsum([0, *(len(one.wanted) for one in views)])
    spread = [
        one.index.with_neighbour_values(plain[start : start + len(one.wanted)])
        for one, start in zip(views, starts, strict=False)
    ]
    share = np.float32(neighbour_share(_average_words(views)))
    return standard_scores(plain + share * (np.concatenate(spread) - plain), wanted)


def _average_words(views: Sequence[IndexView]) -> float:
    """Return how many words the rows that may be found have on average, without their neighbours'; 0 for no rows."""
    words = sum(float((one.index.columns["length"] * one.wanted).sum(dtype=np.float64)) for one in views)
    return words / max(1, sum(int(np.count_nonzero(one.wanted)) for one in views))


def _cosine_scores(index: SearchIndex, vector: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return each row's cosine to the query; zeros where the stored vectors have another dimension."""
    rows = len(known)
    if index.vectors.shape[1] != len(vector):
        return np.zeros(rows, dtype=np.float32)
    cosines: np.ndarray = index.vectors[:rows] @ vector.astype(np.float32, copy=False)
    return cosines


def _speaker_scores(
    views: Sequence[IndexView], columns: _JoinedColumns, question: ParsedQuery
) -> dict[str, np.ndarray]:
    """Return for each row whether the speaker whom the query asks about said it; else whether the person did.

    Nothing is scored when the query names several speakers.
    """
    names = {name for one in views for name, rows in one.index.heard.items() if rows}
    named = named_speakers(question, names)
    if len(named) == 1:
        matches = [one.index.columns["speaker"] == one.index.speakers.get(named[0], -1) for one in views]
        return {"speaker": np.concatenate(matches)}
    if named:
        return {}
    # A name in the query identifies a side only if no message carries a speaker's name.
    side = (0 if names else _side_named(views, question)) or question.side
    if side:
        # Rank down what the other side said; a memory belongs to neither side.
        return {"speaker": columns["side"] != 3 - side}
    return {"own": columns["own"]}


def _side_named(views: Sequence[IndexView], question: ParsedQuery) -> int:
    """Return whose name is in the query: 1 the person's, 2 the assistant's, 0 if unclear."""
    # People use each other's names and hardly their own.
    for name in question.proper:
        sides = np.concatenate([one.index.columns["side"][_rows_with_term(one, name)[0]] for one in views])
        person, assistant = int((sides == 1).sum()), int((sides == 2).sum())
        # Said mostly by the assistant, the name is the person's, and the other way round.
        if max(person, assistant) >= _NAME_RATIO * (1 + min(person, assistant)):
            return 1 if assistant > person else 2
    return 0


def _entity_flags(index: SearchIndex, question: ParsedQuery, aliases: Aliases) -> np.ndarray:
    """Return for each row whether it mentions an entity the query names, under any of its aliases."""
    flags = np.zeros(len(index.entries), dtype=bool)
    if not index.entities:
        return flags
    linked = {*aliases.links, *(link.target for link in aliases.links.values())}
    longest = max(index.longest_slug, *(key.count("_") + 1 for key in linked)) if linked else index.longest_slug
    names = set(possible_names(question.slugs, longest))
    named_keys = [key for name in names for key in index.keys_by_slug.get(name, ())]
    named_keys += [key for key in linked if split_key(key)[1] in names]
    for member_key in {member for key in named_keys for member in aliases.member_keys(key)}:
        if member_key in index.entities:
            flags[np.frombuffer(index.entities[member_key], dtype=np.int32)] = True
    return flags


def _recency_scores(updated: np.ndarray, now: datetime) -> np.ndarray:
    """Return for each row 1 if it was updated just now, halved every 14 days."""
    half_lives = ((updated - now.timestamp()) / (_DAY_S * HALF_LIFE_DAYS)).astype(np.float32)
    return np.exp2(np.minimum(half_lives, np.float32(0)))


def _best_rows(scores: np.ndarray, updated: np.ndarray, limit: int, most: int, name: Callable[[int], str]) -> list[int]:
    """Return the numbers of the best-scored rows, best first; ties go by later update, then by id."""
    count = min(limit, most)
    if count == 0:
        return []
    # A partition is linear in the rows; only rows at or above the lowest winning score are sorted.
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    rows: Iterable[int] = np.flatnonzero(scores >= least).tolist()
    return sorted(rows, key=lambda row: (-scores[row], -updated[row], name(row)))[:count]


def _locate_row(views: Sequence[IndexView], row: int) -> tuple[str, IndexView]:
    """Return the id and the view of a row that is numbered across all views."""
    for one in views:
        if row < len(one.wanted):
            return one.index.id_of(row), one
        row -= len(one.wanted)
    raise IndexError(row)


def _explain_rows(
    views: Sequence[IndexView], parts: Mapping[str, np.ndarray], scores: np.ndarray, rows: Sequence[int]
) -> tuple[tuple[RankedItem, IndexView], ...]:
    """Return these rows as ranked items with their scores and the parts of these."""
    weights = {part: HYBRID_WEIGHTS[part] for part in parts}
    chosen = {part: values[rows].astype(float).tolist() for part, values in parts.items()}
    explained_rows = []
    for position, (row, reached) in enumerate(zip(rows, scores[rows].tolist(), strict=True)):
        name, found_in = _locate_row(views, row)
        explained = {part: values[position] for part, values in chosen.items()}
        explained_rows.append((RankedItem(id=name, score=reached, parts=explained, weights=weights), found_in))
    return tuple(explained_rows)
