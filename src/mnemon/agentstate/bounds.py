"""How much a document may hold, and what makes room when it is full."""

from dataclasses import dataclass, replace
from typing import TypeVar

from mnemon.agentstate.state import (
    AgentState,
    Assumption,
    Entity,
    Expectation,
    ExpectationStatus,
    Item,
    ItemStatus,
    Understanding,
)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Most members of each list."""

    entities: int = 200
    dependencies: int = 400
    assumptions: int = 50
    expectations: int = 100
    tentative_hypotheses: int = 50
    items: int = 100
    evidence: int = 20
    """Pieces kept per assumption."""


LIMITS = Limits()

R = TypeVar("R")


def bounded(state: AgentState, limits: Limits = LIMITS) -> AgentState:
    """The state within its limits.

    Settled things make room before open ones, old before new; where everything is open, what came last is not taken in.
    An entity that an open item or an expectation names is never dropped for another.
    """
    state = replace(
        state,
        assumptions=_most_sure(state.assumptions, limits.assumptions),
        expectations=_open_first(state.expectations, limits.expectations),
        tentative_hypotheses=_newest(state.tentative_hypotheses, limits.tentative_hypotheses),
        items=_unsettled(state.items, limits.items),
    )
    entities = _named(state, limits.entities)
    dropped = {e.id for e in state.current_understanding.entities} - {e.id for e in entities}
    dependencies = tuple(
        d for d in state.current_understanding.dependencies if d.source not in dropped and d.target not in dropped
    )
    understanding = Understanding(entities=entities, dependencies=_newest(dependencies, limits.dependencies))
    return replace(state, current_understanding=understanding)


def _most_sure(assumptions: tuple[Assumption, ...], limit: int) -> tuple[Assumption, ...]:
    """The least confident go first, the older of two equals before the newer."""
    order = sorted(range(len(assumptions)), key=lambda place: (assumptions[place].confidence, place))
    return _without(assumptions, order[: max(0, len(assumptions) - limit)])


def _open_first(expectations: tuple[Expectation, ...], limit: int) -> tuple[Expectation, ...]:
    """Confirmed ones go first, then failed, then pending; within each the oldest."""
    rank = {ExpectationStatus.CONFIRMED: 0, ExpectationStatus.FAILED: 1, ExpectationStatus.PENDING: 2}
    order = sorted(range(len(expectations)), key=lambda place: (rank[expectations[place].status], place))
    return _without(expectations, order[: max(0, len(expectations) - limit)])


def _unsettled(items: tuple[Item, ...], limit: int) -> tuple[Item, ...]:
    """Settled ones go first, the longest settled before the others; then the newest open ones."""
    places = range(len(items))
    settled = [place for place in places if items[place].status is not ItemStatus.ACTIVE]
    settled.sort(key=lambda place: (items[place].updated_at, place))
    newest_open = [place for place in reversed(places) if items[place].status is ItemStatus.ACTIVE]
    return _without(items, [*settled, *newest_open][: max(0, len(items) - limit)])


def _named(state: AgentState, limit: int) -> tuple[Entity, ...]:
    """The oldest that nothing open names go first; then the newest."""
    entities = state.current_understanding.entities
    named = state.named_by_open()
    places = range(len(entities))
    free = [place for place in places if entities[place].id not in named]
    newest_named = [place for place in reversed(places) if entities[place].id in named]
    return _without(entities, [*free, *newest_named][: max(0, len(entities) - limit)])


def _newest(records: tuple[R, ...], limit: int) -> tuple[R, ...]:
    return records[max(0, len(records) - limit) :]


def _without(records: tuple[R, ...], places: list[int]) -> tuple[R, ...]:
    out = set(places)
    return tuple(record for place, record in enumerate(records) if place not in out)
