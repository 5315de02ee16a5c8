"""The shape in which a model's answer for the section `engagement` is read; `prompt.py` has what it is asked."""

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel

from mnemon.evidence.confidence import Stance, Strength

_NEW_PATTERN = re.compile(r"N([1-9]\d?)", re.IGNORECASE)
"""The name by which evidence refers to a new hypothesis: its place in `form`."""
_LONGEST_NAME = 10


class _ProposalModel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, given: Any) -> Any:
        """Return a model's answer without nulls, which models write for what they leave out."""
        return {name: value for name, value in given.items() if value is not None} if isinstance(given, dict) else given


class EvidenceProposal(_ProposalModel):
    """One piece of evidence."""

    line: str = ""
    """One short attributed sentence."""
    quote: str = ""
    """The words it rests on, copied character by character from a message or tool result."""
    source: str = ""
    """Whose words they are: the person who speaks, or somebody they say told them this."""
    stance: Stance
    strength: Strength


class HypothesisProposal(_ProposalModel):
    """A new hypothesis."""

    statement: str = ""
    falsified_by: str = ""
    """What would show it wrong."""
    evidence: list[EvidenceProposal] = []


class AddedEvidence(EvidenceProposal):
    """Evidence for or against a hypothesis or finding that is on record."""

    hypothesis: str = ""
    """Its id."""
    resolves: list[str] = []
    """Ids of contradicting evidence that this settles."""


class ResolutionProposal(_ProposalModel):
    """What would settle mixed evidence."""

    hypothesis: str = ""
    text: str = ""


class UnknownProposal(_ProposalModel):
    """Something not known yet."""

    question: str = ""
    why_it_matters: str = ""
    """Why the answer changes the recommendation."""


class AnswerProposal(_ProposalModel):
    """The quote that answers an unknown."""

    unknown: str = ""
    """Its id."""
    quote: str = ""


class ArchiveProposal(_ProposalModel):
    """A hypothesis to give up."""

    hypothesis: str = ""
    note: str = ""
    """Why."""
    superseded_by: str = ""
    """The id of the hypothesis or finding that takes its place; empty if it is contradicted."""


class WeekProposal(_ProposalModel):
    """Whether the week's work is done."""

    advance: bool = False
    reason: str = ""


class EngagementProposal(_ProposalModel):
    """Everything the model proposes for the engagement after one turn."""

    form: list[HypothesisProposal] = []
    evidence: list[AddedEvidence] = []
    would_resolve: list[ResolutionProposal] = []
    unknowns: list[UnknownProposal] = []
    answered: list[AnswerProposal] = []
    archive: list[ArchiveProposal] = []
    week: WeekProposal | None = None

    @model_validator(mode="before")
    @classmethod
    def _move_new_evidence(cls, given: Any) -> Any:
        """Move evidence for `N1`, the first new hypothesis, into that hypothesis, since the schema sent is flat."""
        return _with_new_evidence(given) if isinstance(given, dict) else given


def _with_new_evidence(given: dict[str, Any]) -> dict[str, Any]:
    """Return the answer with the evidence for a new hypothesis moved into that hypothesis."""
    formed, evidence = given.get("form"), given.get("evidence")
    if not isinstance(formed, list) or not isinstance(evidence, list):
        return given
    moved: dict[int, list[Any]] = {}
    kept = []
    for one in evidence:
        named = one.get("hypothesis") if isinstance(one, dict) else None
        found = _NEW_PATTERN.fullmatch(named.strip()) if isinstance(named, str) and len(named) < _LONGEST_NAME else None
        place = int(found[1]) - 1 if found else len(formed)
        if place < len(formed) and isinstance(formed[place], dict):
            moved.setdefault(place, []).append(one)
        else:
            kept.append(one)
    joined = [
        {**one, "evidence": [*_as_list(one.get("evidence")), *moved[place]]} if place in moved else one
        for place, one in enumerate(formed)
    ]
    return {**given, "form": joined, "evidence": kept}


def _as_list(given: Any) -> list[Any]:
    """Return a list unchanged, and any other value as an empty list."""
    return given if isinstance(given, list) else []


class EngagementReflection(BaseModel):
    """The section's answer; left out, it found nothing."""

    engagement: EngagementProposal = EngagementProposal()
