"""How recalled things are ordered. Each ranking is a pure function whose score is the sum of its explained parts."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

CANDIDATES = 50
"""How many of the nearest the blended ranking looks at."""
HALF_LIFE_DAYS = 14.0
BLEND: Mapping[str, float] = MappingProxyType({"similarity": 0.4, "recency": 0.3, "frequency": 0.3})
_DAY = 86_400.0


class Ranking(StrEnum):
    SIMILARITY = "similarity"
    """Plain cosine."""
    BLENDED = "blended"
    """40% similarity, 30% recency, 30% frequency."""
    HYBRID = "hybrid"
    """Words, meaning and entities fused."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
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
class Ranked:
    """A candidate with its score and what the score is made of."""

    id: str
    score: float
    parts: Mapping[str, float]
    """Each part before weighting."""
    weights: Mapping[str, float]
    """score = sum of weight x part."""


def by_similarity(candidates: Sequence[Candidate]) -> list[Ranked]:
    """Best cosine first."""
    return _ordered(candidates, {"similarity": 1.0}, lambda one: {"similarity": _nearness(one)})


def blended(candidates: Sequence[Candidate], *, now: datetime) -> list[Ranked]:
    """Seed 001's order: 40% similarity, 30% recency since the last update, 30% frequency of the entity key."""
    shares = key_shares(candidates)

    def parts(one: Candidate) -> Mapping[str, float]:
        return {
            "similarity": _nearness(one),
            "recency": recency(one.updated_at, now),
            "frequency": max((shares[key] for key in one.entity_keys), default=0.0),
        }

    return _ordered(candidates, BLEND, parts)


def nearest(candidates: Sequence[Candidate], count: int = CANDIDATES) -> list[Candidate]:
    """The candidate set of the blended ranking: the nearest by cosine, ties by id."""
    return sorted(candidates, key=lambda one: (-_nearness(one), one.id))[:count]


def recency(updated_at: datetime, now: datetime) -> float:
    """1 when just updated, halved every 14 days."""
    age_days = max(0.0, (now - updated_at).total_seconds() / _DAY)
    return float(0.5 ** (age_days / HALF_LIFE_DAYS))


def key_shares(candidates: Sequence[Candidate]) -> dict[str, float]:
    """For each entity key the share of candidates that carry it."""
    counts = Counter(key for one in candidates for key in set(one.entity_keys))
    return {key: count / len(candidates) for key, count in counts.items()}


def ordered(ranked: Sequence[Ranked], updated: Mapping[str, datetime]) -> list[Ranked]:
    """Best score first; ties by the later update, then by id, so that the order is always the same."""
    return sorted(ranked, key=lambda one: (-one.score, -updated[one.id].timestamp(), one.id))


def _nearness(one: Candidate) -> float:
    return one.lexical if one.similarity is None else one.similarity


def _ordered(
    candidates: Sequence[Candidate],
    weights: Mapping[str, float],
    parts_of: Callable[[Candidate], Mapping[str, float]],
) -> list[Ranked]:
    ranked = []
    for one in candidates:
        parts = parts_of(one)
        score = sum(weights[name] * part for name, part in parts.items())
        ranked.append(Ranked(id=one.id, score=score, parts=parts, weights=weights))
    return ordered(ranked, {one.id: one.updated_at for one in candidates})
