"""The agent state: one document per session, in JSON with the specification's field names.

    item:         active ──► resolved | discarded
    expectation:  pending ──► confirmed | failed

Neither goes back, and neither is settled twice. The lists are bounded; `bound_state` decides what is dropped when one
is full.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, PlainSerializer, TypeAdapter

from mnemon.agentstate.invariant import InvariantCheck
from mnemon.clock import format_time


# These enums have no docstrings: pydantic would add them to the JSON schema that the model is sent.
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


def to_utc_millis(at: datetime) -> datetime:
    """Return the time in UTC, to the millisecond: the precision that survives a round trip through JSON."""
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


UtcTime = Annotated[datetime, AfterValidator(to_utc_millis), PlainSerializer(format_time, return_type=str)]
"""A time that is stored in UTC, to the millisecond."""


@dataclass(frozen=True, kw_only=True)
class StateEntity:
    """Something that the agent knows to exist."""

    id: str
    """The application's id of it, which identifies the entity."""
    kind: str
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Dependency:
    """A relation between two entities; identified by all three fields."""

    source: Annotated[str, Field(alias="from")]
    target: Annotated[str, Field(alias="to")]
    rel: str | None = None

    @property
    def key(self) -> tuple[str, str, str | None]:
        """Return what identifies the dependency: source, target and relation."""
        return (self.source, self.target, self.rel)


