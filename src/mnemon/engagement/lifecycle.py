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
             formed, collecting, revising ──archive (note)──► archived ──restore──► by its evidence

`collect` is evidence after which no contradiction is outstanding, `revise` evidence after which one is. A finding
that is contradicted is reopened with all its evidence. An archived claim that is formed again is restored with the
evidence it had, collecting or revising as that evidence has it.
"""

from enum import StrEnum
from itertools import combinations

from mnemon.engagement.document import Hypothesis, HypothesisStage
from mnemon.engagement.relevance import BORNE_OUT_SHARE, borne_out_share
from mnemon.engagement.sources import are_one_person
from mnemon.evidence.confidence import LOG_ODDS_STEPS, EvidenceLine, Stance, line_weights, lines_confidence

ARCHIVE_BELOW = 0.15
"""The confidence below which an open hypothesis is proposed for archive."""


class HypothesisEvent(StrEnum):
    """What can happen to a hypothesis."""

    COLLECT = "collect"
    REVISE = "revise"
    PROMOTE = "promote"
    REOPEN = "reopen"
    ARCHIVE = "archive"
    RESTORE = "restore"


_OPEN_STAGES = (HypothesisStage.FORMED, HypothesisStage.COLLECTING, HypothesisStage.REVISING)
TRANSITIONS: dict[tuple[HypothesisStage, HypothesisEvent], HypothesisStage] = {
    **{(stage, HypothesisEvent.COLLECT): HypothesisStage.COLLECTING for stage in _OPEN_STAGES},
    **{(stage, HypothesisEvent.REVISE): HypothesisStage.REVISING for stage in _OPEN_STAGES},
    **{(stage, HypothesisEvent.ARCHIVE): HypothesisStage.ARCHIVED for stage in _OPEN_STAGES},
    (HypothesisStage.COLLECTING, HypothesisEvent.PROMOTE): HypothesisStage.FINDING,
    (HypothesisStage.FINDING, HypothesisEvent.COLLECT): HypothesisStage.FINDING,
    (HypothesisStage.FINDING, HypothesisEvent.REOPEN): HypothesisStage.REVISING,
    (HypothesisStage.ARCHIVED, HypothesisEvent.RESTORE): HypothesisStage.FORMED,
}
"""The next stage by stage and event; what is missing cannot happen."""


def next_stage(stage: HypothesisStage, event: HypothesisEvent) -> HypothesisStage | None:
    """Return a hypothesis' stage after the event; None when the event cannot happen in this stage."""
    return TRANSITIONS.get((stage, event))


def evidence_event(evidence: tuple[EvidenceLine, ...]) -> HypothesisEvent:
    """Return the event that the evidence causes: `revise` while a contradiction is outstanding, else `collect`."""
    return HypothesisEvent.REVISE if outstanding_contradictions(evidence) else HypothesisEvent.COLLECT


def outstanding_contradictions(evidence: tuple[EvidenceLine, ...]) -> tuple[EvidenceLine, ...]:
    """Return the contradictions that neither supporting evidence nor a person has resolved."""
    # Computed from the lines rather than stored: when the resolving line is forgotten, the contradiction is
    # outstanding again.
    resolved = {id_ for line in evidence if line.stance is Stance.SUPPORTS for id_ in line.resolves}
    return tuple(
        line
        for line in evidence
        if line.stance is Stance.CONTRADICTS and line.id not in resolved and line.settled_note is None
    )


def may_resolve(line: EvidenceLine, contradiction: EvidenceLine) -> bool:
    """Say whether supporting evidence settles a contradiction: of its own source, or later and at least as strong."""
    if line.identity == contradiction.identity:
        return True
    if line.turn_id == contradiction.turn_id or line.at < contradiction.at:
        return False
    return LOG_ODDS_STEPS[line.strength] >= LOG_ODDS_STEPS[contradiction.strength]


def is_mixed(evidence: tuple[EvidenceLine, ...]) -> bool:
    """Say whether some evidence of a hypothesis supports it while a contradiction is outstanding."""
    return bool(outstanding_contradictions(evidence)) and any(line.stance is Stance.SUPPORTS for line in evidence)


def confidence_of(hypothesis: Hypothesis) -> float:
    """Return the confidence that the weighted evidence gives the claim."""
    return lines_confidence(hypothesis.evidence)


def counting_support(hypothesis: Hypothesis) -> tuple[EvidenceLine, ...]:
    """Return the supporting evidence lines whose weight is not zero."""
    weights = line_weights(hypothesis.evidence)
    return tuple(line for line in hypothesis.evidence if line.stance is Stance.SUPPORTS and weights[line.id] > 0)


def are_independent(one: EvidenceLine, other: EvidenceLine) -> bool:
    """Say whether two lines support a claim independently: by two people and tellers, or on two days."""
    if one.turn_id != other.turn_id and one.at.date() != other.at.date():
        return True
    return one.told_by != other.told_by and not are_one_person(one.identity, other.identity)


def promotion_fault(hypothesis: Hypothesis, threshold: float) -> str | None:
    """Return what the evidence lacks to make the claim a finding; None if it suffices."""
    value = confidence_of(hypothesis)
    if not value > threshold:
        return f"confidence {value:.2f} is not above {threshold:g}"
    if outstanding_contradictions(hypothesis.evidence):
        return "a contradiction is outstanding"
    support = counting_support(hypothesis)
    if not any(are_independent(one, other) for one, other in combinations(support, 2)):
        return "its support comes from one source on one day: another source, or another day, must support it too"
    if borne_out_share(hypothesis.statement, support) < BORNE_OUT_SHARE:
        return "its evidence does not speak of what the claim says"
    return None


def is_promotable(hypothesis: Hypothesis, threshold: float) -> bool:
    """Say whether the hypothesis passes the promotion gate."""
    return (
        next_stage(hypothesis.stage, HypothesisEvent.PROMOTE) is not None
        and promotion_fault(hypothesis, threshold) is None
    )


def is_still_supported(finding: Hypothesis) -> bool:
    """Say whether a finding would be promoted on the evidence it has now, by the threshold of its promotion."""
    # The threshold of then, not the setting: changing the setting must not take down findings (decision 6).
    return promotion_fault(finding, finding.threshold) is None


def is_proposed_for_archive(hypothesis: Hypothesis) -> bool:
    """Say whether an open claim's confidence is so low that it should be archived."""
    return hypothesis.is_open and confidence_of(hypothesis) < ARCHIVE_BELOW


def resolution_text(hypothesis: Hypothesis) -> str | None:
    """Return what would settle a hypothesis' mixed evidence, else what would falsify it; None when not mixed."""
    if not is_mixed(hypothesis.evidence):
        return None
    return hypothesis.would_resolve or hypothesis.falsified_by


def format_source(finding: Hypothesis) -> str:
    """Return the name and date of a finding's strongest supporting line; empty if it has none."""
    support = [line for line in finding.evidence if line.stance is Stance.SUPPORTS]
    if not support:
        return ""
    weights = line_weights(finding.evidence)
    best = max(support, key=lambda line: (weights[line.id] * LOG_ODDS_STEPS[line.strength], line.at))
    return format_line_source(best)


def format_line_source(line: EvidenceLine) -> str:
    """Return whose words an evidence line quotes and their date: the one they name, or when they were said."""
    return f"{line.source}, {line.event_date or line.at.date():%Y-%m-%d}"
