"""The life of a hypothesis, as pure functions.

                       evidence, nothing against it unresolved
                      ┌──────────────────────────────┐
                      ▼                              │
    form ──► formed ──┬──collect──► collecting ◄─────┘
                      │              │   ▲   │
                      │       revise │   │   └──promote──► finding ◄─┐ collect
                      │              ▼   │ collect            │  └────┘
                      └──revise───► revising ◄────reopen──────┘
                                     │  ▲ │
                                     │  └─┘ revise
             formed, collecting, revising ──archive (note)──► archived

`collect` is evidence after which no contradiction is outstanding, `revise` evidence after which one is. A finding
that is contradicted is reopened with all its evidence. Nothing leaves `archived`: the same claim is formed anew.
"""

from enum import StrEnum

from mnemon.engagement.document import Hypothesis, HypothesisStage
from mnemon.evidence.confidence import LOG_ODDS_STEPS, EvidenceLine, Stance, compute_confidence


class HypothesisEvent(StrEnum):
    """What can happen to a hypothesis."""

    COLLECT = "collect"
    REVISE = "revise"
    PROMOTE = "promote"
    REOPEN = "reopen"
    ARCHIVE = "archive"


_OPEN_STAGES = (HypothesisStage.FORMED, HypothesisStage.COLLECTING, HypothesisStage.REVISING)
TRANSITIONS: dict[tuple[HypothesisStage, HypothesisEvent], HypothesisStage] = {
    **{(stage, HypothesisEvent.COLLECT): HypothesisStage.COLLECTING for stage in _OPEN_STAGES},
    **{(stage, HypothesisEvent.REVISE): HypothesisStage.REVISING for stage in _OPEN_STAGES},
    **{(stage, HypothesisEvent.ARCHIVE): HypothesisStage.ARCHIVED for stage in _OPEN_STAGES},
    (HypothesisStage.COLLECTING, HypothesisEvent.PROMOTE): HypothesisStage.FINDING,
    (HypothesisStage.FINDING, HypothesisEvent.COLLECT): HypothesisStage.FINDING,
    (HypothesisStage.FINDING, HypothesisEvent.REOPEN): HypothesisStage.REVISING,
}
"""The next stage by stage and event; what is missing cannot happen."""


def next_stage(stage: HypothesisStage, event: HypothesisEvent) -> HypothesisStage | None:
    """Return a hypothesis' stage after the event; None when the event cannot happen in this stage."""
    return TRANSITIONS.get((stage, event))


def evidence_event(evidence: tuple[EvidenceLine, ...]) -> HypothesisEvent:
    """Return the event that evidence amounts to: `revise` while a contradiction is outstanding, else `collect`."""
    return HypothesisEvent.REVISE if outstanding_contradictions(evidence) else HypothesisEvent.COLLECT


def outstanding_contradictions(evidence: tuple[EvidenceLine, ...]) -> tuple[EvidenceLine, ...]:
    """Return the contradicting evidence lines that no supporting line has resolved."""
    # Computed from the lines rather than stored: when the resolving line is forgotten, the contradiction is
    # outstanding again.
    resolved = {id_ for line in evidence if line.stance is Stance.SUPPORTS for id_ in line.resolves}
    return tuple(line for line in evidence if line.stance is Stance.CONTRADICTS and line.id not in resolved)


def is_mixed(evidence: tuple[EvidenceLine, ...]) -> bool:
    """Say whether some evidence of a hypothesis supports it while a contradiction is outstanding."""
    return bool(outstanding_contradictions(evidence)) and any(line.stance is Stance.SUPPORTS for line in evidence)


def confidence_of(hypothesis: Hypothesis) -> float:
    """Return the confidence, between 0 and 1, that a hypothesis' evidence gives its claim."""
    return compute_confidence((line.stance, line.strength) for line in hypothesis.evidence)


def is_promotable(hypothesis: Hypothesis, threshold: float) -> bool:
    """Say whether the hypothesis passes the promotion gate: above the threshold, and no contradiction outstanding."""
    return (
        next_stage(hypothesis.stage, HypothesisEvent.PROMOTE) is not None
        and confidence_of(hypothesis) > threshold
        and not outstanding_contradictions(hypothesis.evidence)
    )


def is_still_supported(finding: Hypothesis) -> bool:
    """Say whether a finding would be promoted on the evidence it has now, by the threshold of its promotion."""
    # The threshold of then, not the setting: changing the setting must not take down findings (decision 6).
    return confidence_of(finding) > finding.threshold and not outstanding_contradictions(finding.evidence)


def resolution_text(hypothesis: Hypothesis) -> str | None:
    """Return what would settle a hypothesis' mixed evidence, else what would falsify it; None when not mixed."""
    if not is_mixed(hypothesis.evidence):
        return None
    return hypothesis.would_resolve or hypothesis.falsified_by


def format_source(finding: Hypothesis) -> str:
    """Return the name and date of a finding's strongest supporting line, the latest of equals; empty without."""
    support = [line for line in finding.evidence if line.stance is Stance.SUPPORTS]
    if not support:
        return ""
    best = max(support, key=lambda line: (LOG_ODDS_STEPS[line.strength], line.at))
    return f"{best.source}, {best.at:%Y-%m-%d}"
