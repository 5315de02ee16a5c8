"""What lives as long as one open database: caches of its rows and counts not yet written, one object of each class.

A process may hold several databases open, as tests and the demo do, so none of this may be a module's global.
"""

from typing import TypeVar, cast

T = TypeVar("T")


class Attached:
    """Objects by class: those given at the start, and others made without arguments when first asked for."""

    def __init__(self, *given: object) -> None:
        self._by_class: dict[type, object] = {type(one): one for one in given}

    def get(self, kind: type[T]) -> T:
        """Give the one object of this class."""
        found = self._by_class.get(kind)
        if found is None:
            found = self._by_class[kind] = kind()
        return cast("T", found)
