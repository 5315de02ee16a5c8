"""The hybrid ranking: words, meaning and entities, each on the scale of its own spread, added up."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from mnemon.memory.ranking import Candidate, Ranked, ordered, recency

WEIGHTS: Mapping[str, float] = MappingProxyType({
    "similarity": 1.0,
    "lexical": 1.0,
    "entity": 1.0,
    "recency": 0.1,
})  # fmt: skip


def hybrid(candidates: Sequence[Candidate], *, now: datetime, named: Callable[[str], bool]) -> list[Ranked]:
    """Best sum of standardized cosine and word match first, with a bonus for an entity the query names.

    `lexical` is here the BM25 score; `named` tells whether the query names the entity with this key.
    """
    similarity = _standardized([one.similarity for one in candidates])
    lexical = _standardized([one.lexical for one in candidates])
    ranked = []
    for index, one in enumerate(candidates):
        parts = {
            "similarity": similarity[index],
            "lexical": lexical[index],
            "entity": float(any(named(key) for key in one.entity_keys)),
            "recency": recency(one.updated_at, now),
        }
        score = sum(WEIGHTS[name] * part for name, part in parts.items())
        ranked.append(Ranked(id=one.id, score=score, parts=parts, weights=WEIGHTS))
    return ordered(ranked, {one.id: one.updated_at for one in candidates})


def _standardized(values: Sequence[float | None]) -> list[float]:
    """Each value as standard deviations from the mean; a missing one counts as average."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return [0.0 if value is None else value for value in values]
    mean, spread = statistics.fmean(known), statistics.pstdev(known)
    return [0.0 if value is None or spread == 0 else (value - mean) / spread for value in values]
