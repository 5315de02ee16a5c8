"""Vectors of texts that were embedded a moment ago.

What Mnemon asks of an embedding model.

Vectors of length 1, so that a dot product is a cosine.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

import numpy as np


class Embedder(Protocol):
    """Turns texts into unit vectors. Raises `mnemon.errors.ModelDown` when it cannot."""

    model: str
    """Name stored beside every vector, so that models of different dimensions live side by side."""

    @property
    def dimension(self) -> int:
        """Length of its vectors; 0 for an endpoint that has not answered yet and whose model is not known."""
        ...

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Shape (len(texts), dimension), float32; a row of length 1 each, or zeros for a text without words."""
        ...

    async def close(self) -> None:
        """Its connections are closed; at the end of the process."""
        ...


def scale_to_unit(rows: np.ndarray) -> np.ndarray:
    """The rows scaled in place to length 1; a row of zeros stays one."""
    lengths: np.ndarray = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows


CACHE_CAPACITY = 4096
MAX_KEY_CHARS = 2_000
"""Longer texts are not kept: they are messages, and are embedded once."""


class CachedEmbedder:
    """Asks its embedder only for texts it does not hold; the least recently used go first."""

    def __init__(self, embedder: Embedder, *, capacity: int = CACHE_CAPACITY) -> None:
        self._embedder = embedder
        self._capacity = capacity
        self._held: OrderedDict[str, np.ndarray] = OrderedDict()
        self.model = embedder.model

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    async def close(self) -> None:
        await self._embedder.close()

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        missing = list(dict.fromkeys(text for text in texts if text not in self._held))
        fresh = dict(zip(missing, await self._embedder.embed(missing), strict=True)) if missing else {}
        rows = [fresh[text] if text in fresh else self._held[text] for text in texts]
        for text in texts:
            self._cache_vector(text, fresh.get(text))
        return np.stack(rows) if rows else np.zeros((0, self.dimension), dtype=np.float32)

    def _cache_vector(self, text: str, vector: np.ndarray | None) -> None:
        if vector is not None and len(text) <= MAX_KEY_CHARS:
            self._held[text] = vector
        if text in self._held:
            self._held.move_to_end(text)
        while len(self._held) > self._capacity:
            self._held.popitem(last=False)
