"""Rankings: pure functions that order recalled items, each score being the sum of its weighted, explained parts.

The hybrid ranking adds up words, meaning, speaker and position, each scaled by its own spread. Its arithmetic works on
columns of numbers, which `recall/index.py` holds and `recall/scoring.py` compares with a query.
"""

import functools
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

import numpy as np

MOST_CANDIDATES = 50
"""How many of the nearest candidates the blended ranking considers."""
HALF_LIFE_DAYS = 14.0
"""The time after which recency is halved."""
BLEND_WEIGHTS: Mapping[str, float] = MappingProxyType({"similarity": 0.4, "recency": 0.3, "frequency": 0.3})
"""The weights of the blended ranking."""
_DAY_S = 86_400.0


class Ranking(StrEnum):
    SIMILARITY = "similarity"
    """Cosine only."""
    BLENDED = "blended"
    """40 % similarity, 30 % recency, 30 % frequency."""
    HYBRID = "hybrid"
    """Words, meaning and entities combined."""


@dataclass(frozen=True, kw_only=True)
class RankingCandidate:
    """A candidate with what the rankings need to know about it."""

    id: str
    similarity: float | None
    """The cosine to the query; None if the candidate or the query has no vector."""
    updated_at: datetime
    entity_keys: tuple[str, ...] = ()
    """Entity keys with aliases resolved."""
    lexical: float = 0.0
    """The weighted share of the query's words that it contains, 0 to 1; used if there is no cosine."""


@dataclass(frozen=True, kw_only=True)
class RankedItem:
    """A candidate with its score and the parts of this."""

    id: str
    score: float
    parts: Mapping[str, float]
    """Each part before weighting."""
    weights: Mapping[str, float]
    """The weights: score = sum of weight x part."""


def rank_by_similarity(candidates: Sequence[RankingCandidate]) -> list[RankedItem]:
    """Return the candidates of a recall ranked by cosine, best first."""
    return _rank_candidates(candidates, {"similarity": 1.0}, lambda one: {"similarity": _similarity_or_lexical(one)})


def rank_blended(candidates: Sequence[RankingCandidate], *, now: datetime) -> list[RankedItem]:
    """Return the candidates ranked by 40 % similarity, 30 % recency, 30 % frequency of the entity key, best first."""
    shares = key_shares(candidates)

    def score_parts(one: RankingCandidate) -> Mapping[str, float]:
        """Return a candidate's similarity, recency and frequency, each from 0 to 1."""
        return {
            "similarity": _similarity_or_lexical(one),
            "recency": recency_score(one.updated_at, now),
            "frequency": max((shares[key] for key in one.entity_keys), default=0.0),
        }

    return _rank_candidates(candidates, BLEND_WEIGHTS, score_parts)


def nearest_candidates(candidates: Sequence[RankingCandidate], count: int = MOST_CANDIDATES) -> list[RankingCandidate]:
    """Return the candidates of the blended ranking: the nearest by cosine, ties by id."""
    return sorted(candidates, key=lambda one: (-_similarity_or_lexical(one), one.id))[:count]


def recency_score(updated_at: datetime, now: datetime) -> float:
    """Return 1 for a memory updated just now, halved every 14 days."""
    age_days = max(0.0, (now - updated_at).total_seconds() / _DAY_S)
    return float(0.5 ** (age_days / HALF_LIFE_DAYS))


def key_shares(candidates: Sequence[RankingCandidate]) -> dict[str, float]:
    """Return for each entity key the share of candidates that have it."""
    counts = Counter(key for one in candidates for key in set(one.entity_keys))
    return {key: count / len(candidates) for key, count in counts.items()}


def sort_ranked(ranked: Sequence[RankedItem], updated: Mapping[str, datetime]) -> list[RankedItem]:
    """Return ranked items by score, best first; ties by later update, then by id: always the same order."""
    return sorted(ranked, key=lambda one: (-one.score, -updated[one.id].timestamp(), one.id))


def _similarity_or_lexical(one: RankingCandidate) -> float:
    """Return a candidate's cosine to the query; without one, how many of its words it contains."""
    return one.lexical if one.similarity is None else one.similarity


def _rank_candidates(
    candidates: Sequence[RankingCandidate],
    weights: Mapping[str, float],
    parts_of: Callable[[RankingCandidate], Mapping[str, float]],
) -> list[RankedItem]:
    """Return the candidates with the weighted sum of their parts, best first."""
    ranked = []
    for one in candidates:
        parts = parts_of(one)
        score = sum(weights[name] * part for name, part in parts.items())
        ranked.append(RankedItem(id=one.id, score=score, parts=parts, weights=weights))
    return sort_ranked(ranked, {one.id: one.updated_at for one in candidates})


# Round numbers from the middle of the ranges within which recall hardly changed (decision 12).
HYBRID_WEIGHTS: Mapping[str, float] = MappingProxyType({
    "lexical": 1.0,
    "similarity": 1.0,
    "speaker": 2.0,
    "own": 0.5,
    "entity": 1.0,
    "question": -0.75,
    "time": 2.0,
    "recency": 0.1,
})  # fmt: skip
"""The weights: score = sum of weight x part. docs/recall.md tells what each contributes."""

# The largest single gain: R@10 0.712 without neighbours; other windows gave 0.810 to 0.816 (decision 12).
NEIGHBOUR_WEIGHTS: Mapping[int, float] = MappingProxyType({0: 1.0, -1: 0.6, -2: 0.4, -3: 0.2, 1: 0.4, 2: 0.2, 3: 0.1})
"""Weights of the messages before and after: an answer rarely repeats the words of its question."""

# Two friends write lines of 19 words and need their neighbours; an assistant's replies run to hundreds (decision 30).
SHORT_TEXT_WORDS = 15.0
"""Up to this average length of a text, the meaning of its neighbours counts in full."""


def neighbour_share(average_words: float) -> float:
    """Return the weight, 0 to 1, of neighbouring texts in a text's similarity: lower for longer texts."""
    return min(1.0, SHORT_TEXT_WORDS / max(average_words, 1.0)) ** 2


# Values usual in research, not tuned to the benchmark (decision 12).
BM25_K1, BM25_B = 0.9, 0.4
"""BM25 parameters: how soon a repeated word stops counting, and how much a long text is penalized."""


def inverse_document_frequency(size: int, holding: int) -> float:
    """Return BM25's weight of a word that `holding` of `size` texts contain: the rarer, the higher."""
    return float(np.log1p((size - holding + 0.5) / (holding + 0.5)))


def length_normalization(relative_lengths: np.ndarray) -> np.ndarray:
    """Return BM25's damping of texts by their length relative to the average, which is 1."""
    held: np.ndarray = np.float32(BM25_K1 * BM25_B) * relative_lengths + np.float32(BM25_K1 * (1 - BM25_B))
    return held


def term_saturation(counts: np.ndarray, dampings: np.ndarray) -> np.ndarray:
    """Return BM25's factor by which a word's weight counts in texts that contain it this often."""
    earned: np.ndarray = counts * np.float32(BM25_K1 + 1) / (counts + dampings)
    return earned


def standard_scores(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return each known value in standard deviations from the mean of the known ones, the others as 0.

    Values that are not known are 0; so are all of them if they do not differ.
    """
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


def weighted_total(parts: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return for each row the sum of its score's parts, weighted for the hybrid ranking."""
    # Added in place, so that the sum needs no further array for each part.
    weighed = (np.float32(HYBRID_WEIGHTS[name]) * part for name, part in parts.items())
    return functools.reduce(operator.iadd, weighed)
