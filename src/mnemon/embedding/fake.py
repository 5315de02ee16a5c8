"""An embedder for tests: the same vector for the same text, similar ones for texts that share words."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from mnemon.embedding.embedder import scale_to_unit

FAKE_DIMENSION = 64
_WORD_PATTERN = re.compile(r"\w+")


class FakeEmbedder:
    """Hashes each word into four positions of the vector."""

    def __init__(self, *, dimension: int = FAKE_DIMENSION) -> None:
        """Make a fake embedder whose vectors have this length."""
        self.dimension = dimension
        self.model = f"fake-{dimension}"

    async def close(self) -> None:
        """Do nothing: the fake embedder has no connection."""

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return a vector per text, made of hashes of its words."""
        made = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(made, texts, strict=True):
            for word in _WORD_PATTERN.findall(text.lower()):
                _add_word(row, word)
        return scale_to_unit(made)


def _add_word(row: np.ndarray, word: str) -> None:
    """Add 1 or -1 at four positions of the vector that the word's hash names."""
    digest = hashlib.sha256(word.encode()).digest()
    for place in range(0, 16, 4):
        number = int.from_bytes(digest[place : place + 4], "big")
        row[number % len(row)] += 1.0 if number & 0x80000000 else -1.0
