"""Whether a tool result is what was expected, and what that changes in the state; without a model.

Structured fields alone decide: ids, type, count, an error, and an invariant in a form that can be checked. Words are
never compared.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from mnemon.agentstate.delta import AssumptionProposal, ExpectationProposal, StateDelta
from mnemon.agentstate.invariant import ComparableResult, InvariantCheck, check_invariant
from mnemon.agentstate.state import AgentState, Dependency, ExpectationStatus, StateEntity, StateExpectation
from mnemon.errors import Invalid
from mnemon.input_checks import parse_json
from mnemon.scope import NewId
from mnemon.turn import Intent, ToolOutcome


class MatchVerdict(StrEnum):
    """Whether a result is what was expected."""

    MATCH = "match"
    MISMATCH = "mismatch"
    SKIP = "skip"
    """Nothing of it can be compared, so that nothing is decided."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The outcome of comparing a result with an expectation."""

    verdict: MatchVerdict
    invariant: InvariantCheck | None
    """None for an expectation without an invariant."""


def match_result(expectation: StateExpectation, result: ToolOutcome) -> MatchVerdict:
    """Return whether a tool result meets the expectation, by the rules of the specification's section 8."""
    return compare_result(expectation, result).verdict


def compare_result(expectation: StateExpectation, result: ToolOutcome) -> Comparison:
    """Compare a tool result with an expectation; return match, mismatch or skip; an error is always a mismatch."""
    given = _comparable_result(result, expectation.expected_type)
    types = _given_types(result)
    invariant = None if expectation.invariant is None else check_invariant(expectation.invariant, given)
    if result.error is not None:
        return Comparison(verdict=MatchVerdict.MISMATCH, invariant=invariant)
    structured = given.ids is not None or types is not None or given.count is not None
    met: list[bool] = []
    # Ids that are expected are required, so a result that is structured and names no ids does not have them. An empty
    # list expects none in particular.
    if expectation.expected_ids and structured:
        met.append(given.ids is not None and given.ids.issuperset(expectation.expected_ids))
    if expectation.expected_type is not None and types is not None:
        met.append(expectation.expected_type in types)
    if expectation.expected_count is not None and given.count is not None:
        met.append(expectation.expected_count == given.count)
    if invariant is not None and invariant is not InvariantCheck.UNCHECKED:
        met.append(invariant is InvariantCheck.HELD)
    verdict = MatchVerdict.SKIP if not met else MatchVerdict.MATCH if all(met) else MatchVerdict.MISMATCH
    return Comparison(verdict=verdict, invariant=invariant)


def _comparable_result(result: ToolOutcome, expected_type: str | None) -> ComparableResult:
    """Return the result's ids and count, inferred from the other fields where they are not given, and its output.

    Entities stand for ids, and ids or entities for a count: of the entities only those of the expected type count, if
    there are any of another one.
    """
    ids = result.ids
    if ids is None and result.entities:
        ids = tuple(entity.id for entity in result.entities)
    count = result.count
    if count is None and result.ids is not None:
        count = len(set(result.ids))
    elif count is None and result.entities:
        of_type = {entity.id for entity in result.entities if entity.kind == expected_type}
        count = len(of_type or {entity.id for entity in result.entities})
    return ComparableResult(ids=None if ids is None else frozenset(ids), count=count, output=result.output)


def _given_types(result: ToolOutcome) -> frozenset[str] | None:
    """Return the result's types, or the kinds of its entities; None if it has neither."""
    if result.types is None and result.entities:
        return frozenset(entity.kind for entity in result.entities)
    return None if result.types is None else frozenset(result.types)


def parse_output(result: ToolOutcome) -> ToolOutcome:
    """Return the tool result with its output parsed if that is the text of a JSON object; else unchanged."""
    if not isinstance(result.output, str):
        return result
    try:
        return replace(result, output=parse_json(result.output))
    except Invalid:
        return result


DISCREPANCY_CONFIDENCE = 0.7
"""The confidence of the assumption that a failed expectation makes."""
_MAX_QUOTE_CHARS = 600


def delta_from_intents(intents: tuple[Intent, ...]) -> StateDelta:
    """Return a delta that adds the planner's intents as pending expectations."""
    return StateDelta(
        expectations=tuple(
            ExpectationProposal(
                action=intent.action,
                expected_outcome=intent.expected_outcome,
                expected_ids=intent.expected_ids,
                expected_type=intent.expected_type,
                expected_count=intent.expected_count,
                invariant=intent.invariant,
                tool_call_id=intent.tool_call_id,
            )
            for intent in intents
        )
    )


