"""What the journal keeps: effects after the gates, so that a replay survives a change of rules."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from mnemon.engagement.document import Answer
from mnemon.evidence.line import EvidenceLine


@dataclass(frozen=True, kw_only=True)
class Opened:
    """The engagement began, in week 1."""

    kind: Literal["opened"] = "opened"


@dataclass(frozen=True, kw_only=True)
class Formed:
    """A hypothesis was formed."""

    hypothesis: str
    statement: str
    falsified_by: str
    kind: Literal["formed"] = "formed"


@dataclass(frozen=True, kw_only=True)
class Collected:
    """Evidence landed on a hypothesis or finding."""

    hypothesis: str
    evidence: EvidenceLine
    kind: Literal["collected"] = "collected"


@dataclass(frozen=True, kw_only=True)
class Resolvable:
    """It was named what would resolve mixed evidence."""

    hypothesis: str
    text: str
    kind: Literal["resolvable"] = "resolvable"


@dataclass(frozen=True, kw_only=True)
class Promoted:
    """A hypothesis became a finding."""

    hypothesis: str
    threshold: float
    """The confidence it had to exceed then, which it must keep exceeding when evidence is forgotten."""
    kind: Literal["promoted"] = "promoted"


@dataclass(frozen=True, kw_only=True)
class Reopened:
    """A finding became a hypothesis again."""

    hypothesis: str
    kind: Literal["reopened"] = "reopened"


@dataclass(frozen=True, kw_only=True)
class Archived:
    """A hypothesis was given up."""

    hypothesis: str
    note: str
    kind: Literal["archived"] = "archived"


@dataclass(frozen=True, kw_only=True)
class Wondered:
    """A question became an unknown."""

    unknown: str
    question: str
    why_it_matters: str
    kind: Literal["wondered"] = "wondered"


@dataclass(frozen=True, kw_only=True)
class Answered:
    """An unknown was closed by the evidence that answers it."""

    unknown: str
    answer: Answer
    kind: Literal["answered"] = "answered"


@dataclass(frozen=True, kw_only=True)
class Advanced:
    """The week moved on by one."""

    week: int
    kind: Literal["advanced"] = "advanced"


Delta = Annotated[
    Opened | Formed | Collected | Resolvable | Promoted | Reopened | Archived | Wondered | Answered | Advanced,
    Field(discriminator="kind"),
]
DELTA: TypeAdapter[Delta] = TypeAdapter(Delta)
"""A delta as JSON and back."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One change in the journal."""

    seq: int
    """Its place: also the document's version after it."""
    at: datetime
    """When what it tells of happened: the turn's time, and for a promotion not before its evidence."""
    turn_id: str | None
    """The turn it came from; None for what forgetting made necessary."""
    user_id: str | None
    """The person whose turn it was."""
    who: str
    """What that person is called; `mnemon` for what forgetting made necessary."""
    reason: str
    delta: Delta
