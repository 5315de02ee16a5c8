"""What a plan and a tool result change in the state, without a model.

A plan adds expectations. A result adds the entities it names and settles an expectation: whether it is what was
expected is decided by structured fields alone, never by words.
"""

import json
from datetime import datetime
from enum import StrEnum

from mnemon.agentstate.delta import AssumptionProposal, ExpectationProposal, StateDelta
from mnemon.agentstate.state import AgentState, Dependency, ExpectationStatus, StateEntity, StateExpectation
from mnemon.scope import NewId
from mnemon.turn import Intent, ToolOutcome


class MatchVerdict(StrEnum):
    """Whether a result is what was expected."""

    MATCH = "match"
    MISMATCH = "mismatch"
    SKIP = "skip"
    """They share no structured field, so that nothing can be decided."""


def match_result(expectation: StateExpectation, result: ToolOutcome) -> MatchVerdict:
    """Say whether a tool result meets the expectation, over the fields both have; an empty list and 0 count."""
    matches: list[bool] = []
    if expectation.expected_ids is not None and result.ids is not None:
        # A subset: a result may name more than was expected.
        matches.append(set(expectation.expected_ids) <= set(result.ids))
    if expectation.expected_type is not None and result.types is not None:
        matches.append(expectation.expected_type in result.types)
    if expectation.expected_count is not None and result.count is not None:
        matches.append(expectation.expected_count == result.count)
    if not matches:
        return MatchVerdict.SKIP
    return MatchVerdict.MATCH if all(matches) else MatchVerdict.MISMATCH


DISCREPANCY_CONFIDENCE = 0.7
"""The confidence of the assumption that a failed expectation makes."""
_MAX_QUOTE_CHARS = 600


def delta_from_intents(intents: tuple[Intent, ...]) -> StateDelta:
    """Return the agent state delta that adds what the planner expects, each expectation pending."""
    return StateDelta(
        expectations=tuple(
            ExpectationProposal(
                action=intent.action,
                expected_outcome=intent.expected_outcome,
                expected_ids=intent.expected_ids,
                expected_type=intent.expected_type,
                expected_count=intent.expected_count,
                invariant=intent.invariant,
            )
            for intent in intents
        )
    )


def delta_from_result(state: AgentState, result: ToolOutcome, *, now: datetime, new_id: NewId) -> StateDelta:
    """Return a tool result's agent state delta: entities and relations it names, the expectation it settles.

    A result settles at most one expectation: the first pending one of its action that it can be compared with. One
    that it cannot be compared with stays pending and does not block those after it.
    """
    settled, verdict = _next_settled_expectation(state, result)
    understanding = StateDelta(
        entities=tuple(StateEntity(id=e.id, kind=e.kind, name=e.name) for e in result.entities),
        dependencies=tuple(Dependency(source=d.source, target=d.target, rel=d.rel) for d in result.dependencies),
    )
    if settled is None:
        return understanding
    status = ExpectationStatus.CONFIRMED if verdict is MatchVerdict.MATCH else ExpectationStatus.FAILED
    assumptions = (
        # A confirmation contradicts the assumption that an earlier failure of the same expectation made.
        _contradicted_assumptions(state, settled, result)
        if verdict is MatchVerdict.MATCH
        else (_discrepancy_assumption(settled, result, new_id("asm")),)
    )
    return StateDelta(
        entities=understanding.entities,
        dependencies=understanding.dependencies,
        expectations=(ExpectationProposal(id=settled.id, status=status, last_checked_at=now),),
        assumptions=assumptions,
    )


def _next_settled_expectation(state: AgentState, result: ToolOutcome) -> tuple[StateExpectation | None, MatchVerdict]:
    """Return the pending expectation that the tool result settles, with the verdict; None when it settles none."""
    for expectation in state.expectations:
        if expectation.status is ExpectationStatus.PENDING and expectation.action == result.action:
            verdict = match_result(expectation, result)
            if verdict is not MatchVerdict.SKIP:
                return expectation, verdict
    return None, MatchVerdict.SKIP


def _discrepancy_assumption(expectation: StateExpectation, result: ToolOutcome, id_: str) -> AssumptionProposal:
    """Return the assumption that a failed expectation leads to: what was expected, and what came instead."""
    return AssumptionProposal(
        id=id_,
        hypothesis=f'{discrepancy_opening(expectation)}{_clip_text(summarize_result(result))}"',
        confidence=DISCREPANCY_CONFIDENCE,
        evidence=(result.id,),
    )


def _contradicted_assumptions(
    state: AgentState, expectation: StateExpectation, result: ToolOutcome
) -> tuple[AssumptionProposal, ...]:
    """Return evidence against the assumptions that earlier failures of this expectation had made."""
    return tuple(
        AssumptionProposal(id=assumption.id, contradicted_by=(result.id,))
        for assumption in state.assumptions
        # The wording is all that links the two: neither record has a field for the other's id.
        if assumption.hypothesis.startswith(discrepancy_opening(expectation))
    )


def discrepancy_opening(expectation: StateExpectation) -> str:
    """Return the first words of the assumption that a failure of this expectation makes, to find it again."""
    return f'Expected "{_clip_text(expectation.expected_outcome)}" but got "'


def summarize_result(result: ToolOutcome) -> str:
    """Return a tool result in one line: its structured fields, then the beginning of its output."""
    parts = []
    if result.count is not None:
        parts.append(f"count {result.count}")
    if result.ids is not None:
        parts.append(f"ids {', '.join(result.ids) or 'none'}")
    if result.types is not None:
        parts.append(f"types {', '.join(result.types) or 'none'}")
    if result.output not in (None, "", [], {}):
        text = result.output if isinstance(result.output, str) else json.dumps(result.output, ensure_ascii=False)
        parts.append(f"output {' '.join(text.split())[:200]}")
    return "; ".join(parts)


def _clip_text(text: str) -> str:
    """Return the text cut to the longest quote allowed, ending in "…" where it was cut."""
    return text if len(text) <= _MAX_QUOTE_CHARS else text[: _MAX_QUOTE_CHARS - 1] + "…"
