"""How assumptions change: by contradiction, by new evidence, and when a tentative hypothesis finds evidence."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from mnemon.agentstate.delta import AssumptionProposal, TentativeProposal
from mnemon.agentstate.state import AgentState, Assumption, StateLimits, TentativeHypothesis
from mnemon.evidence.confidence import Stance, Strength, update_confidence
from mnemon.scope import NewId
from mnemon.section import Rejection

UNSTATED_CONFIDENCE = 0.5
"""The confidence of a new assumption that states none."""
_MAX_CONFIDENCE = 0.99
"""The most a confidence counts as before it is lowered: from certainty, a step would hardly lower it."""

B = TypeVar("B", Assumption, TentativeHypothesis)


@dataclass(frozen=True, kw_only=True)
class StateBeliefs:
    """Assumptions and tentative hypotheses by id, and what was rejected."""

    assumptions: dict[str, Assumption]
    tentative: dict[str, TentativeHypothesis]
    reported: list[Rejection]


def apply_belief_proposals(
    state: AgentState,
    tentative: Iterable[TentativeProposal],
    assumptions: Iterable[AssumptionProposal],
    *,
    new_id: NewId,
    limits: StateLimits,
) -> StateBeliefs:
    """Apply proposed assumptions and tentative hypotheses to a state's beliefs; return them and the rejections.

    Tentative hypotheses come first, so that the same delta can bring a hypothesis and the evidence for it.
    """
    beliefs = StateBeliefs(
        assumptions={a.id: a for a in state.assumptions},
        tentative={t.id: t for t in state.tentative_hypotheses},
        reported=[],
    )
    for hypothesis in tentative:
        _apply_tentative(beliefs, hypothesis, new_id)
    for proposal in assumptions:
        _apply_assumption(beliefs, proposal, new_id, limits)
    return beliefs


def contradicted_confidence(confidence: float, pieces: int) -> float:
    """Return an assumption's confidence after this many distinct pieces of evidence against it."""
    for _ in range(pieces):
        confidence = update_confidence(min(confidence, _MAX_CONFIDENCE), Stance.CONTRADICTS, Strength.MODERATE)
    return round(confidence, 6)


def _apply_tentative(beliefs: StateBeliefs, proposal: TentativeProposal, new_id: NewId) -> None:
    """Add or reword a tentative hypothesis in `beliefs`, unless an assumption says the same."""
    same = _find_by_wording(beliefs.tentative.values(), proposal.hypothesis) if proposal.id is None else None
    id_ = proposal.id or (same.id if same else new_id("ten"))
    if id_ in beliefs.assumptions or (
        proposal.id is None and _find_by_wording(beliefs.assumptions.values(), proposal.hypothesis)
    ):
        beliefs.reported.append(Rejection(what=f"tentative hypothesis {id_}", why="it is an assumption already"))
        return
    held = beliefs.tentative.get(id_)
    reason = proposal.reason if proposal.reason is not None or held is None else held.reason
    beliefs.tentative[id_] = TentativeHypothesis(id=id_, hypothesis=proposal.hypothesis, reason=reason)


