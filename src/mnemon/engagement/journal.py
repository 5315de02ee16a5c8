"""The journal of the engagement, and the reducer that folds it into the document.

The journal keeps effects after the gates, not proposals, so that a replay gives the same document when the rules have
changed. The reducer is total: an entry that no longer applies changes nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from mnemon.engagement.document import MAX_ANSWERED, MAX_ARCHIVED, Engagement, Hypothesis, Unknown, UnknownAnswer
from mnemon.engagement.lifecycle import HypothesisEvent, evidence_event, next_stage
from mnemon.evidence.confidence import EvidenceLine, Stance


@dataclass(frozen=True, kw_only=True)
class EngagementOpened:
    """The engagement began, in week 1."""

    kind: Literal["opened"] = "opened"


@dataclass(frozen=True, kw_only=True)
class HypothesisFormed:
    """A hypothesis was formed."""

    hypothesis: str
    statement: str
    falsified_by: str
    kind: Literal["formed"] = "formed"


@dataclass(frozen=True, kw_only=True)
class EvidenceCollected:
    """Evidence was added to a hypothesis or finding."""

    hypothesis: str
    evidence: EvidenceLine
    kind: Literal["collected"] = "collected"


@dataclass(frozen=True, kw_only=True)
class ResolutionNamed:
    """The reflection named what would resolve mixed evidence."""

    hypothesis: str
    text: str
    kind: Literal["resolvable"] = "resolvable"


@dataclass(frozen=True, kw_only=True)
class HypothesisPromoted:
    """A hypothesis became a finding."""

    hypothesis: str
    threshold: float
    """The confidence it had to exceed then, and must still exceed when evidence is forgotten."""
    kind: Literal["promoted"] = "promoted"


@dataclass(frozen=True, kw_only=True)
class HypothesisReopened:
    """A finding became a hypothesis again."""

    hypothesis: str
    kind: Literal["reopened"] = "reopened"


@dataclass(frozen=True, kw_only=True)
class HypothesisArchived:
    """A hypothesis was abandoned."""

    hypothesis: str
    note: str
    superseded_by: str | None = None
    """The hypothesis or finding that takes its place."""
    kind: Literal["archived"] = "archived"


@dataclass(frozen=True, kw_only=True)
class HypothesisRestored:
    """An archived hypothesis was formed again, and came back with its evidence."""

    hypothesis: str
    kind: Literal["restored"] = "restored"


@dataclass(frozen=True, kw_only=True)
class ContradictionSettled:
    """A person settled a contradiction by hand."""

    hypothesis: str
    evidence: str
    """The id of the contradicting line."""
    note: str
    """Why it no longer counts as outstanding."""
    kind: Literal["settled"] = "settled"


@dataclass(frozen=True, kw_only=True)
class EvidenceWithdrawn:
    """Evidence left the journal because somebody or something was forgotten; the reason has the confidences."""

    hypothesis: str
    pieces: int
    """How many lines."""
    kind: Literal["withdrawn"] = "withdrawn"


@dataclass(frozen=True, kw_only=True)
class UnknownAsked:
    """A question became an unknown."""

    unknown: str
    question: str
    why_it_matters: str
    kind: Literal["wondered"] = "wondered"


@dataclass(frozen=True, kw_only=True)
class UnknownAnswered:
    """An unknown was closed by the evidence that answers it."""

    unknown: str
    answer: UnknownAnswer
    kind: Literal["answered"] = "answered"


@dataclass(frozen=True, kw_only=True)
class WeekAdvanced:
    """The week advanced by one."""

    week: int
    kind: Literal["advanced"] = "advanced"


EngagementDelta = Annotated[
    EngagementOpened
    | HypothesisFormed
    | EvidenceCollected
    | ResolutionNamed
    | HypothesisPromoted
    | HypothesisReopened
    | HypothesisArchived
    | HypothesisRestored
    | ContradictionSettled
    | EvidenceWithdrawn
    | UnknownAsked
    | UnknownAnswered
    | WeekAdvanced,
    Field(discriminator="kind"),
]
HypothesisChange = (
    EvidenceCollected
    | ResolutionNamed
    | HypothesisPromoted
    | HypothesisReopened
    | HypothesisArchived
    | HypothesisRestored
    | ContradictionSettled
    | EvidenceWithdrawn
)
"""A delta that changes a hypothesis on record."""
DELTA_ADAPTER: TypeAdapter[EngagementDelta] = TypeAdapter(EngagementDelta)
"""Reads and writes a delta as JSON."""


@dataclass(frozen=True, kw_only=True)
class EngagementEntry:
    """One change in the journal."""

    seq: int
    """Its position, which is also the document's version after it."""
    at: datetime
    """When the change happened: the turn's time, and for a promotion not before its evidence."""
    turn_id: str | None
    """The turn it came from; None for a consequence of forgetting."""
    user_id: str | None
    """The person whose turn it was."""
    who: str
    """That person's name; `mnemon` for a consequence of forgetting."""
    reason: str
    delta: EngagementDelta


