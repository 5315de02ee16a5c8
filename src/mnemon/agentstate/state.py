"""The agent state: one document per session, spelled on the wire as the specification spells it.

    item:         active ──► resolved | discarded
    expectation:  pending ──► confirmed | failed

Neither goes back, and neither is settled twice.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, PlainSerializer, TypeAdapter

from mnemon.clock import iso


class ItemKind(StrEnum):
    TASK = "task"
    DOC = "doc"
    NOTE = "note"
    IDEA = "idea"
    QUESTION = "question"


class ItemStatus(StrEnum):
    ACTIVE = "active"
    RESOLVED = "resolved"
    DISCARDED = "discarded"


class ExpectationStatus(StrEnum):
    PENDING = "pending"
    CONFIRMED = "confirmed"
    FAILED = "failed"


def moment(at: datetime) -> datetime:
    """The time in UTC, to the millisecond: what a document can hold and give back unchanged."""
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


Time = Annotated[datetime, AfterValidator(moment), PlainSerializer(iso, return_type=str)]


@dataclass(frozen=True, kw_only=True)
class Entity:
    """Something the agent knows to exist."""

    id: str
    """Its name in the application; an entity is identified by it."""
    kind: str
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Dependency:
    """How two entities relate; identified by all three fields."""

    source: Annotated[str, Field(alias="from")]
    target: Annotated[str, Field(alias="to")]
    rel: str | None = None

    @property
    def key(self) -> tuple[str, str, str | None]:
        return (self.source, self.target, self.rel)


@dataclass(frozen=True, kw_only=True)
class Understanding:
    """What there is and how it hangs together."""

    entities: tuple[Entity, ...] = ()
    dependencies: tuple[Dependency, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Assumption:
    """Something taken to be true, with how surely and why."""

    id: str
    hypothesis: str
    confidence: float
    """Lowered by contradiction, by nothing else."""
    evidence: tuple[str, ...] = ()
    """Ids of tool results, messages or turns that speak to it, either way."""
    contradicted_by: tuple[str, ...] | None = None
    """Those of the evidence that speak against it; each has been counted once."""


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What an action is expected to do."""

    id: str
    action: str
    expected_outcome: str
    """In words; never compared."""
    expected_ids: tuple[str, ...] | None = None
    expected_type: str | None = None
    expected_count: int | None = None
    invariant: str | None = None
    """What must hold whatever happens, in words; never compared."""
    status: ExpectationStatus = ExpectationStatus.PENDING
    last_checked_at: Time | None = None


@dataclass(frozen=True, kw_only=True)
class TentativeHypothesis:
    """Something that may be true and has no evidence yet."""

    id: str
    hypothesis: str
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Item:
    """Something the agent keeps in hand: a task, a document, a note, an idea or an open question."""

    id: str
    kind: ItemKind
    title: str
    details: str | None = None
    status: ItemStatus = ItemStatus.ACTIVE
    related_entity_ids: Annotated[tuple[str, ...] | None, Field(alias="relatedEntityIds")] = None
    created_at: Annotated[Time, Field(alias="createdAt")]
    updated_at: Annotated[Time, Field(alias="updatedAt")]


@dataclass(frozen=True, kw_only=True)
class AgentState:
    """What the agent holds true in one session. Lists stand in the order their members came in."""

    session_id: Annotated[str, Field(alias="sessionId")]
    current_understanding: Understanding = Understanding()
    assumptions: tuple[Assumption, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    tentative_hypotheses: tuple[TentativeHypothesis, ...] = ()
    items: tuple[Item, ...] = ()
    last_summarized_at: Annotated[Time | None, Field(alias="lastSummarizedAt")] = None
    """When the reflection last changed the state, or old items were last summarized into the journal."""

    def named_by_open(self) -> frozenset[str]:
        """Ids of the entities that an open item or an expectation names: these are never dropped."""
        items = (item.related_entity_ids or () for item in self.items if item.status is ItemStatus.ACTIVE)
        expectations = (expectation.expected_ids or () for expectation in self.expectations)
        return frozenset(id_ for ids in (*items, *expectations) for id_ in ids)


DOCUMENT = TypeAdapter(AgentState)
"""Reads and writes the document as JSON."""


def settles(before: ExpectationStatus, after: ExpectationStatus) -> bool:
    """Whether an expectation may change so: only once, from pending."""
    return before is ExpectationStatus.PENDING and after is not ExpectationStatus.PENDING


def closes(before: ItemStatus, after: ItemStatus) -> bool:
    """Whether an item may change so: only once, from active."""
    return before is ItemStatus.ACTIVE and after is not ItemStatus.ACTIVE
