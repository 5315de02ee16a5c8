"""A note, and what can be done with notes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np

CALLER_MODEL = "caller"
"""The model of vectors that a program made itself."""


@dataclass(frozen=True, kw_only=True)
class StoredNote:
    """JSON that a program keeps for a person."""

    namespace: tuple[str, ...]
    key: str
    value: Any
    place: int
    """Its place in the order of first writing."""
    version: int
    """How often it was written."""
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    score: float | None = None
    """How near it is to the query, where there was one."""


@dataclass(frozen=True, kw_only=True)
class PutNote:
    """The note is to hold this."""

    namespace: tuple[str, ...]
    key: str | None
    """None: it is added at the end, under a key of ours."""
    value: Any
    ttl_s: float | None = None
    if_absent: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)
    """For each part that is found by meaning, its words; one without a vector gets it later."""
    vectors: Mapping[str, np.ndarray | Sequence[float]] = field(default_factory=dict)
    """For each part, its vector."""
    model: str = CALLER_MODEL


@dataclass(frozen=True, kw_only=True)
class DeleteNote:
    """The note is to be gone."""

    namespace: tuple[str, ...]
    key: str


@dataclass(frozen=True, kw_only=True)
class ClearNamespace:
    """Everything in the namespace and below it is to be gone."""

    namespace: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PopNote:
    """The last note of the namespace is to be gone, and given back."""

    namespace: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SweepExpired:
    """What has expired is to be gone."""


NoteChange = PutNote | DeleteNote | ClearNamespace | PopNote | SweepExpired


@dataclass(frozen=True, kw_only=True)
class NoteChangeResult:
    """What a change did."""

    count: int
    """Notes written or removed."""
    key: str | None = None
    note: StoredNote | None = None
    """What was popped."""


class NoteOrder(StrEnum):
    """How found notes are ordered where no query says so."""

    KEY = "key"
    KEY_BACKWARDS = "-key"
    PLACE = "place"
    PLACE_BACKWARDS = "-place"
    LATEST = "-updated"


class NoteTest(StrEnum):
    """How a value is held against a condition."""

    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    CONTAINS = "contains"


@dataclass(frozen=True, kw_only=True)
class NoteCondition:
    """What must be true of the value at a path."""

    path: tuple[str, ...]
    test: NoteTest
    value: Any


@dataclass(frozen=True, kw_only=True)
class NoteSearch:
    """What is looked for."""

    namespace: tuple[str, ...] = ()
    exact: bool = False
    """Only this namespace, not those below it."""
    conditions: Sequence[NoteCondition] = ()
    vector: np.ndarray | Sequence[float] | None = None
    """Nearest first."""
    model: str = CALLER_MODEL
    order: NoteOrder = NoteOrder.LATEST
    before: str | None = None
    """Only keys below this one."""
    after: str | None = None
    """Only keys above this one."""
    most: int = 10
    offset: int = 0