def delta_from_calls(expectations: Sequence[StateExpectation], calls: Sequence[tuple[str, str]]) -> StateDelta:
    """Return a delta that links calls (id and action) to the latest pending expectations of their actions.

    An action that is called more often than it is expected stays unlinked: which call is meant shows in the results.
    """
    free = [e for e in expectations if e.status is ExpectationStatus.PENDING and e.tool_call_id is None]
    linked: list[ExpectationProposal] = []
    for action in dict.fromkeys(action for _, action in calls):
        same = [expectation for expectation in free if expectation.action == action]
        of_action = [call for call, called in calls if called == action]
        if len(of_action) <= len(same):
            latest = same[len(same) - len(of_action) :]
            linked += [
                ExpectationProposal(id=one.id, tool_call_id=call) for one, call in zip(latest, of_action, strict=True)
            ]
    return StateDelta(expectations=tuple(linked))


@dataclass(frozen=True, kw_only=True)
class Settlement:
    """What one tool result does to the expectations."""

    result: ToolOutcome
    expectation: StateExpectation | None
    """The expectation it was compared with; None when it answers none."""
    comparison: Comparison | None
    """None when it answers none."""

    @property
    def status(self) -> ExpectationStatus | None:
        """Return the status that the settled expectation takes; None if nothing is settled."""
        if self.comparison is None or self.comparison.verdict is MatchVerdict.SKIP:
            return None
        matched = self.comparison.verdict is MatchVerdict.MATCH
        return ExpectationStatus.CONFIRMED if matched else ExpectationStatus.FAILED


def delta_from_settlement(state: AgentState, settlement: Settlement, *, now: datetime, new_id: NewId) -> StateDelta:
    """Return the delta that a tool result causes: the entities and relations it names, the expectation it settles."""
    result, settled, status = settlement.result, settlement.expectation, settlement.status
    understanding = StateDelta(
        entities=tuple(StateEntity(id=e.id, kind=e.kind, name=e.name) for e in result.entities),
        dependencies=tuple(Dependency(source=d.source, target=d.target, rel=d.rel) for d in result.dependencies),
    )
    if settled is None or status is None or settlement.comparison is None:
        return understanding
    assumptions = (
        # A confirmation contradicts the assumption that an earlier failure of the same expectation made.
        _contradicted_assumptions(state, settled, result)
        if status is ExpectationStatus.CONFIRMED
        else (_discrepancy_assumption(settled, settlement, new_id("asm")),)
    )
    proposal = ExpectationProposal(
        id=settled.id,
        status=status,
        last_checked_at=now,
        settled_by=result_key(result),
        invariant_check=settlement.comparison.invariant,
    )
    return StateDelta(
        entities=understanding.entities,
        dependencies=understanding.dependencies,
        expectations=(proposal,),
        assumptions=assumptions,
    )


def result_key(result: ToolOutcome) -> str:
    """Return the key that identifies a tool result within its session."""
    return result.key or result.id


def is_repeated(expectations: Sequence[StateExpectation], result: ToolOutcome) -> bool:
    """Say whether the same result settled one of the expectations before."""
    return any(expectation.settled_by == result_key(result) for expectation in expectations)


def _discrepancy_assumption(expectation: StateExpectation, settlement: Settlement, id_: str) -> AssumptionProposal:
    """Return the assumption that records a failed expectation: the expected and the actual outcome."""
    return AssumptionProposal(
        id=id_,
        hypothesis=discrepancy_text(expectation, settlement),
        confidence=DISCREPANCY_CONFIDENCE,
        evidence=(settlement.result.id,),
    )


def discrepancy_text(expectation: StateExpectation, settlement: Settlement) -> str:
    """Return a sentence with the expected and the actual outcome, and the invariant that does not hold."""
    text = f'{discrepancy_opening(expectation)}{_clip_text(summarize_result(settlement.result))}"'
    if settlement.comparison is not None and settlement.comparison.invariant is InvariantCheck.BROKEN:
        text += f'; the invariant "{_clip_text(expectation.invariant or "")}" does not hold'
    return text


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
    """Return the opening words of the assumption that a failure of this expectation makes, by which it is found."""
    return f'Expected "{_clip_text(expectation.expected_outcome)}" but got "'


def summarize_result(result: ToolOutcome) -> str:
    """Return a tool result as one line: its error, its structured fields, then the beginning of its output."""
    parts = []
    if result.error is not None:
        parts.append(f"error: {' '.join(result.error.split())[:200] or 'unnamed'}")
    if result.count is not None:
        parts.append(f"count {result.count}")
    if result.ids is not None:
        parts.append(f"ids {', '.join(result.ids) or 'none'}")
    if result.types is not None:
        parts.append(f"types {', '.join(result.types) or 'none'}")
    if result.entities and result.ids is None:
        parts.append(f"entities {', '.join(f'{entity.kind} {entity.id}' for entity in result.entities)}")
    if result.output not in (None, "", [], {}):
        text = result.output if isinstance(result.output, str) else json.dumps(result.output, ensure_ascii=False)
        parts.append(f"output {' '.join(text.split())[:200]}")
    return "; ".join(parts)


def _clip_text(text: str) -> str:
    """Return the text cut to the longest quote allowed, ending in "…" where it was cut."""
    return text if len(text) <= _MAX_QUOTE_CHARS else text[: _MAX_QUOTE_CHARS - 1] + "…"
