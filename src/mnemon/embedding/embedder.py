"""What Mnemon needs of an embedding model, and a cache in front of one.

Vectors have length 1, so that a dot product is the cosine similarity.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

import numpy as np

CACHE_CAPACITY = 4096
"""Most texts whose vectors are cached."""
MAX_KEY_CHARS = 2_000
"""Longer texts are not cached: they are messages, which are embedded once."""


class Embedder(Protocol):
    """Turns texts into unit vectors. Raises `mnemon.errors.ModelDown` when it cannot."""

    model: str
    """The name stored with every vector, so that vectors of several models can be stored side by side."""

    @property
    def dimension(self) -> int:
        """Return the length of the embedder's vectors; 0 for an unknown model's endpoint that has not answered yet."""
        ...

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 vectors of shape (len(texts), dimension): unit length, or zeros for a text without words."""
        ...

    async def close(self) -> None:
        """Close the embedder's connections, at the end of the process."""
        ...


def scale_to_unit(rows: np.ndarray) -> np.ndarray:
    """Scale the vectors in place to length 1 and return them; a vector of zeros stays as it is."""
    lengths: np.ndarray = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows


class CachedEmbedder:
    """Calls its embedder only for texts that are not cached; the least recently used are evicted."""

    def __init__(self, embedder: Embedder, *, capacity: int = CACHE_CAPACITY) -> None:
        """Put a cache of this many vectors in front of the embedder."""
        self._embedder = embedder
        self._capacity = capacity
        self._held: OrderedDict[str, np.ndarray] = OrderedDict()
        self.model = embedder.model

    @property
    def dimension(self) -> int:
        """Return the length of the embedder's vectors."""
        return self._embedder.dimension

    async def close(self) -> None:
        """Close the connections of the embedder behind the cache."""
        await self._embedder.close()

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of the texts, from the cache or the embedder; equal texts are embedded once."""
        missing = list(dict.fromkeys(text for text in texts if text not in self._held))
        fresh = dict(zip(missing, await self._embedder.embed(missing), strict=True)) if missing else {}
        # The rows are taken before anything is cached, which may evict others of these texts.
        rows = [fresh[text] if text in fresh else self._held[text] for text in texts]
        for text in texts:
            self._cache_vector(text, fresh.get(text))
        return np.stack(rows) if rows else np.zeros((0, self.dimension), dtype=np.float32)

    def _cache_vector(self, text: str, vector: np.ndarray | None) -> None:
        """Store the vector (None: keep the cached one), mark the text as just used, evict beyond the capacity."""
        if vector is not None and len(text) <= MAX_KEY_CHARS:
            self._held[text] = vector
        if text in self._held:
            self._held.move_to_end(text)
        while len(self._held) > self._capacity:
            self._held.popitem(last=False)
