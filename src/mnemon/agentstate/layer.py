"""L7: what the agent holds true in this session, for the planner, in short lines.

Failures come first, then what is open, then what is assumed and known. A failure is shown until a later result of the
same action is as expected.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from mnemon.agentstate import store
from mnemon.agentstate.state import (
    AgentState,
    Assumption,
    ExpectationStatus,
    ItemKind,
    ItemStatus,
    StateExpectation,
    StateItem,
    state_texts,
)
from mnemon.agentstate.verification import discrepancy_opening
from mnemon.db.tx import Tx
from mnemon.event_loop import run_off_loop
from mnemon.evidence.message_words import MessageWords
from mnemon.layer import Layer, LayerRequest
from mnemon.layer import LayerItem as Entry

_STEP = 0.01
"""How much less each line of a kind is worth than the one before it."""
_URGENT_FAILURES = 3
"""The latest failures that are shown whatever else is left out; older ones count below what is open."""
_RELEVANCE = 2.0
"""What a line gains that shares all its words with the message."""

_Line = tuple[str, tuple[str, ...]]
"""The text of a prompt line, and the ids of the records it is made from."""


def agent_state_entries(state: AgentState, message: str = "") -> tuple[Entry, ...]:
    """Return prompt entries for what the agent state holds open or known: by kind, the newest of each first.

    What a line is worth depends on its kind, on how much it has to do with the message, and on its age.
    """
    words = MessageWords(message)
    entries: list[Entry] = []
    for place, (text, sources) in enumerate(_failed_lines(state)):
        urgent = place < _URGENT_FAILURES
        value = (9.0 if urgent else 4.0) + _RELEVANCE * words.relevance(text) - place * _STEP
        entries.append(Entry(text=text, sources=sources, value=value, urgent=urgent))
    for worth, lines in _open_and_known(state):
        entries += [
            Entry(text=text, sources=sources, value=worth + _RELEVANCE * words.relevance(text) - place * _STEP)
            for place, (text, sources) in enumerate(lines)
        ]
    return tuple(entries)


def outstanding_failures(state: AgentState) -> tuple[StateExpectation, ...]:
    """Return the failed expectations, newest first, whose action has not met an expectation since."""
    succeeded: dict[str, datetime] = {}
    for expectation in state.expectations:
        at = expectation.last_checked_at
        if expectation.status is ExpectationStatus.CONFIRMED and at is not None:
            succeeded[expectation.action] = max(at, succeeded.get(expectation.action, at))
    failed = (e for e in state.expectations if e.status is ExpectationStatus.FAILED)
    outstanding = [e for e in failed if not _is_retired(e, succeeded.get(e.action))]
    # Oldest first, then turned around: of one moment the later in the list comes first.
    return tuple(sorted(outstanding, key=_checked_at)[::-1])


def _is_retired(failed: StateExpectation, success: datetime | None) -> bool:
    """Say whether a later success of the same action retires the failure."""
    return success is not None and (failed.last_checked_at is None or success > failed.last_checked_at)


def _checked_at(expectation: StateExpectation) -> float:
    """Return when the expectation was settled, for sorting; what has no time is the oldest."""
    return expectation.last_checked_at.timestamp() if expectation.last_checked_at else 0.0


def _failed_lines(state: AgentState) -> Iterator[_Line]:
    """Yield a prompt line with its ids for each failed expectation that no later success retired, newest first."""
    for expectation in outstanding_failures(state):
        yield _failed_line(state, expectation)


def _open_and_known(state: AgentState) -> Iterator[tuple[float, Iterable[_Line]]]:
    """Yield what a kind of line is worth, with its lines, most pressing kind first and newest first within it."""
    newest_first = [item for item in reversed(state.items) if item.status is ItemStatus.ACTIVE]
    pending = [e for e in reversed(state.expectations) if e.status is ExpectationStatus.PENDING]
    # These stand beside their failed expectation, or are refuted by a later success.
    shown = _failure_assumption_ids(state)
    assumed = sorted((a for a in state.assumptions if a.id not in shown), key=lambda a: -a.confidence)
    yield 6.0, [(f"Open question: {_format_item(i)}", (i.id,)) for i in newest_first if i.kind is ItemKind.QUESTION]
    yield 5.8, [(f"Expected of {e.action}: {_format_expectation(e)}", (e.id,)) for e in pending]
    yield 5.5, [(f"Open {i.kind}: {_format_item(i)}", (i.id,)) for i in newest_first if i.kind is not ItemKind.QUESTION]
    yield 3.5, [(f"Assumed ({a.confidence:.2f}): {a.hypothesis}", (a.id,)) for a in assumed]
    yield (
        2.5,
        [
            (f"Possibly: {t.hypothesis}{f' ({t.reason})' if t.reason else ''}", (t.id,))
            for t in reversed(state.tentative_hypotheses)
        ],
    )
    yield 1.5, _known_lines(state)


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
RESERVE = 0.1
"""The share of the whole budget that it keeps."""


async def agent_state_layer(tx: Tx, ask: LayerRequest) -> Layer:
    """Return prompt layer L7, the session's agent state; empty without a session or the permission to see it."""
    empty = Layer(
        name="L7", title="Agent state", opening=LAYER_OPENING, budget=BUDGET, reserve=RESERVE, ask="get_state"
    )
    if ask.state_of is None or not ask.sees_agent_state:
        return empty
    held = await store.load_state(tx, ask.scope, ask.state_of)
    if not held.version:
        return empty
    # Up to 900 records are compared with the message.
    size = sum(map(len, state_texts(held.state)))
    return replace(empty, items=await run_off_loop(size, lambda: agent_state_entries(held.state, ask.query)))
