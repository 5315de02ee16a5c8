"""How assumptions change: by contradiction, by new evidence, and by a tentative hypothesis that found some."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from mnemon.agentstate.bounds import Limits
from mnemon.agentstate.delta import AssumptionProposal, TentativeProposal
from mnemon.agentstate.state import AgentState, Assumption, TentativeHypothesis
from mnemon.evidence.confidence import Stance, Strength, moved
from mnemon.ids import NewId
from mnemon.section import Rejection

UNSTATED_CONFIDENCE = 0.5
_SUREST = 0.99

B = TypeVar("B", Assumption, TentativeHypothesis)


@dataclass(frozen=True, kw_only=True)
class Beliefs:
    """Assumptions and tentative hypotheses, by id, with what could not be done."""

    assumptions: dict[str, Assumption]
    tentative: dict[str, TentativeHypothesis]
    reported: list[Rejection]


def reconsider(
    state: AgentState,
    tentative: Iterable[TentativeProposal],
    assumptions: Iterable[AssumptionProposal],
    *,
    new_id: NewId,
    limits: Limits,
) -> Beliefs:
    """The beliefs after these proposals, tentative ones first, so that one proposal can bring its own evidence."""
    beliefs = Beliefs(
        assumptions={a.id: a for a in state.assumptions},
        tentative={t.id: t for t in state.tentative_hypotheses},
        reported=[],
    )
    for guess in tentative:
        _consider(beliefs, guess, new_id)
    for proposal in assumptions:
        _assume(beliefs, proposal, new_id, limits)
    return beliefs


def contradicted(confidence: float, pieces: int) -> float:
    """The confidence after so many distinct pieces of evidence against, by the shared rule."""
    for _ in range(pieces):
        confidence = moved(min(confidence, _SUREST), Stance.CONTRADICTS, Strength.MODERATE)
    return round(confidence, 6)


def _consider(beliefs: Beliefs, guess: TentativeProposal, new_id: NewId) -> None:
    same = _worded(beliefs.tentative.values(), guess.hypothesis) if guess.id is None else None
    id_ = guess.id or (same.id if same else new_id("ten"))
    if id_ in beliefs.assumptions or (guess.id is None and _worded(beliefs.assumptions.values(), guess.hypothesis)):
        beliefs.reported.append(Rejection(what=f"tentative hypothesis {id_}", why="it is an assumption already"))
        return
    held = beliefs.tentative.get(id_)
    reason = guess.reason if guess.reason is not None or held is None else held.reason
    beliefs.tentative[id_] = TentativeHypothesis(id=id_, hypothesis=guess.hypothesis, reason=reason)


def _assume(beliefs: Beliefs, proposal: AssumptionProposal, new_id: NewId, limits: Limits) -> None:
    held = _held(beliefs, proposal)
    if held is not None:
        beliefs.assumptions[held.id] = _reconsidered(held, proposal, limits, beliefs.reported)
        return
    guess = _guess(beliefs, proposal)
    if guess is None:
        if proposal.hypothesis is None:
            beliefs.reported.append(Rejection(what=f"assumption {proposal.id}", why="there is none with this id"))
            return
        id_, hypothesis = proposal.id or new_id("asm"), proposal.hypothesis
    elif not _pieces(proposal):
        why = "a tentative hypothesis becomes an assumption when it has evidence; name some"
        beliefs.reported.append(Rejection(what=f"assumption {proposal.id or guess.id}", why=why))
        return
    else:
        id_, hypothesis = proposal.id or guess.id, proposal.hypothesis or guess.hypothesis
        del beliefs.tentative[guess.id]
    stated = UNSTATED_CONFIDENCE if proposal.confidence is None else proposal.confidence
    against = _distinct(proposal.contradicted_by, (), limits)
    beliefs.assumptions[id_] = Assumption(
        id=id_,
        hypothesis=hypothesis,
        confidence=contradicted(stated, len(against)),
        evidence=_distinct(_pieces(proposal), (), limits),
        contradicted_by=against or None,
    )


def _reconsidered(
    held: Assumption, proposal: AssumptionProposal, limits: Limits, reported: list[Rejection]
) -> Assumption:
    fresh = tuple(piece for piece in proposal.evidence if piece not in held.evidence)
    shown = round(held.confidence, 2)
    lower = proposal.confidence is not None and proposal.confidence < shown
    if proposal.confidence is not None and proposal.confidence != shown and not (lower and fresh):
        why = "confidence changes on contradiction: name evidence that speaks against it"
        reported.append(Rejection(what=f"confidence {proposal.confidence:g} of assumption {held.id}", why=why))
    had = held.contradicted_by or ()
    against = dict.fromkeys((*proposal.contradicted_by, *(fresh if lower else ())))
    counted = [piece for piece in against if piece not in had]
    return replace(
        held,
        hypothesis=proposal.hypothesis or held.hypothesis,
        confidence=contradicted(held.confidence, len(counted)) if counted else held.confidence,
        evidence=_distinct(held.evidence, _pieces(proposal), limits),
        contradicted_by=_distinct(had, counted, limits) or None,
    )


def _held(beliefs: Beliefs, proposal: AssumptionProposal) -> Assumption | None:
    if proposal.id is not None:
        return beliefs.assumptions.get(proposal.id)
    return _worded(beliefs.assumptions.values(), proposal.hypothesis)


def _guess(beliefs: Beliefs, proposal: AssumptionProposal) -> TentativeHypothesis | None:
    if proposal.id is not None and proposal.id in beliefs.tentative:
        return beliefs.tentative[proposal.id]
    return _worded(beliefs.tentative.values(), proposal.hypothesis)


def _worded(records: Iterable[B], wording: str | None) -> B | None:
    """The one with exactly this wording, case and spaces aside: sameness of text, not likeness."""
    if wording is None:
        return None
    sought = " ".join(wording.casefold().split())
    return next((r for r in records if " ".join(r.hypothesis.casefold().split()) == sought), None)


def _pieces(proposal: AssumptionProposal) -> tuple[str, ...]:
    return (*proposal.evidence, *proposal.contradicted_by)


def _distinct(had: Iterable[str], more: Iterable[str], limits: Limits) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*had, *more)))[-limits.evidence :]
