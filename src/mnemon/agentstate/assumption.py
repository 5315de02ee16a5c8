"""How assumptions change: by contradiction, by new evidence, and when a tentative hypothesis finds evidence.

What an application, a plan or a tool proposes is taken as it is. What a model proposes must cite messages or tool
results of the session that say it, and these decide its confidence. A claim keeps its id: another claim under the same
id becomes a record of its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from mnemon.agentstate.cited_evidence import CitedEvidence
from mnemon.agentstate.claim import MAX_CONFIDENCE, is_same_claim, same_wording, supported_confidence
from mnemon.agentstate.delta import AssumptionProposal, TentativeProposal
from mnemon.agentstate.state import AgentState, Assumption, StateLimits, TentativeHypothesis
from mnemon.evidence.confidence import START_CONFIDENCE, Stance, Strength, update_confidence
from mnemon.scope import NewId
from mnemon.section import Rejection

_LONGEST_SHOWN = 80
NOT_KNOWN = "there is no message or tool result {} in this session"
MAY_BE_TENTATIVE = "cite a message or tool result that says it, or propose it as a tentative hypothesis"

B = TypeVar("B", Assumption, TentativeHypothesis)


@dataclass(frozen=True, kw_only=True)
class StateBeliefs:
    """Assumptions and tentative hypotheses by id, and what was rejected."""

    assumptions: dict[str, Assumption]
    tentative: dict[str, TentativeHypothesis]
    reported: list[Rejection]
    cited: CitedEvidence | None
    """What a model's proposals may cite; None when somebody else proposes."""
    new_id: NewId
    limits: StateLimits

    def reject(self, what: str, why: str) -> None:
        """Record a proposal as rejected, with the reason."""
        self.reported.append(Rejection(what=what, why=why))


def apply_belief_proposals(
    state: AgentState,
    tentative: Iterable[TentativeProposal],
    assumptions: Iterable[AssumptionProposal],
    *,
    cited: CitedEvidence | None = None,
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
        cited=cited,
        new_id=new_id,
        limits=limits,
    )
    for hypothesis in tentative:
        _apply_tentative(beliefs, hypothesis)
    for proposal in assumptions:
        _apply_assumption(beliefs, proposal)
    return beliefs


def contradicted_confidence(confidence: float, pieces: int) -> float:
    """Return an assumption's confidence after this many distinct pieces of evidence against it."""
    for _ in range(pieces):
        confidence = update_confidence(min(confidence, MAX_CONFIDENCE), Stance.CONTRADICTS, Strength.MODERATE)
    return round(confidence, 6)


def _apply_tentative(beliefs: StateBeliefs, proposal: TentativeProposal) -> None:
    """Add or reword a tentative hypothesis, unless it is an assumption already."""
    taken = _holds_other_claim(beliefs, proposal.id, proposal.hypothesis)
    named = None if taken else proposal.id
    same = _find_by_wording(beliefs.tentative.values(), proposal.hypothesis) if named is None else None
    if beliefs.cited and (fault := beliefs.cited.figure_fault(f"{proposal.hypothesis}\n{proposal.reason or ''}")):
        beliefs.reject(f"tentative hypothesis {proposal.hypothesis[:_LONGEST_SHOWN]}", fault)
        return
    if named in beliefs.assumptions or (
        named is None and _find_by_wording(beliefs.assumptions.values(), proposal.hypothesis)
    ):
        beliefs.reject(f"tentative hypothesis {proposal.id or ''}".rstrip(), "it is an assumption already")
        return
    id_ = named or (same.id if same else beliefs.new_id("ten"))
    held = beliefs.tentative.get(id_)
    reason = proposal.reason if proposal.reason is not None or held is None else held.reason
    beliefs.tentative[id_] = TentativeHypothesis(id=id_, hypothesis=proposal.hypothesis, reason=reason)
    if taken:
        beliefs.reject(f"id {proposal.id}", f"it keeps its own claim; the new one is tentative hypothesis {id_}")


def _apply_assumption(beliefs: StateBeliefs, proposal: AssumptionProposal) -> None:
    """Update the assumption that a proposal names, make a tentative hypothesis an assumption, or add a new one."""
    taken = proposal.id if _holds_other_claim(beliefs, proposal.id, proposal.hypothesis) else None
    if taken is not None:
        proposal = replace(proposal, id=None)
    held = _find_assumption(beliefs, proposal)
    known = () if held is None else held.evidence
    name = proposal.id or (proposal.hypothesis or "")[:_LONGEST_SHOWN]
    if unknown := _unknown_ids(beliefs, proposal, known):
        beliefs.reject(f"assumption {name}", NOT_KNOWN.format(", ".join(unknown)))
        return
    made = _update_assumption(beliefs, held, proposal) if held else _new_assumption(beliefs, proposal, name)
    if made is not None:
        beliefs.assumptions[made.id] = made
        if taken is not None:
            beliefs.reject(f"id {taken}", f"it keeps its own claim; the new one is assumption {made.id}")


