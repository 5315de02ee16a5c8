"""The state as a planner reads it: short lines, what went wrong and what is open first."""

from collections.abc import Iterator

from mnemon.agentstate.state import (
    AgentState,
    Assumption,
    Expectation,
    ExpectationStatus,
    Item,
    ItemKind,
    ItemStatus,
)
from mnemon.agentstate.verification import discrepancy_opening
from mnemon.layer import Item as Entry

_STEP = 0.001


def lines(state: AgentState) -> tuple[Entry, ...]:
    """One entry per thing held, the most pressing first; its value falls with its place."""
    return tuple(
        Entry(text=text, sources=sources, value=max(1.0 - place * _STEP, _STEP))
        for place, (text, sources) in enumerate(_ordered(state))
    )


def _ordered(state: AgentState) -> Iterator[tuple[str, tuple[str, ...]]]:
    open_items = [item for item in state.items if item.status is ItemStatus.ACTIVE]
    for expectation in reversed(state.expectations):
        if expectation.status is ExpectationStatus.FAILED:
            yield _failed(state, expectation)
    for item in open_items:
        if item.kind is ItemKind.QUESTION:
            yield f"Open question: {_item(item)}", (item.id,)
    for expectation in state.expectations:
        if expectation.status is ExpectationStatus.PENDING:
            yield f"Expected of {expectation.action}: {_expectation(expectation)}", (expectation.id,)
    for item in open_items:
        if item.kind is not ItemKind.QUESTION:
            yield f"Open {item.kind}: {_item(item)}", (item.id,)
    told = _told_by_failures(state)
    for assumption in sorted(state.assumptions, key=lambda a: -a.confidence):
        if assumption.id not in told:
            yield f"Assumed ({assumption.confidence:.2f}): {assumption.hypothesis}", (assumption.id,)
    for guess in reversed(state.tentative_hypotheses):
        reason = f" ({guess.reason})" if guess.reason else ""
        yield f"Possibly: {guess.hypothesis}{reason}", (guess.id,)
    yield from _known(state)


def _failed(state: AgentState, expectation: Expectation) -> tuple[str, tuple[str, ...]]:
    told = _discrepancy(state, expectation)
    got = f" Assumed ({told.confidence:.2f}): {told.hypothesis}" if told else ""
    sources = (expectation.id, told.id) if told else (expectation.id,)
    return f"FAILED expectation of {expectation.action}: {_expectation(expectation)}.{got}", sources


def _discrepancy(state: AgentState, expectation: Expectation) -> Assumption | None:
    opening = discrepancy_opening(expectation)
    return next((a for a in reversed(state.assumptions) if a.hypothesis.startswith(opening)), None)


def _told_by_failures(state: AgentState) -> set[str]:
    failed = (e for e in state.expectations if e.status is ExpectationStatus.FAILED)
    return {told.id for e in failed if (told := _discrepancy(state, e)) is not None}


def _expectation(expectation: Expectation) -> str:
    details = []
    if expectation.expected_count is not None:
        details.append(f"count {expectation.expected_count}")
    if expectation.expected_type is not None:
        details.append(f"type {expectation.expected_type}")
    if expectation.expected_ids is not None:
        details.append(f"ids {', '.join(expectation.expected_ids) or 'none'}")
    if expectation.invariant is not None:
        details.append(f"invariant: {expectation.invariant}")
    return expectation.expected_outcome + (f" [{'; '.join(details)}]" if details else "")


def _item(item: Item) -> str:
    about = f" (about {', '.join(item.related_entity_ids)})" if item.related_entity_ids else ""
    details = f": {item.details}" if item.details else ""
    return f"{item.title}{details}{about}"


def _known(state: AgentState) -> Iterator[tuple[str, tuple[str, ...]]]:
    understanding = state.current_understanding
    named = state.named_by_open()
    newest_first = understanding.entities[::-1]
    for entity in sorted(newest_first, key=lambda e: e.id not in named):
        name = f" “{entity.name}”" if entity.name else ""
        yield f"Known: {entity.kind} {entity.id}{name}", (entity.id,)
    for dependency in reversed(understanding.dependencies):
        rel = dependency.rel or "relates to"
        yield f"Known: {dependency.source} {rel} {dependency.target}", (dependency.source, dependency.target)
