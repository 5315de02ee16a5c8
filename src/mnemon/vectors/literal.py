"""A vector in the words of PostgreSQL."""

from collections.abc import Sequence

import numpy as np


def literal(vector: np.ndarray | Sequence[float]) -> str:
    """The vector as PostgreSQL reads it."""
    values = vector.tolist() if isinstance(vector, np.ndarray) else vector
    return "[" + ",".join(["%.7g"] * len(values)) % tuple(values) + "]"
