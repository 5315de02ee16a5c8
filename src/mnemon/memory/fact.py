"""A fact as it is stated, before it is stored: what is said, about whom, and where it was said."""

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


# No docstrings here and on FactType: pydantic would add them to the schemas of the API and of the model's answer.
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


class FactOp(StrEnum):
    STATE = "state"
    RETRACT = "retract"


SHADOW_EXTRACTION = "shadow_extraction"
SEEDED_PROFILE = "seeded_profile"
CURATED_FOLD = "curated_fold"
API = "api"


@dataclass(frozen=True, kw_only=True)
class FactEntity:
    """The person or thing that a fact is about, as it was named."""

    type: EntityType
    label: str


@dataclass(frozen=True, kw_only=True)
class QuoteLocation:
    """Where a fact was said: the message, the position in it, and the words."""

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
    """Something to be remembered. Fields that are None are decided by rule."""

    type: MemoryType
    content: str
    entity: FactEntity | None = None
    """None: the person themselves."""
    fact_type: FactType = FactType.FACT
    attribute: str | None = None
    """What the fact is a value of ("lives in"); a new value replaces the old one."""
    importance: int | None = None
    pinned: bool | None = None
    confidence: float | None = None
    valid_from: datetime | None = None
    """When it became true; None: when it was said."""
    source: str = API
    trust: Trust | None = None
    """None: derived from the source."""
    origin: str | None = None
    """The author, if more specific than the source, such as `tool:crm` for a tool's result; None: the source."""
    private: bool = False
    """Visible only to the persona it was told to."""
    ground: QuoteLocation | None = None
    sources: tuple[str, ...] = ()
    """Ids of the memories it was merged from."""
    op: FactOp = FactOp.STATE
    """Whether it is stated or taken back: a retracted fact is no longer so."""
    ended_by: str | None = None
    """The words that take a retracted fact back; None: those it was said in."""
    slot: str | None = None
    """Of whose attribute it is a value (`slots`); empty: of none that is known; None: not read yet."""
    key: str | None = None
    """The memory key that it is stored under; None: the one that follows from its fields."""
    dates: tuple[str, ...] = ()
    """The days that relative dates in its text mean (`relative_dates`)."""

    @property
    def ending_words(self) -> str:
        """Return the words that retract a fact: those given as such, else its quote, else its content."""
        return self.ended_by or (self.ground.quote if self.ground else self.content)

    @property
    def quoted_text(self) -> str | None:
        """Return the quoted words that the fact was taken from; None if an application states the fact."""
        return self.ground.quote if self.ground else None

    @property
    def effective_trust(self) -> Trust:
        """Return how far the fact is trusted, derived from the source if no trust is given."""
        return self.trust or trust_of(self.source)

    @property
    def said_by(self) -> str:
        """Return the name of the fact's source, as it is shown and as its statements can be withdrawn by."""
        return self.origin or self.source
