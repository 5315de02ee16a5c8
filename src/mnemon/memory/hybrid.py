"""The hybrid ranking: words, meaning, who said it and where it stands, each on the scale of its own spread, added up.

Arithmetic over columns of numbers: `recall/book.py` holds them, `recall/score.py` holds a question against them.
"""

import functools
import operator
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

WEIGHTS: Mapping[str, float] = MappingProxyType({
    "lexical": 1.0,
    "similarity": 0.5,
    "speaker": 2.0,
    "own": 0.5,
    "entity": 1.0,
    "question": -0.75,
    "time": 2.0,
    "recency": 0.1,
})  # fmt: skip
"""score = sum of weight x part. docs/recall.md tells what each is worth."""

WINDOW: Mapping[int, float] = MappingProxyType({0: 1.0, -1: 0.6, -2: 0.4, -3: 0.2, 1: 0.4, 2: 0.2, 3: 0.1})
"""What is said before and after a message counts for it too: an answer rarely repeats the words of its question."""

K1, B = 0.9, 0.4
"""BM25: how soon a repeated word stops counting, and how much a long text is held back."""


def rarity(size: int, holding: int) -> float:
    """How much a word counts that `holding` of `size` texts hold."""
    return float(np.log1p((size - holding + 0.5) / (holding + 0.5)))


def damping(relative_lengths: np.ndarray) -> np.ndarray:
    """How much texts of these lengths, 1 being usual, are held back."""
    held: np.ndarray = np.float32(K1 * B) * relative_lengths + np.float32(K1 * (1 - B))
    return held


def saturated(counts: np.ndarray, dampings: np.ndarray) -> np.ndarray:
    """The share of a word's rarity that texts so held back earn by holding it this often."""
    earned: np.ndarray = counts * np.float32(K1 + 1) / (counts + dampings)
    return earned


def standardized(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Each known value as standard deviations from their mean; others, and all when they do not differ, 0."""
    number = int(np.count_nonzero(known))
    if number < 2:
        return np.zeros(len(values), dtype=np.float32)
    # Sums rather than dot products: those of BLAS start threads, which take longer than the sum.
    centred = values * known.astype(np.float32)
    centred -= float(centred.sum(dtype=np.float64)) / number
    centred *= known
    spread = float(np.square(centred).sum(dtype=np.float64) / number) ** 0.5
    if spread < 1e-9:
        return np.zeros(len(values), dtype=np.float32)
    centred *= 1 / spread
    return centred


def total(parts: Mapping[str, np.ndarray]) -> np.ndarray:
    """The score of each row."""
    weighed = (np.float32(WEIGHTS[name]) * part for name, part in parts.items())
    return functools.reduce(operator.iadd, weighed)
