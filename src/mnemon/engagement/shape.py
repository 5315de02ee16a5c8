"""The document as the API returns it: the fields of seed 000, and beside them what explains them."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from mnemon.clock import format_time
from mnemon.engagement.document import Engagement, Hypothesis, HypothesisStage, Unknown
from mnemon.engagement.journal import DELTA_ADAPTER, EngagementEntry
from mnemon.engagement.lifecycle import (
    confidence_of,
    format_source,
    is_mixed,
    is_proposed_for_archive,
    outstanding_contradictions,
    resolution_text,
)
from mnemon.evidence.confidence import EvidenceLine, Stance, Strength, line_weights, round_confidence


class _CamelModel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, frozen=True)


class EvidenceShape(_CamelModel):
    """An evidence line with its quote, source and position."""

    id: str
    line: str
    quote: str
    source: str
    stance: Stance
    strength: Strength
    who: str
    at: str
    turn_id: str
    message_id: str
    resolves: list[str]
    outstanding: bool
    weight: float
    """1, 0.5 or 0: what a source says again counts less."""
    source_key: str | None
    teller: str
    event_date: str | None
    """The day that the words name, as an ISO date."""
    settled_note: str | None
    """Why a person settled this contradiction by hand."""

    @classmethod
    def from_line(cls, line: EvidenceLine, *, outstanding: bool, weight: float) -> Self:
        """Return an evidence line as the API shows it, with its weight and whether it is outstanding."""
        return cls(
            id=line.id,
            line=line.line,
            quote=line.quote,
            source=line.source,
            stance=line.stance,
            strength=line.strength,
            who=line.who,
            at=format_time(line.at),
            turn_id=line.turn_id,
            message_id=line.message_id,
            resolves=list(line.resolves),
            outstanding=outstanding,
            weight=weight,
            source_key=line.source_key,
            teller=line.told_by,
            event_date=None if line.event_date is None else line.event_date.isoformat(),
            settled_note=line.settled_note,
        )


class HypothesisShape(_CamelModel):
    """A hypothesis that is neither a finding nor archived."""

    id: str
    statement: str
    confidence: float
    evidence: list[str] | list[EvidenceShape]
    falsified_by: str
    stage: HypothesisStage
    mixed: bool
    would_resolve: str | None
    formed_at: str
    reopened: int
    proposed_for_archive: bool
    """Whether its confidence is below 0.15: archive it, or find evidence for it."""

    @classmethod
    def from_hypothesis(cls, hypothesis: Hypothesis, *, expand: bool) -> Self:
        """Return a hypothesis as the API shows it; `expand` gives evidence as objects, not sentences."""
        return cls(
            id=hypothesis.id,
            statement=hypothesis.statement,
            confidence=round_confidence(confidence_of(hypothesis)),
            evidence=_evidence_of(hypothesis, expand=expand),
            falsified_by=hypothesis.falsified_by,
            stage=hypothesis.stage,
            mixed=is_mixed(hypothesis.evidence),
            would_resolve=resolution_text(hypothesis),
            formed_at=format_time(hypothesis.formed_at),
            reopened=hypothesis.reopened,
            proposed_for_archive=is_proposed_for_archive(hypothesis),
        )


class ArchivedShape(HypothesisShape):
    """An archived hypothesis with the reason."""

    note: str
    archived_at: str | None

    @classmethod
    def from_hypothesis(cls, hypothesis: Hypothesis, *, expand: bool) -> Self:
        """Return an archived hypothesis as the API shows it, with its note."""
        plain = HypothesisShape.from_hypothesis(hypothesis, expand=expand)
        archived_at = format_time(hypothesis.archived_at) if hypothesis.archived_at else None
        return cls(**dict(plain), note=hypothesis.note or "", archived_at=archived_at)


class RuledShape(HypothesisShape):
    """A hypothesis after a person's decision; its stage says whether it became a finding."""

    @classmethod
    def from_ruling(cls, hypothesis: Hypothesis) -> Self:
        """Return a hypothesis that a person has ruled on as the API shows it, with its evidence as objects."""
        return cls.from_hypothesis(hypothesis, expand=True)


