"""The statements that one connection has prepared, the latest used last."""

from collections import OrderedDict
from collections.abc import Iterator

MOST = 200

Key = tuple[bytes, tuple[int, ...]]
"""A statement and the types of its values."""


class Prepared:
    """Knows what the server has, as far as the server has said so."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._names: OrderedDict[Key, bytes] = OrderedDict()
        self._given = 0

    def __len__(self) -> int:
        return len(self._names)

    def name(self, key: Key) -> tuple[bytes, bool]:
        """The statement's name, and whether it is still to be prepared."""
        known = self._names.get(key)
        if known is not None:
            self._names.move_to_end(key)
            return known, False
        self._given += 1
        return b"mnemon_%d" % self._given, True

    def keep(self, key: Key, name: bytes) -> None:
        """The server has prepared it."""
        self._names[key] = name

    def surplus(self) -> Iterator[bytes]:
        """Names that are to go to make room for one more, the longest unused first."""
        while len(self._names) >= self._most:
            yield self._names.popitem(last=False)[1]
