"""How recalled things are ordered. Each ranking is a pure function whose score is the sum of its explained parts.

The hybrid ranking: words, meaning, who said it and where it stands, each on the scale of its own spread, added up.

Arithmetic over columns of numbers: `recall/index.py` holds them, `recall/scoring.py` holds a question against them.
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
"""How many of the nearest the blended ranking looks at."""
HALF_LIFE_DAYS = 14.0
BLEND_WEIGHTS: Mapping[str, float] = MappingProxyType({"similarity": 0.4, "recency": 0.3, "frequency": 0.3})
_DAY_S = 86_400.0


class Ranking(StrEnum):
    SIMILARITY = "similarity"
    """Plain cosine."""
    BLENDED = "blended"
    """40% similarity, 30% recency, 30% frequency."""
    HYBRID = "hybrid"
    """Words, meaning and entities fused."""


@dataclass(frozen=True, kw_only=True)
class RankingCandidate:
    """Something found, with what rankings need to know of it."""

    id: str
    similarity: float | None
    """Cosine to the query; None when it or the query is not embedded."""
    updated_at: datetime
    entity_keys: tuple[str, ...] = ()
    """Resolved through aliases."""
    lexical: float = 0.0
    """Share of the query's words it covers, by weight, 0 to 1; stands in for a missing cosine."""


@dataclass(frozen=True, kw_only=True)
class RankedItem:
    """A candidate with its score and what the score is made of."""

    id: str
    score: float
    parts: Mapping[str, float]
    """Each part before weighting."""
    weights: Mapping[str, float]
    """score = sum of weight x part."""


def rank_by_similarity(candidates: Sequence[RankingCandidate]) -> list[RankedItem]:
    """Best cosine first."""
    return _rank_candidates(candidates, {"similarity": 1.0}, lambda one: {"similarity": _similarity_or_lexical(one)})


def rank_blended(candidates: Sequence[RankingCandidate], *, now: datetime) -> list[RankedItem]:
    """Seed 001's order: 40% similarity, 30% recency since the last update, 30% frequency of the entity key."""
    shares = key_shares(candidates)

    def score_parts(one: RankingCandidate) -> Mapping[str, float]:
        return {
            "similarity": _similarity_or_lexical(one),
            "recency": recency_score(one.updated_at, now),
            "frequency": max((shares[key] for key in one.entity_keys), default=0.0),
        }

    return _rank_candidates(candidates, BLEND_WEIGHTS, score_parts)


def nearest_candidates(candidates: Sequence[RankingCandidate], count: int = MOST_CANDIDATES) -> list[RankingCandidate]:
    """The candidate set of the blended ranking: the nearest by cosine, ties by id."""
    return sorted(candidates, key=lambda one: (-_similarity_or_lexical(one), one.id))[:count]


def recency_score(updated_at: datetime, now: datetime) -> float:
    """1 when just updated, halved every 14 days."""
    age_days = max(0.0, (now - updated_at).total_seconds() / _DAY_S)
    return float(0.5 ** (age_days / HALF_LIFE_DAYS))


def key_shares(candidates: Sequence[RankingCandidate]) -> dict[str, float]:
    """For each entity key the share of candidates that carry it."""
    counts = Counter(key for one in candidates for key in set(one.entity_keys))
    return {key: count / len(candidates) for key, count in counts.items()}


def sort_ranked(ranked: Sequence[RankedItem], updated: Mapping[str, datetime]) -> list[RankedItem]:
    """Best score first; ties by the later update, then by id, so that the order is always the same."""
    return sorted(ranked, key=lambda one: (-one.score, -updated[one.id].timestamp(), one.id))


def _similarity_or_lexical(one: RankingCandidate) -> float:
    return one.lexical if one.similarity is None else one.similarity


def _rank_candidates(
    candidates: Sequence[RankingCandidate],
    weights: Mapping[str, float],
    parts_of: Callable[[RankingCandidate], Mapping[str, float]],
) -> list[RankedItem]:
    ranked = []
    for one in candidates:
        parts = parts_of(one)
        score = sum(weights[name] * part for name, part in parts.items())
        ranked.append(RankedItem(id=one.id, score=score, parts=parts, weights=weights))
    return sort_ranked(ranked, {one.id: one.updated_at for one in candidates})


HYBRID_WEIGHTS: Mapping[str, float] = MappingProxyType({
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

NEIGHBOUR_WEIGHTS: Mapping[int, float] = MappingProxyType({0: 1.0, -1: 0.6, -2: 0.4, -3: 0.2, 1: 0.4, 2: 0.2, 3: 0.1})
"""What is said before and after a message counts for it too: an answer rarely repeats the words of its question."""

BM25_K1, BM25_B = 0.9, 0.4
"""BM25: how soon a repeated word stops counting, and how much a long text is held back."""


def inverse_document_frequency(size: int, holding: int) -> float:
    """How much a word counts that `holding` of `size` texts hold."""
    return float(np.log1p((size - holding + 0.5) / (holding + 0.5)))


def length_normalization(relative_lengths: np.ndarray) -> np.ndarray:
    """How much texts of these lengths, 1 being usual, are held back."""
    held: np.ndarray = np.float32(BM25_K1 * BM25_B) * relative_lengths + np.float32(BM25_K1 * (1 - BM25_B))
    return held


def term_saturation(counts: np.ndarray, dampings: np.ndarray) -> np.ndarray:
    """The share of a word's rarity that texts so held back earn by holding it this often."""
    earned: np.ndarray = counts * np.float32(BM25_K1 + 1) / (counts + dampings)
    return earned


def standard_scores(values: np.ndarray, known: np.ndarray) -> np.ndarray:
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


def weighted_total(parts: Mapping[str, np.ndarray]) -> np.ndarray:
    """The score of each row."""
    weighed = (np.float32(HYBRID_WEIGHTS[name]) * part for name, part in parts.items())
    return functools.reduce(operator.iadd, weighed)