def fold_entries(entries: Iterable[EngagementEntry], start: Engagement | None = None) -> Engagement | None:
    """Return the engagement that results from replaying these journal entries over `start`; None without any."""
    document = start
    for entry in entries:
        document = apply_entry(document, entry)
    return document


def apply_entry(document: Engagement | None, entry: EngagementEntry) -> Engagement:
    """Return the engagement after one more journal entry; an entry that no longer applies changes nothing."""
    before = document or Engagement()
    after = replace(before, changed_in_week=before.changed_in_week + 1)
    delta = entry.delta
    # An opening changes nothing but that there is a document now.
    if isinstance(delta, EngagementOpened):
        return after
    if isinstance(delta, WeekAdvanced):
        return replace(after, week=delta.week, week_at=entry.at, week_turn=entry.turn_id, changed_in_week=0)
    if isinstance(delta, UnknownAsked | UnknownAnswered):
        return _apply_unknown(after, entry, delta)
    if isinstance(delta, HypothesisFormed):
        return _add_hypothesis(after, entry, delta)
    hypothesis = after.find_hypothesis(delta.hypothesis)
    if hypothesis is None:
        return after
    return _replace_hypothesis(after, _change_hypothesis(hypothesis, entry, delta))


def _add_hypothesis(document: Engagement, entry: EngagementEntry, delta: HypothesisFormed) -> Engagement:
    """Return the document with the hypothesis added, unless its id is known."""
    if document.find_hypothesis(delta.hypothesis) is not None:
        return document
    formed = Hypothesis(
        id=delta.hypothesis,
        statement=delta.statement,
        falsified_by=delta.falsified_by,
        formed_at=entry.at,
        formed_in=entry.turn_id or "",
    )
    return replace(document, hypotheses=(*document.hypotheses, formed))


def _change_hypothesis(hypothesis: Hypothesis, entry: EngagementEntry, delta: HypothesisChange) -> Hypothesis:
    """Return the hypothesis after the change; unchanged when its stage does not allow it."""
    if isinstance(delta, EvidenceCollected):
        return _add_evidence_line(hypothesis, delta)
    if isinstance(delta, ResolutionNamed):
        return replace(hypothesis, would_resolve=delta.text, would_resolve_at=entry.at)
    if isinstance(delta, ContradictionSettled):
        return _settle_contradiction(hypothesis, delta)
    # The evidence itself has left the journal; the entry tells that it did.
    if isinstance(delta, EvidenceWithdrawn):
        return hypothesis
    stage = next_stage(hypothesis.stage, _EVENTS[type(delta)])
    if stage is None:
        return hypothesis
    if isinstance(delta, HypothesisPromoted):
        return replace(hypothesis, stage=stage, promoted_at=entry.at, threshold=delta.threshold)
    if isinstance(delta, HypothesisArchived):
        return replace(hypothesis, stage=stage, note=delta.note, archived_at=entry.at)
    # After forgetting, the evidence that is left may have no contradiction: then it is collecting, not revising.
    settled = next_stage(stage, evidence_event(hypothesis.evidence)) or stage
    if isinstance(delta, HypothesisReopened):
        return replace(hypothesis, stage=settled, reopened=hypothesis.reopened + 1)
    return replace(hypothesis, stage=settled, note=None, archived_at=None)


