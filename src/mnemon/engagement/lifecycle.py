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

from mnemon.engagement.document import Hypothesis, Stage
from mnemon.evidence.confidence import STEP, Stance, confidence
from mnemon.evidence.line import EvidenceLine


class Event(StrEnum):
    COLLECT = "collect"
    REVISE = "revise"
    PROMOTE = "promote"
    REOPEN = "reopen"
    ARCHIVE = "archive"


_OPEN = (Stage.FORMED, Stage.COLLECTING, Stage.REVISING)
TRANSITIONS: dict[tuple[Stage, Event], Stage] = {
    **{(stage, Event.COLLECT): Stage.COLLECTING for stage in _OPEN},
    **{(stage, Event.REVISE): Stage.REVISING for stage in _OPEN},
    **{(stage, Event.ARCHIVE): Stage.ARCHIVED for stage in _OPEN},
    (Stage.COLLECTING, Event.PROMOTE): Stage.FINDING,
    (Stage.FINDING, Event.COLLECT): Stage.FINDING,
    (Stage.FINDING, Event.REOPEN): Stage.REVISING,
}


def step(stage: Stage, event: Event) -> Stage | None:
    """The stage after the event; None when the event cannot happen there."""
    return TRANSITIONS.get((stage, event))


def event_of(evidence: tuple[EvidenceLine, ...]) -> Event:
    """What the evidence as it stands amounts to."""
    return Event.REVISE if outstanding(evidence) else Event.COLLECT


def outstanding(evidence: tuple[EvidenceLine, ...]) -> tuple[EvidenceLine, ...]:
    """The contradictions that no supporting evidence has resolved."""
    resolved = {id_ for line in evidence if line.stance is Stance.SUPPORTS for id_ in line.resolves}
    return tuple(line for line in evidence if line.stance is Stance.CONTRADICTS and line.id not in resolved)


def is_mixed(evidence: tuple[EvidenceLine, ...]) -> bool:
    """Whether evidence speaks for it and, unresolved, against it."""
    return bool(outstanding(evidence)) and any(line.stance is Stance.SUPPORTS for line in evidence)


def confidence_of(hypothesis: Hypothesis) -> float:
    """How far the evidence carries the claim."""
    return confidence((line.stance, line.strength) for line in hypothesis.evidence)


def is_ready(hypothesis: Hypothesis, threshold: float) -> bool:
    """Whether the promotion gate opens: above the threshold, and no contradiction outstanding."""
    return (
        step(hypothesis.stage, Event.PROMOTE) is not None
        and confidence_of(hypothesis) > threshold
        and not outstanding(hypothesis.evidence)
    )


def still_stands(finding: Hypothesis) -> bool:
    """Whether a finding would be promoted on the evidence it has now, by the threshold of its promotion."""
    return confidence_of(finding) > finding.threshold and not outstanding(finding.evidence)


def would_resolve(hypothesis: Hypothesis) -> str | None:
    """What would settle mixed evidence: as named, or else what would falsify the claim; None when it is not mixed."""
    if not is_mixed(hypothesis.evidence):
        return None
    return hypothesis.would_resolve or hypothesis.falsified_by


def source_of(finding: Hypothesis) -> str:
    """Who said it, on what date: the strongest supporting line, the latest of equals."""
    support = [line for line in finding.evidence if line.stance is Stance.SUPPORTS]
    if not support:
        return ""
    best = max(support, key=lambda line: (STEP[line.strength], line.at))
    return f"{best.source}, {best.at:%Y-%m-%d}"
