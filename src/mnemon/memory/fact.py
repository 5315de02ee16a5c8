"""A fact as it comes in, before it has a place: what is said, about whom, and on what ground."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mnemon.memory.trust import Trust, trust_of


class MemoryType(StrEnum):
    """What a memory is about. An open loop is no memory: it becomes a todo."""

    PROFILE = "PROFILE"
    """The person themselves."""
    PEOPLE = "PEOPLE"
    """Someone in the person's life."""
    PROJECT = "PROJECT"
    """Something the person works on."""


class EntityType(StrEnum):
    PERSON = "person"
    PLACE = "place"
    ORG = "org"
    PROJECT = "project"


class FactType(StrEnum):
    FACT = "fact"
    PREFERENCE = "preference"
    RELATIONSHIP = "relationship"
    FRICTION = "friction"
    HABIT = "habit"


SHADOW_EXTRACTION = "shadow_extraction"
SEEDED_PROFILE = "seeded_profile"
CURATED_FOLD = "curated_fold"
API = "api"


@dataclass(frozen=True, kw_only=True)
class FactEntity:
    """Someone or something a fact is about, as it was named."""

    type: EntityType
    label: str


@dataclass(frozen=True, kw_only=True)
class QuoteLocation:
    """Where a fact was said: the message, the place in it, and the words."""

    turn_id: str
    session_id: str
    message_id: str
    start: int
    """Offset of the quote's first character in the message."""
    end: int
    quote: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something to be remembered. What is None is decided by rule."""

    type: MemoryType
    content: str
    entity: FactEntity | None = None
    """None: the person themselves is meant."""
    fact_type: FactType = FactType.FACT
    attribute: str | None = None
    """What it is a value of ("lives in"); a new value replaces the old one."""
    importance: int | None = None
    pinned: bool | None = None
    confidence: float | None = None
    valid_from: datetime | None = None
    """Since when it holds; None: since it was said."""
    source: str = API
    trust: Trust | None = None
    """None: by its source."""
    origin: str | None = None
    """Who said it, where that is finer than the source: `tool:crm` for what a tool gave back; None: its source."""
    private: bool = False
    """Only for the persona it was told to."""
    ground: QuoteLocation | None = None
    sources: tuple[str, ...] = ()
    """Ids of the memories it was folded from."""

    @property
    def quoted_text(self) -> str | None:
        """The words it rests on; None when an application states it."""
        return self.ground.quote if self.ground else None

    @property
    def effective_trust(self) -> Trust:
        return self.trust or trust_of(self.source)

    @property
    def said_by(self) -> str:
        """The source that is named where the fact is shown, and that it can be taken back with."""
        return self.origin or self.source
