"""What a question's words earn the rows of a book. A row is held together with its neighbours in the conversation."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mnemon.memory.hybrid import WINDOW, saturated
from mnemon.memory.recall.book import Book

_AT_ONCE = 1 << 16
"""Rows times words up to which all of them are counted at once."""


class Held(NamedTuple):
    """The rows that hold a word, how often, and what the word counts."""

    rows: np.ndarray
    counts: np.ndarray
    weight: np.float32


def earned(book: Book, held: Sequence[Held], dampings: np.ndarray) -> np.ndarray:
    """The sum over all words, for each row."""
    around = book.around()
    if not around:
        return _alone(held, dampings)
    if len(held) * len(dampings) <= _AT_ONCE:
        return _at_once(held, around, dampings)
    return _word_by_word(held, around, dampings)


def _alone(held: Sequence[Held], dampings: np.ndarray) -> np.ndarray:
    scores = np.zeros(len(dampings), dtype=np.float32)
    for rows, counts, weight in held:
        scores[rows] += weight * saturated(counts, dampings[rows])
    return scores


def _at_once(held: Sequence[Held], around: Mapping[int, np.ndarray], dampings: np.ndarray) -> np.ndarray:
    """All words over all rows: few rows are sooner counted than looked up."""
    counts = np.zeros((len(held), len(dampings)), dtype=np.float32)
    for place, one in enumerate(held):
        counts[place, one.rows] = one.counts
    spread = counts.copy()
    for step, rows in around.items():
        spread += np.float32(WINDOW[step]) * counts[:, rows]
    weights = np.array([one.weight for one in held], dtype=np.float32)
    scores: np.ndarray = (weights[:, None] * saturated(spread, dampings)).sum(axis=0)
    scores[0] = 0.0
    return scores


def _word_by_word(held: Sequence[Held], around: Mapping[int, np.ndarray], dampings: np.ndarray) -> np.ndarray:
    """Only the rows that hold a word, and those near them."""
    scores, scratch = np.zeros(len(dampings), dtype=np.float32), np.zeros(len(dampings), dtype=np.float32)
    for rows, counts, weight in held:
        reached = [rows]
        scratch[rows] = counts
        for step in around:
            # A row counts for the one after it as the one before.
            other = around[-step][rows]
            scratch[other] += np.float32(WINDOW[step]) * counts
            reached.append(other)
        touched = np.concatenate(reached)
        scores[touched] += weight * saturated(scratch[touched], dampings[touched])
        scores[0] = 0.0
        scratch[touched] = 0.0
    return scores