class FindingShape(_CamelModel):
    """A promoted hypothesis with its source."""

    id: str
    statement: str
    source: str
    recorded_at: str
    confidence: float
    evidence: list[str] | list[EvidenceShape]

    @classmethod
    def from_hypothesis(cls, finding: Hypothesis, *, expand: bool) -> Self:
        """Return a finding as the API shows it, with its strongest source."""
        return cls(
            id=finding.id,
            statement=finding.statement,
            source=format_source(finding),
            recorded_at=format_time(finding.promoted_at or finding.formed_at),
            confidence=round_confidence(confidence_of(finding)),
            evidence=_evidence_of(finding, expand=expand),
        )


class AnswerShape(_CamelModel):
    """The quote that answered an unknown."""

    quote: str
    who: str
    at: str
    turn_id: str
    message_id: str


class UnknownShape(_CamelModel):
    """A question under investigation, with its answer if there is one."""

    id: str
    question: str
    why_it_matters: str
    asked_at: str
    answer: AnswerShape | None = None

    @classmethod
    def from_unknown(cls, unknown: Unknown) -> Self:
        """Return an unknown as the API shows it; without an answer the field `answer` is not set."""
        shape = cls(
            id=unknown.id,
            question=unknown.question,
            why_it_matters=unknown.why_it_matters,
            asked_at=format_time(unknown.asked_at),
        )
        # Left unset, not null: `as_json` omits what is unset.
        if unknown.answer is None:
            return shape
        answer = AnswerShape(
            quote=unknown.answer.quote,
            who=unknown.answer.who,
            at=format_time(unknown.answer.at),
            turn_id=unknown.answer.turn_id,
            message_id=unknown.answer.message_id,
        )
        return shape.model_copy(update={"answer": answer})


class EngagementShape(_CamelModel):
    """`weekNumber, hypotheses, unknowns, findings`; on request also `archived` and `answered`."""

    week_number: int
    hypotheses: list[HypothesisShape]
    unknowns: list[UnknownShape]
    findings: list[FindingShape]
    archived: list[ArchivedShape] | None = None
    answered: list[UnknownShape] | None = None

    @classmethod
    def from_document(cls, document: Engagement, *, expand: bool = False, archived: bool = False) -> Self:
        """Return the engagement as the API shows it, with evidence objects and closed parts on request."""
        # Set only on request: `as_json` leaves out what is unset.
        closed: dict[str, Any] = {}
        if archived:
            closed["archived"] = [
                ArchivedShape.from_hypothesis(each, expand=expand) for each in document.archived_hypotheses
            ]
            closed["answered"] = [UnknownShape.from_unknown(each) for each in document.answered]
        return cls(
            week_number=document.week,
            hypotheses=[HypothesisShape.from_hypothesis(each, expand=expand) for each in document.open_hypotheses],
            unknowns=[UnknownShape.from_unknown(each) for each in document.open_unknowns],
            findings=[FindingShape.from_hypothesis(each, expand=expand) for each in document.findings],
            **closed,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the JSON of the engagement's response, without the fields that were not requested."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class ChangeShape(_CamelModel):
    """One change with its turn and reason."""

    seq: int
    at: str
    kind: str
    who: str
    turn_id: str | None
    reason: str
    change: dict[str, Any]

    @classmethod
    def from_entry(cls, entry: EngagementEntry) -> Self:
        """Return a journal entry of the engagement as the API shows it."""
        change = _camel_keys(DELTA_ADAPTER.dump_python(entry.delta, mode="json"))
        kind = str(change.pop("kind"))
        return cls(
            seq=entry.seq,
            at=format_time(entry.at),
            kind=kind,
            who=entry.who,
            turn_id=entry.turn_id,
            reason=entry.reason,
            change=change,
        )


def _evidence_of(hypothesis: Hypothesis, *, expand: bool) -> list[str] | list[EvidenceShape]:
    """Return the hypothesis' evidence as sentences, or as objects with weight and whether it is outstanding."""
    if not expand:
        return [line.line for line in hypothesis.evidence]
    outstanding = {line.id for line in outstanding_contradictions(hypothesis.evidence)}
    weights = line_weights(hypothesis.evidence)
    return [
        EvidenceShape.from_line(line, outstanding=line.id in outstanding, weight=weights[line.id])
        for line in hypothesis.evidence
    ]


def _camel_keys(value: Any) -> Any:
    """Return the JSON value with every object's keys in camel case, at any depth."""
    if isinstance(value, dict):
        return {to_camel(name): _camel_keys(inner) for name, inner in value.items()}
    return [_camel_keys(inner) for inner in value] if isinstance(value, list) else value
