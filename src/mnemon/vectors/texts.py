"""What a room says of its texts that can be found by meaning, so that they get their vectors and keep them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mnemon.db.tx import Tx
from mnemon.scope import Scope


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A text that has no vector yet."""

    address: tuple[str, ...]
    """Where it stands, in its room's words."""
    content: str


@dataclass(frozen=True, kw_only=True)
class Counted:
    """How far an organization's texts are."""

    texts: int
    """All that can have a vector."""
    done: int
    """Those that have one of the model."""


class Texts(Protocol):
    """The texts of one room; a scope names a person, or the organization where all people's are counted."""

    async def waiting(self, tx: Tx, scope: Scope, model: str, *, most: int) -> list[Waiting]:
        """What of the person has no vector of this model yet."""
        ...

    async def keep(self, tx: Tx, scope: Scope, model: str, vectors: Mapping[Waiting, np.ndarray]) -> None:
        """Each text has this vector of the model; the person's row is locked."""
        ...

    async def counted(self, tx: Tx, scope: Scope, model: str) -> Counted:
        """Over every person of the organization."""
        ...

    async def drop_others(self, tx: Tx, scope: Scope, model: str) -> int:
        """The person has no vectors of other embedders; how many there were."""
        ...
