"""Vectors of texts that were embedded a moment ago."""

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from mnemon.embedding.protocol import Embedder

CAPACITY = 4096
LONGEST_KEY = 2_000
"""Longer texts are not kept: they are messages, and are embedded once."""


class CachedEmbedder:
    """Asks its embedder only for texts it does not hold; the least recently used go first."""

    def __init__(self, embedder: Embedder, *, capacity: int = CAPACITY) -> None:
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
            self._keep(text, fresh.get(text))
        return np.stack(rows) if rows else np.zeros((0, self.dimension), dtype=np.float32)

    def _keep(self, text: str, vector: np.ndarray | None) -> None:
        if vector is not None and len(text) <= LONGEST_KEY:
            self._held[text] = vector
        if text in self._held:
            self._held.move_to_end(text)
        while len(self._held) > self._capacity:
            self._held.popitem(last=False)