def _apply_assumption(beliefs: StateBeliefs, proposal: AssumptionProposal, new_id: NewId, limits: StateLimits) -> None:
    """In `beliefs`, update the assumption, turn a tentative hypothesis with evidence into one, or add it."""
    held = _find_assumption(beliefs, proposal)
    if held is not None:
        beliefs.assumptions[held.id] = _update_assumption(held, proposal, limits, beliefs.reported)
        return
    tentative = _find_tentative(beliefs, proposal)
    if tentative is None:
        if proposal.hypothesis is None:
            beliefs.reported.append(Rejection(what=f"assumption {proposal.id}", why="there is none with this id"))
            return
        id_, hypothesis = proposal.id or new_id("asm"), proposal.hypothesis
    elif not _evidence_ids(proposal):
        why = "a tentative hypothesis becomes an assumption when it has evidence; name some"
        beliefs.reported.append(Rejection(what=f"assumption {proposal.id or tentative.id}", why=why))
        return
    else:
        id_, hypothesis = proposal.id or tentative.id, proposal.hypothesis or tentative.hypothesis
        # A claim is an assumption or a tentative hypothesis, never both.
        del beliefs.tentative[tentative.id]
    stated = UNSTATED_CONFIDENCE if proposal.confidence is None else proposal.confidence
    against = _merge_evidence(proposal.contradicted_by, (), limits)
    beliefs.assumptions[id_] = Assumption(
        id=id_,
        hypothesis=hypothesis,
        confidence=contradicted_confidence(stated, len(against)),
        evidence=_merge_evidence(_evidence_ids(proposal), (), limits),
        contradicted_by=against or None,
    )


def _update_assumption(
    held: Assumption, proposal: AssumptionProposal, limits: StateLimits, reported: list[Rejection]
) -> Assumption:
    """Return the held assumption with the proposal's evidence; only evidence against it changes its confidence."""
    fresh = tuple(piece for piece in proposal.evidence if piece not in held.evidence)
    # Compared as the API shows it, so that a proposal that repeats the number it was shown changes nothing.
    shown = round(held.confidence, 2)
    lower = proposal.confidence is not None and proposal.confidence < shown
    if proposal.confidence is not None and proposal.confidence != shown and not (lower and fresh):
        why = "confidence changes on contradiction: name evidence that speaks against it"
        reported.append(Rejection(what=f"confidence {proposal.confidence:g} of assumption {held.id}", why=why))
    counted_before = held.contradicted_by or ()
    # A lower confidence that comes with new evidence means the same as naming that evidence in `contradicted_by`.
    against = dict.fromkeys((*proposal.contradicted_by, *(fresh if lower else ())))
    counted = [piece for piece in against if piece not in counted_before]
    return replace(
        held,
        hypothesis=proposal.hypothesis or held.hypothesis,
        confidence=contradicted_confidence(held.confidence, len(counted)) if counted else held.confidence,
        evidence=_merge_evidence(held.evidence, _evidence_ids(proposal), limits),
        contradicted_by=_merge_evidence(counted_before, counted, limits) or None,
    )


def _find_assumption(beliefs: StateBeliefs, proposal: AssumptionProposal) -> Assumption | None:
    """Return the assumption that the proposal means, by its id, else by equal wording; None without one."""
    if proposal.id is not None:
        return beliefs.assumptions.get(proposal.id)
    return _find_by_wording(beliefs.assumptions.values(), proposal.hypothesis)


def _find_tentative(beliefs: StateBeliefs, proposal: AssumptionProposal) -> TentativeHypothesis | None:
    """Return the tentative hypothesis that the proposal means, by its id or equal wording; None without one."""
    if proposal.id is not None and proposal.id in beliefs.tentative:
        return beliefs.tentative[proposal.id]
    return _find_by_wording(beliefs.tentative.values(), proposal.hypothesis)


def _find_by_wording(records: Iterable[B], wording: str | None) -> B | None:
    """Return the assumption or hypothesis with the same text, ignoring case and spaces; None for similar ones."""
    if wording is None:
        return None
    sought = " ".join(wording.casefold().split())
    return next((r for r in records if " ".join(r.hypothesis.casefold().split()) == sought), None)


def _evidence_ids(proposal: AssumptionProposal) -> tuple[str, ...]:
    """Return all evidence that an assumption's proposal names: for it, then against it."""
    return (*proposal.evidence, *proposal.contradicted_by)


def _merge_evidence(current: Iterable[str], more: Iterable[str], limits: StateLimits) -> tuple[str, ...]:
    """Return the distinct pieces of evidence, old then new; the oldest go when there are too many."""
    return tuple(dict.fromkeys((*current, *more)))[-limits.evidence :]