@dataclass(frozen=True, kw_only=True)
class Understanding:
    """The known entities and their relations."""

    entities: tuple[StateEntity, ...] = ()
    dependencies: tuple[Dependency, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Assumption:
    """Something taken to be true, with a confidence and evidence."""

    id: str
    hypothesis: str
    confidence: float
    """Raised by evidence that a model cites, lowered by contradiction, and changed by nothing else."""
    evidence: tuple[str, ...] = ()
    """Ids of tool results, messages or turns that support or contradict it."""
    contradicted_by: tuple[str, ...] | None = None
    """Those of the evidence that contradict it; each has been counted once."""


@dataclass(frozen=True, kw_only=True)
class StateExpectation:
    """What an action is expected to do."""

    id: str
    action: str
    expected_outcome: str
    """In words; never compared."""
    expected_ids: tuple[str, ...] | None = None
    expected_type: str | None = None
    expected_count: int | None = None
    invariant: str | None = None
    """What must hold in any case; checked where it has a form that can be checked (`invariant.py`)."""
    status: ExpectationStatus = ExpectationStatus.PENDING
    last_checked_at: UtcTime | None = None
    tool_call_id: str | None = None
    """The call whose result settles it; None for the next result of its action that fits."""
    settled_by: str | None = None
    """The key of the result that settled it; a result settles one at most."""
    invariant_check: InvariantCheck | None = None
    """What checking the invariant against that result gave; None before."""


@dataclass(frozen=True, kw_only=True)
class TentativeHypothesis:
    """Something that may be true and has no evidence yet."""

    id: str
    hypothesis: str
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class StateItem:
    """Something the agent works on: a task, a document, a note, an idea or an open question."""

    id: str
    kind: ItemKind
    title: str
    details: str | None = None
    status: ItemStatus = ItemStatus.ACTIVE
    related_entity_ids: Annotated[tuple[str, ...] | None, Field(alias="relatedEntityIds")] = None
    created_at: Annotated[UtcTime, Field(alias="createdAt")]
    updated_at: Annotated[UtcTime, Field(alias="updatedAt")]


@dataclass(frozen=True, kw_only=True)
class AgentState:
    """What the agent holds true in one session. Lists are in the order in which their members were added."""

    session_id: Annotated[str, Field(alias="sessionId")]
    current_understanding: Understanding = Understanding()
    assumptions: tuple[Assumption, ...] = ()
    expectations: tuple[StateExpectation, ...] = ()
    tentative_hypotheses: tuple[TentativeHypothesis, ...] = ()
    items: tuple[StateItem, ...] = ()
    last_summarized_at: Annotated[UtcTime | None, Field(alias="lastSummarizedAt")] = None
    """When the reflection last changed the state, or old items were last summarized into the journal."""

    def open_entity_ids(self) -> frozenset[str]:
        """Return the ids of entities that an open item or an expectation names; they are dropped last."""
        items = (item.related_entity_ids or () for item in self.items if item.status is ItemStatus.ACTIVE)
        expectations = (expectation.expected_ids or () for expectation in self.expectations)
        return frozenset(id_ for ids in (*items, *expectations) for id_ in ids)


STATE_ADAPTER = TypeAdapter(AgentState)
"""Reads and writes the document as JSON."""


def state_texts(state: AgentState) -> tuple[str, ...]:
    """Return the texts of the state: claims, outcomes, items and the names of entities."""
    return (
        *(entity.name for entity in state.current_understanding.entities if entity.name),
        *(assumption.hypothesis for assumption in state.assumptions),
        *(text for guess in state.tentative_hypotheses for text in (guess.hypothesis, guess.reason or "")),
        *(expectation.expected_outcome for expectation in state.expectations),
        *(text for item in state.items for text in (item.title, item.details or "")),
    )


def is_settling(before: ExpectationStatus, after: ExpectationStatus) -> bool:
    """Say whether an expectation may change from one status to the other: only once, away from pending."""
    return before is ExpectationStatus.PENDING and after is not ExpectationStatus.PENDING


def is_closing(before: ItemStatus, after: ItemStatus) -> bool:
    """Say whether an item may change from one status to the other: only once, away from active."""
    return before is ItemStatus.ACTIVE and after is not ItemStatus.ACTIVE


@dataclass(frozen=True, kw_only=True)
class StateLimits:
    """The most members of each list."""

    entities: int = 200
    dependencies: int = 400
    assumptions: int = 50
    expectations: int = 100
    tentative_hypotheses: int = 50
    items: int = 100
    evidence: int = 20
    """The most pieces of evidence per assumption."""


DEFAULT_LIMITS = StateLimits()

R = TypeVar("R")


def bound_state(state: AgentState, limits: StateLimits = DEFAULT_LIMITS) -> AgentState:
    """Return the agent state with each list cut to its limit, the least needed records dropped.

    Settled records are dropped before open ones, old before new; where everything is open, the newest is not added. An
    entity that an open item or an expectation names is never dropped for another.
    """
    state = replace(
        state,
        assumptions=_keep_most_confident(state.assumptions, limits.assumptions),
        expectations=_keep_open_first(state.expectations, limits.expectations),
        tentative_hypotheses=_keep_newest(state.tentative_hypotheses, limits.tentative_hypotheses),
        items=_keep_active_items(state.items, limits.items),
    )
    entities = _keep_named_entities(state, limits.entities)
    # A dependency goes with a dropped entity; one whose entities were never known is kept.
    dropped = {e.id for e in state.current_understanding.entities} - {e.id for e in entities}
    dependencies = tuple(
        d for d in state.current_understanding.dependencies if d.source not in dropped and d.target not in dropped
    )
    understanding = Understanding(entities=entities, dependencies=_keep_newest(dependencies, limits.dependencies))
    return replace(state, current_understanding=understanding)


def _keep_most_confident(assumptions: tuple[Assumption, ...], limit: int) -> tuple[Assumption, ...]:
    """Return at most `limit` assumptions; the least confident go first, the older of two equals."""
    order = sorted(range(len(assumptions)), key=lambda place: (assumptions[place].confidence, place))
    return _without_indexes(assumptions, order[: max(0, len(assumptions) - limit)])


def _keep_open_first(expectations: tuple[StateExpectation, ...], limit: int) -> tuple[StateExpectation, ...]:
    """Return at most `limit` expectations; confirmed ones go first, then failed, then pending, oldest first."""
    rank = {ExpectationStatus.CONFIRMED: 0, ExpectationStatus.FAILED: 1, ExpectationStatus.PENDING: 2}
    order = sorted(range(len(expectations)), key=lambda place: (rank[expectations[place].status], place))
    return _without_indexes(expectations, order[: max(0, len(expectations) - limit)])


def _keep_active_items(items: tuple[StateItem, ...], limit: int) -> tuple[StateItem, ...]:
    """Return at most `limit` items; the longest settled go first, then the newest open ones."""
    places = range(len(items))
    settled = [place for place in places if items[place].status is not ItemStatus.ACTIVE]
    settled.sort(key=lambda place: (items[place].updated_at, place))
    # Where all are open, what came last is not taken in; the reducer reports it.
    newest_open = [place for place in reversed(places) if items[place].status is ItemStatus.ACTIVE]
    return _without_indexes(items, [*settled, *newest_open][: max(0, len(items) - limit)])


def _keep_named_entities(state: AgentState, limit: int) -> tuple[StateEntity, ...]:
    """Return at most `limit` entities; the oldest that nothing open names go first, then the newest."""
    entities = state.current_understanding.entities
    named = state.open_entity_ids()
    places = range(len(entities))
    free = [place for place in places if entities[place].id not in named]
    newest_named = [place for place in reversed(places) if entities[place].id in named]
    return _without_indexes(entities, [*free, *newest_named][: max(0, len(entities) - limit)])


def _keep_newest(records: tuple[R, ...], limit: int) -> tuple[R, ...]:
    """Return the last `limit` records."""
    return records[max(0, len(records) - limit) :]


def _without_indexes(records: tuple[R, ...], places: list[int]) -> tuple[R, ...]:
    """Return the records except those at these indexes."""
    out = set(places)
    return tuple(record for place, record in enumerate(records) if place not in out)
