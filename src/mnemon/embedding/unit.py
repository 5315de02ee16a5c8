"""Vectors of length 1, so that a dot product is a cosine."""

import numpy as np


def to_unit(rows: np.ndarray) -> np.ndarray:
    """The rows scaled in place to length 1; a row of zeros stays one."""
    lengths: np.ndarray = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows
