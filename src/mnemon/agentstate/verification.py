"""What a tool result and a plan change in the state, without a model: understanding, and expectations settled."""

import json
from datetime import datetime

from mnemon.agentstate.delta import AssumptionProposal, Delta, ExpectationProposal
from mnemon.agentstate.matcher import Verdict, judge
from mnemon.agentstate.state import AgentState, Dependency, Entity, Expectation, ExpectationStatus
from mnemon.ids import NewId
from mnemon.turn import Intent, ToolOutcome

DISCREPANCY_CONFIDENCE = 0.7
_LONGEST_QUOTE = 600


def planned(intents: tuple[Intent, ...]) -> Delta:
    """The delta that adds what the planner expects, each expectation pending."""
    return Delta(
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


def learned(state: AgentState, result: ToolOutcome, *, now: datetime, new_id: NewId) -> Delta:
    """The delta of one tool result: the entities and relations it names, and the expectation it settles.

    A result settles at most one expectation: the first pending one of its action that it can be compared with.
    One that it cannot be compared with stays pending and does not hold up those behind it.
    """
    settled, verdict = _next_settled(state, result)
    understanding = Delta(
        entities=tuple(Entity(id=e.id, kind=e.kind, name=e.name) for e in result.entities),
        dependencies=tuple(Dependency(source=d.source, target=d.target, rel=d.rel) for d in result.dependencies),
    )
    if settled is None:
        return understanding
    status = ExpectationStatus.CONFIRMED if verdict is Verdict.MATCH else ExpectationStatus.FAILED
    assumptions = (
        _disproved(state, settled, result)
        if verdict is Verdict.MATCH
        else (_discrepancy(settled, result, new_id("asm")),)
    )
    return Delta(
        entities=understanding.entities,
        dependencies=understanding.dependencies,
        expectations=(ExpectationProposal(id=settled.id, status=status, last_checked_at=now),),
        assumptions=assumptions,
    )


def _next_settled(state: AgentState, result: ToolOutcome) -> tuple[Expectation | None, Verdict]:
    for expectation in state.expectations:
        if expectation.status is ExpectationStatus.PENDING and expectation.action == result.action:
            verdict = judge(expectation, result)
            if verdict is not Verdict.SKIP:
                return expectation, verdict
    return None, Verdict.SKIP


def _discrepancy(expectation: Expectation, result: ToolOutcome, id_: str) -> AssumptionProposal:
    return AssumptionProposal(
        id=id_,
        hypothesis=f'{discrepancy_opening(expectation)}{_clip(summarize(result))}"',
        confidence=DISCREPANCY_CONFIDENCE,
        evidence=(result.id,),
    )


def _disproved(state: AgentState, expectation: Expectation, result: ToolOutcome) -> tuple[AssumptionProposal, ...]:
    """An outcome that now came true contradicts the assumptions that said it does not."""
    return tuple(
        AssumptionProposal(id=assumption.id, contradicted_by=(result.id,))
        for assumption in state.assumptions
        if assumption.hypothesis.startswith(discrepancy_opening(expectation))
    )


def discrepancy_opening(expectation: Expectation) -> str:
    """How the assumption begins that a failure of this expectation makes."""
    return f'Expected "{_clip(expectation.expected_outcome)}" but got "'


def summarize(result: ToolOutcome) -> str:
    """The result in a line: its structured fields, then the beginning of its output."""
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


def _clip(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + "…"
