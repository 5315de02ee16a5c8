"""What is asked of recall, and what it gives back."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import numpy as np

from mnemon.memory.cards import Card
from mnemon.memory.fact import MemoryType
from mnemon.memory.memory import Memory
from mnemon.memory.ranking import Ranking
from mnemon.turn import Role


class RecallKind(StrEnum):
    MEMORIES = "memories"
    MESSAGES = "messages"


@dataclass(frozen=True, kw_only=True)
class Query:
    """A search for what is known or was said."""

    text: str
    vector: np.ndarray | None
    """Its embedding, made before the transaction; None: matched by words alone."""
    model: str
    """Whose vectors are compared."""
    ranking: Ranking = Ranking.HYBRID
    kinds: frozenset[RecallKind] = frozenset({RecallKind.MEMORIES})
    limit: int = 10
    types: frozenset[MemoryType] = frozenset(MemoryType)
    as_of: datetime | None = None
    """What was held at that time; None: what is current."""
    extra_claims: int = 0
    """Places beyond the limit for claims alone: within it they have those that memories and messages leave."""


@dataclass(frozen=True, kw_only=True)
class Heard:
    """A message that was found."""

    id: str
    session_id: str
    turn_id: str
    persona_id: str | None
    role: Role
    content: str
    name: str | None
    at: datetime
    revision: int
    """Of its row."""


Thing = Memory | Heard


@dataclass(frozen=True, kw_only=True)
class Hit:
    """Something found, with its score and what the score is made of."""

    found: Thing
    score: float
    parts: Mapping[str, float]
    weights: Mapping[str, float]
    beside: str | None = None
    """Id of the memory before it, which it contradicts: it is shown as a claim, with that one's score."""
    claims: int = 0
    """How many claims contradict it that are not shown."""


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """The answer to a query."""

    hits: tuple[Hit, ...]
    cards: tuple[Card, ...]
    considered: int
    """How many candidates were ranked."""

    @property
    def memories(self) -> list[Hit]:
        return [hit for hit in self.hits if isinstance(hit.found, Memory)]
