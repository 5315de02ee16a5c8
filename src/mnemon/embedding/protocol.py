"""What Mnemon asks of an embedding model."""

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
