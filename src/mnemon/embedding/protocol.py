"""What Mnemon asks of an embedding model."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np


class Embedder(Protocol):
    """Turns texts into unit vectors. Raises `mnemon.errors.ModelDown` when it cannot."""

    model: str
    """Name stored beside every vector, so that models of different dimensions live side by side."""
    dimension: int

    async def embed(self, texts: Sequence[str]) -> np.ndarray:
        """An array of shape (len(texts), dimension), float32, each row of length 1 (or all zeros for a text with no words)."""
        ...