def _new_assumption(beliefs: StateBeliefs, proposal: AssumptionProposal, name: str) -> Assumption | None:
    """Return the assumption that a proposal makes, new or from a tentative hypothesis; None if it may not be made."""
    tentative = _find_tentative(beliefs, proposal)
    claim = proposal.hypothesis or (tentative.hypothesis if tentative else None)
    if claim is None:
        beliefs.reject(f"assumption {name}", "there is none with this id")
        return None
    if tentative is not None and not _evidence_ids(proposal):
        why = "a tentative hypothesis becomes an assumption when it has evidence; name some"
        beliefs.reject(f"assumption {proposal.id or tentative.id}", why)
        return None
    supporting = _supporting_pieces(beliefs, claim, proposal.evidence)
    confidence = START_CONFIDENCE if proposal.confidence is None else proposal.confidence
    if beliefs.cited is not None:
        if not supporting:
            fault = _first_fault(beliefs.cited, claim, proposal.evidence)
            beliefs.reject(f"assumption {name}", f"{fault}; {MAY_BE_TENTATIVE}")
            return None
        earned = supported_confidence(START_CONFIDENCE, (), map(beliefs.cited.source_key, supporting))
        # A model may be less sure than its evidence, never surer.
        confidence = earned if proposal.confidence is None else min(earned, proposal.confidence)
    if tentative is not None:
        # A claim is an assumption or a tentative hypothesis, never both.
        del beliefs.tentative[tentative.id]
    against = _merge_evidence(proposal.contradicted_by, (), beliefs.limits)
    return Assumption(
        id=proposal.id or (tentative.id if tentative else beliefs.new_id("asm")),
        hypothesis=claim,
        confidence=contradicted_confidence(confidence, len(against)),
        evidence=_merge_evidence(supporting, proposal.contradicted_by, beliefs.limits),
        contradicted_by=against or None,
    )


def _update_assumption(beliefs: StateBeliefs, held: Assumption, proposal: AssumptionProposal) -> Assumption:
    """Return the assumption with the proposal's evidence added and its confidence recomputed."""
    fresh = tuple(dict.fromkeys(piece for piece in proposal.evidence if piece not in held.evidence))
    shown = round(held.confidence, 2)
    lower = proposal.confidence is not None and proposal.confidence < shown
    if proposal.confidence is not None and proposal.confidence != shown and not (lower and fresh):
        why = "confidence follows from evidence: a contradiction needs the ids of what speaks against it"
        beliefs.reject(f"confidence {proposal.confidence:g} of assumption {held.id}", why)
    counted_before = held.contradicted_by or ()
    # A lower confidence that comes with new evidence means the same as naming that evidence in `contradicted_by`.
    against = dict.fromkeys((*proposal.contradicted_by, *(fresh if lower else ())))
    counted = [piece for piece in against if piece not in counted_before]
    offered = [piece for piece in fresh if piece not in against]
    supporting = _supporting_pieces(beliefs, held.hypothesis, offered)
    for piece in offered:
        if piece not in supporting:
            beliefs.reject(f"evidence {piece} of assumption {held.id}", "it does not say what the assumption claims")
    raised = _raised_confidence(beliefs, held, supporting)
    return replace(
        held,
        hypothesis=proposal.hypothesis or held.hypothesis,
        confidence=contradicted_confidence(raised, len(counted)) if counted else raised,
        evidence=_merge_evidence(held.evidence, (*supporting, *counted), beliefs.limits),
        contradicted_by=_merge_evidence(counted_before, counted, beliefs.limits) or None,
    )


def _raised_confidence(beliefs: StateBeliefs, held: Assumption, supporting: Sequence[str]) -> float:
    """Return the assumption's confidence after further supporting evidence; without cited evidence it stays."""
    # The list keeps the latest pieces only: once it is full, nobody can tell a repeat from a new piece.
    if beliefs.cited is None or not supporting or len(held.evidence) >= beliefs.limits.evidence:
        return held.confidence
    keys = [key for piece in held.evidence if (key := beliefs.cited.source_key(piece)) is not None]
    return supported_confidence(held.confidence, keys, map(beliefs.cited.source_key, supporting))


def _supporting_pieces(beliefs: StateBeliefs, claim: str, pieces: Iterable[str]) -> tuple[str, ...]:
    """Return the pieces of evidence that support the claim; all of them where no model proposes."""
    distinct = dict.fromkeys(pieces)
    if beliefs.cited is None:
        return tuple(distinct)
    latest = list(distinct)[-beliefs.limits.evidence :]
    return tuple(piece for piece in latest if beliefs.cited.claim_fault(claim, piece) is None)


def _first_fault(cited: CitedEvidence, claim: str, pieces: Sequence[str]) -> str:
    """Return why the first cited piece of evidence does not support the claim."""
    if not pieces:
        return "it cites no message or tool result"
    return f"{pieces[0]} does not support it: {cited.claim_fault(claim, pieces[0])}"


def _unknown_ids(beliefs: StateBeliefs, proposal: AssumptionProposal, known: Sequence[str]) -> list[str]:
    """Return the ids that a model cites and that are neither in the session nor recorded evidence of this claim."""
    if beliefs.cited is None:
        return []
    return [
        piece
        for piece in dict.fromkeys(_evidence_ids(proposal))
        if piece not in known and not beliefs.cited.is_known(piece)
    ]


def _holds_other_claim(beliefs: StateBeliefs, id_: str | None, claim: str | None) -> bool:
    """Say whether the id belongs to a record that claims something else."""
    if id_ is None or claim is None:
        return False
    held = beliefs.assumptions.get(id_) or beliefs.tentative.get(id_)
    return held is not None and not is_same_claim(held.hypothesis, claim)


def _find_assumption(beliefs: StateBeliefs, proposal: AssumptionProposal) -> Assumption | None:
    """Return the assumption that the proposal means, by id or else equal wording; None without one."""
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
    sought = same_wording(wording)
    return next((r for r in records if same_wording(r.hypothesis) == sought), None)


def _evidence_ids(proposal: AssumptionProposal) -> tuple[str, ...]:
    """Return all evidence ids that a proposed assumption names: first those for it, then those against it."""
    return (*proposal.evidence, *proposal.contradicted_by)


def _merge_evidence(current: Iterable[str], more: Iterable[str], limits: StateLimits) -> tuple[str, ...]:
    """Return the distinct pieces of evidence, old then new; the oldest go when there are too many."""
    return tuple(dict.fromkeys((*current, *more)))[-limits.evidence :]