_EVENTS: dict[type[HypothesisChange], HypothesisEvent] = {
    HypothesisPromoted: HypothesisEvent.PROMOTE,
    HypothesisReopened: HypothesisEvent.REOPEN,
    HypothesisRestored: HypothesisEvent.RESTORE,
    HypothesisArchived: HypothesisEvent.ARCHIVE,
}


def _settle_contradiction(hypothesis: Hypothesis, delta: ContradictionSettled) -> Hypothesis:
    """Return the hypothesis with the contradiction settled, in the stage that its evidence gives."""
    evidence = tuple(
        replace(line, settled_note=delta.note)
        if line.id == delta.evidence and line.stance is Stance.CONTRADICTS
        else line
        for line in hypothesis.evidence
    )
    stage = next_stage(hypothesis.stage, evidence_event(evidence)) or hypothesis.stage
    return replace(hypothesis, evidence=evidence, stage=stage)


def _add_evidence_line(hypothesis: Hypothesis, delta: EvidenceCollected) -> Hypothesis:
    """Return the hypothesis with the evidence line added, unless its id is known, in the resulting stage."""
    if any(line.id == delta.evidence.id for line in hypothesis.evidence):
        return hypothesis
    evidence = (*hypothesis.evidence, delta.evidence)
    # A contradicted finding stays one until its own `HypothesisReopened` entry, which follows at once.
    stage = next_stage(hypothesis.stage, evidence_event(evidence)) or hypothesis.stage
    return replace(hypothesis, evidence=evidence, stage=stage)


def _apply_unknown(document: Engagement, entry: EngagementEntry, delta: UnknownAsked | UnknownAnswered) -> Engagement:
    """Return the document with an unknown or its first answer added; answered ones above the limit are dropped."""
    if isinstance(delta, UnknownAsked):
        if any(each.id == delta.unknown for each in document.unknowns):
            return document
        fresh = Unknown(
            id=delta.unknown, question=delta.question, why_it_matters=delta.why_it_matters, asked_at=entry.at
        )
        return replace(document, unknowns=(*document.unknowns, fresh))
    # The first answer stays; a later one changes nothing.
    unknowns = tuple(
        replace(each, answer=delta.answer) if each.id == delta.unknown and each.answer is None else each
        for each in document.unknowns
    )
    return _drop_oldest(replace(document, unknowns=unknowns))


def _replace_hypothesis(document: Engagement, changed: Hypothesis) -> Engagement:
    """Return the document with the hypothesis changed, without the oldest archived and answered above the limits."""
    hypotheses = tuple(changed if each.id == changed.id else each for each in document.hypotheses)
    return _drop_oldest(replace(document, hypotheses=hypotheses))


def _drop_oldest(document: Engagement) -> Engagement:
    """Return the document without its oldest archived hypotheses and answered unknowns above the limits."""
    archived = sorted(document.archived_hypotheses, key=lambda each: (each.archived_at or each.formed_at, each.id))
    answered = sorted(document.answered, key=lambda each: (each.asked_at, each.id))
    dropped = {each.id for each in archived[:-MAX_ARCHIVED]} | {each.id for each in answered[:-MAX_ANSWERED]}
    if not dropped:
        return document
    return replace(
        document,
        hypotheses=tuple(each for each in document.hypotheses if each.id not in dropped),
        unknowns=tuple(each for each in document.unknowns if each.id not in dropped),
    )
