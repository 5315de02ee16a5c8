"""L7: what the agent holds true in this session, for the planner, in short lines.

Failures come first, then what is open, then what is assumed and known.
"""

from collections.abc import Iterator

from mnemon.agentstate import store
from mnemon.agentstate.state import (
    AgentState,
    Assumption,
    ExpectationStatus,
    ItemKind,
    ItemStatus,
    StateExpectation,
    StateItem,
)
from mnemon.agentstate.verification import discrepancy_opening
from mnemon.db.tx import Tx
from mnemon.layer import Layer, LayerRequest
from mnemon.layer import LayerItem as Entry

_VALUE_STEP = 0.001
"""How much less each line is worth than the one before it."""


def agent_state_entries(state: AgentState) -> tuple[Entry, ...]:
    """Return prompt entries for the agent state's open records and known entities, most pressing first."""
    return tuple(
        Entry(text=text, sources=sources, value=max(1.0 - place * _VALUE_STEP, _VALUE_STEP))
        for place, (text, sources) in enumerate(_ordered_lines(state))
    )


def _ordered_lines(state: AgentState) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the agent state's prompt lines, most pressing first, each with the record ids it is made from."""
    open_items = [item for item in state.items if item.status is ItemStatus.ACTIVE]
    for expectation in reversed(state.expectations):
        if expectation.status is ExpectationStatus.FAILED:
            yield _failed_line(state, expectation)
    for item in open_items:
        if item.kind is ItemKind.QUESTION:
            yield f"Open question: {_format_item(item)}", (item.id,)
    for expectation in state.expectations:
        if expectation.status is ExpectationStatus.PENDING:
            yield f"Expected of {expectation.action}: {_format_expectation(expectation)}", (expectation.id,)
    for item in open_items:
        if item.kind is not ItemKind.QUESTION:
            yield f"Open {item.kind}: {_format_item(item)}", (item.id,)
    # These stand beside their failed expectation above.
    shown = _failure_assumption_ids(state)
    for assumption in sorted(state.assumptions, key=lambda a: -a.confidence):
        if assumption.id not in shown:
            yield f"Assumed ({assumption.confidence:.2f}): {assumption.hypothesis}", (assumption.id,)
    for tentative in reversed(state.tentative_hypotheses):
        reason = f" ({tentative.reason})" if tentative.reason else ""
        yield f"Possibly: {tentative.hypothesis}{reason}", (tentative.id,)
    yield from _known_lines(state)


def _failed_line(state: AgentState, expectation: StateExpectation) -> tuple[str, tuple[str, ...]]:
    """Return the prompt line of a failed expectation, with what happened instead, and the ids it shows."""
    discrepancy = _find_discrepancy(state, expectation)
    got = f" Assumed ({discrepancy.confidence:.2f}): {discrepancy.hypothesis}" if discrepancy else ""
    sources = (expectation.id, discrepancy.id) if discrepancy else (expectation.id,)
    return f"FAILED expectation of {expectation.action}: {_format_expectation(expectation)}.{got}", sources


def _find_discrepancy(state: AgentState, expectation: StateExpectation) -> Assumption | None:
    """Return the latest assumption that this expectation's failure made; None when there is none."""
    opening = discrepancy_opening(expectation)
    return next((a for a in reversed(state.assumptions) if a.hypothesis.startswith(opening)), None)


def _failure_assumption_ids(state: AgentState) -> set[str]:
    """Return the ids of assumptions that the prompt shows with a failed expectation already."""
    failed = (e for e in state.expectations if e.status is ExpectationStatus.FAILED)
    return {discrepancy.id for e in failed if (discrepancy := _find_discrepancy(state, e)) is not None}


def _format_expectation(expectation: StateExpectation) -> str:
    """Return an expectation as prompt text: the outcome, then count, type, ids and invariant in brackets."""
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


def _format_item(item: StateItem) -> str:
    """Return an item as prompt text: its title, details, and the entities it is about."""
    about = f" (about {', '.join(item.related_entity_ids)})" if item.related_entity_ids else ""
    details = f": {item.details}" if item.details else ""
    return f"{item.title}{details}{about}"


def _known_lines(state: AgentState) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the prompt lines of entities, those that open records name first, then of dependencies; newest first."""
    understanding = state.current_understanding
    named = state.open_entity_ids()
    newest_first = understanding.entities[::-1]
    # The sort is stable: within both groups the newest come first.
    for entity in sorted(newest_first, key=lambda e: e.id not in named):
        name = f" “{entity.name}”" if entity.name else ""
        yield f"Known: {entity.kind} {entity.id}{name}", (entity.id,)
    for dependency in reversed(understanding.dependencies):
        rel = dependency.rel or "relates to"
        yield f"Known: {dependency.source} {rel} {dependency.target}", (dependency.source, dependency.target)


LAYER_OPENING = (
    "What you hold true in this session. An expectation that FAILED means that an action did not do what was planned: "
    "take account of it before you act on. Open questions come next. A number in brackets is how sure an assumption is."
)
"""The layer's opening, part of the prompt."""
BUDGET = 600
"""The layer's budget in tokens."""


async def agent_state_layer(tx: Tx, ask: LayerRequest) -> Layer:
    """Return prompt layer L7, the session's agent state; empty without a session or the permission to see it."""
    empty = Layer(name="L7", title="Agent state", opening=LAYER_OPENING, budget=BUDGET)
    if ask.session_id is None or not ask.sees_agent_state:
        return empty
    held = await store.load_state(tx, ask.scope, ask.session_id)
    return Layer(
        name=empty.name, title=empty.title, opening=LAYER_OPENING, items=agent_state_entries(held.state), budget=BUDGET
    )
