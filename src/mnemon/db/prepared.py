"""The statements that one connection has prepared, the latest used last."""

from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

MOST = 200

Key = tuple[bytes, tuple[int, ...]]
"""A statement and the types of its values."""


class Change(NamedTuple):
    """Something that is sent to the server to prepare a statement, or to drop one."""

    key: Key
    name: bytes
    dropped: bool


class Prepared:
    """Knows what the server will have when everything planned so far has succeeded.

    A round is planned while it is written. What the server then did not do is taken back by `undo`, so that between two
    rounds this is exactly what the server has.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._names: OrderedDict[Key, bytes] = OrderedDict()

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, key: Key) -> bool:
        return key in self._names

    def plan_use(self, key: Key) -> tuple[bytes, list[Change]]:
        """Give the statement's name and the changes that must be sent ahead of it; from here on they count as done."""
        known = self._names.get(key)
        if known is not None:
            self._names.move_to_end(key)
            return known, []
        changes = []
        while len(self._names) >= self._most:
            unused, name = self._names.popitem(last=False)
            changes.append(Change(unused, name, dropped=True))
        name = statement_name(key)
        self._names[key] = name
        changes.append(Change(key, name, dropped=False))
        return name, changes

    def undo(self, changes: Iterable[Change]) -> None:
        """Take back planned changes that the server did not carry out, the last one first."""
        for change in changes:
            if change.dropped:
                self._names[change.key] = change.name
                self._names.move_to_end(change.key, last=False)
            else:
                del self._names[change.key]


def statement_name(key: Key) -> bytes:
    """Name a statement after its text and types.

    Wherever the name is known it then means the same statement: a pooler that mixes up connections can cause an error,
    but never the execution of another statement.
    """
    query, types = key
    return b"mnemon_" + sha256(query + repr(types).encode()).hexdigest()[:24].encode()
