"""Columns that grow: numbers per row, with room to spare so that a row more costs nothing."""

from array import array
from collections.abc import Sequence

import numpy as np

_ROOM = 64


class Columns:
    """One numpy array per name, all of the same length; row 0 stands for "no row" and stays zero."""

    def __init__(self, **kinds: str) -> None:
        self._kinds = kinds
        self._held = {name: np.zeros(_ROOM, dtype=kind) for name, kind in kinds.items()}
        self.rows = 1

    def __getitem__(self, name: str) -> np.ndarray:
        return self._held[name][: self.rows]

    def extend(self, rows: int, **values: Sequence[float]) -> None:
        """So many rows more."""
        end = self.rows + rows
        if end > len(next(iter(self._held.values()))):
            self._held = {name: grown(column, end * 3 // 2) for name, column in self._held.items()}
        for name, column in values.items():
            self._held[name][self.rows : end] = column
        self.rows = end

    def pop(self) -> None:
        """The last row is gone."""
        self.rows -= 1
        for column in self._held.values():
            column[self.rows] = 0

    @property
    def bytes(self) -> int:
        return sum(column.nbytes for column in self._held.values())


def grown(array: np.ndarray, rows: int) -> np.ndarray:
    """The same array with this many rows, the new ones zero."""
    larger = np.zeros((rows, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


class Postings:
    """The rows that hold a word, and how often."""

    __slots__ = ("counts", "rows")

    def __init__(self) -> None:
        self.rows = array("i")
        self.counts = array("f")

    def seen(self) -> tuple[np.ndarray, np.ndarray]:
        """Views that must not outlive the next change."""
        return np.frombuffer(self.rows, dtype=np.int32), np.frombuffer(self.counts, dtype=np.float32)
