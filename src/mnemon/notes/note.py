"""A note, the changes that can be made to notes, and the search for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np

CALLER_MODEL = "caller"
"""The model name of vectors that the calling program made itself."""


@dataclass(frozen=True, kw_only=True)
class StoredNote:
    """JSON that a program stores for a person."""

    namespace: tuple[str, ...]
    key: str
    value: Any
    place: int
    """Its position in the order of first writing."""
    version: int
    """How often it was written."""
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    score: float | None = None
    """Its similarity to the query, where there was one."""


@dataclass(frozen=True, kw_only=True)
class PutNote:
    """A change that creates or overwrites a note."""

    namespace: tuple[str, ...]
    key: str | None
    """None to append the note under a generated key."""
    value: Any
    ttl_s: float | None = None
    if_absent: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)
    """The text of each part that is found by meaning; a part without a vector is embedded later."""
    vectors: Mapping[str, np.ndarray | Sequence[float]] = field(default_factory=dict)
    """The vector of each part."""
    model: str = CALLER_MODEL


@dataclass(frozen=True, kw_only=True)
class DeleteNote:
    """A change that deletes a note."""

    namespace: tuple[str, ...]
    key: str


@dataclass(frozen=True, kw_only=True)
class ClearNamespace:
    """A change that deletes everything in the namespace and below it."""

    namespace: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PopNote:
    """A change that deletes the last note of the namespace and returns it."""

    namespace: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SweepExpired:
    """A change that deletes the expired notes."""


NoteChange = PutNote | DeleteNote | ClearNamespace | PopNote | SweepExpired


@dataclass(frozen=True, kw_only=True)
class NoteChangeResult:
    """The result of one change."""

    count: int
    """The number of notes written or deleted."""
    key: str | None = None
    note: StoredNote | None = None
    """The popped note."""


class NoteOrder(StrEnum):
    """The order of found notes where no query determines it."""

    KEY = "key"
    KEY_BACKWARDS = "-key"
    PLACE = "place"
    PLACE_BACKWARDS = "-place"
    LATEST = "-updated"


class NoteTest(StrEnum):
    """How a value is compared with a condition."""

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
    """The criteria of a search."""

    namespace: tuple[str, ...] = ()
    exact: bool = False
    """Only this namespace, not those below it."""
    conditions: Sequence[NoteCondition] = ()
    vector: np.ndarray | Sequence[float] | None = None
    """The embedding of the query; the nearest notes come first."""
    model: str = CALLER_MODEL
    order: NoteOrder = NoteOrder.LATEST
    before: str | None = None
    """Only keys less than this one."""
    after: str | None = None
    """Only keys greater than this one."""
    most: int = 10
    offset: int = 0
