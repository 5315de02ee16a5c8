"""The usual ways, by the book: BM25, vectors, and the two fused by reciprocal rank, with the same words and vectors."""

from collections.abc import Sequence

import numpy as np

from mnemon.embedding.protocol import Embedder
from mnemon.memory.words import bm25

_RRF = 60


async def rankings(embedder: Embedder, texts: Sequence[str], queries: Sequence[str]) -> dict[str, list[list[int]]]:
    """For each way and query the places of the texts, best first."""
    vectors, asked = await embedder.embed(texts), await embedder.embed(queries)
    words = [np.array(bm25(query, texts)) for query in queries]
    meaning = list(asked @ vectors.T)
    fused = [_fused(one, two) for one, two in zip(words, meaning, strict=True)]
    ways = {"BM25": words, "vectors": meaning, "RRF of both": fused}
    return {name: [np.argsort(-scores, kind="stable").tolist() for scores in way] for name, way in ways.items()}


def _fused(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    places = [np.argsort(np.argsort(-scores, kind="stable")) for scores in (one, two)]
    return np.asarray(sum(1.0 / (_RRF + place + 1) for place in places))
