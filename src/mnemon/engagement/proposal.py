"""The model's answer for the section `engagement` of the reflection.

The docstrings and descriptions of these classes are part of the JSON schema that the model is sent: whoever edits one
edits a prompt.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from mnemon.evidence.confidence import Stance, Strength

_OPTIONAL = frozenset({"resolves", "supersededBy"})


def _require_all_fields(schema: dict[str, Any]) -> None:
    """Mark every field as required in the schema, but `resolves` and `supersededBy`.

    The fields have defaults all the same: a missing text is rejected by a gate and costs one entry, not the whole
    answer.
    """
    schema["required"] = [name for name in schema["properties"] if name not in _OPTIONAL]


class _ProposalModel(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, extra="ignore", json_schema_extra=_require_all_fields
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, given: Any) -> Any:
        """Return a model's answer without its nulls, which models write for what they leave out."""
        return {name: value for name, value in given.items() if value is not None} if isinstance(given, dict) else given


class EvidenceProposal(_ProposalModel):
    """One piece of evidence."""

    line: str = Field(default="", description="One short attributed sentence.")
    quote: str = Field(
        default="", description="The words it rests on, copied character by character from a message or tool result."
    )
    source: str = Field(
        default="", description="Whose words they are: the person who speaks, or somebody they say told them this."
    )
    stance: Stance
    strength: Strength


class HypothesisProposal(_ProposalModel):
    """A new hypothesis."""

    statement: str = ""
    falsified_by: str = Field(default="", description="What would show it wrong.")
    evidence: list[EvidenceProposal] = []


class AddedEvidence(EvidenceProposal):
    """Evidence for or against a hypothesis or finding that is on record."""

    hypothesis: str = Field(default="", description="Its id.")
    resolves: list[str] = Field(default=[], description="Ids of contradicting evidence that this settles.")


class ResolutionProposal(_ProposalModel):
    """What would settle mixed evidence."""

    hypothesis: str = ""
    text: str = ""


class UnknownProposal(_ProposalModel):
    """Something not known yet."""

    question: str = ""
    why_it_matters: str = Field(default="", description="Why the answer changes the recommendation.")


class AnswerProposal(_ProposalModel):
    """The quote that answers an unknown."""

    unknown: str = Field(default="", description="Its id.")
    quote: str = ""


class ArchiveProposal(_ProposalModel):
    """A hypothesis to give up."""

    hypothesis: str = ""
    note: str = Field(default="", description="Why.")
    superseded_by: str = Field(
        default="", description="The id of the hypothesis or finding that takes its place; empty if it is contradicted."
    )


class WeekProposal(_ProposalModel):
    """Whether the week's work is done."""

    advance: bool = False
    reason: str = ""


class EngagementProposal(_ProposalModel):
    """Everything the model proposes for the engagement after one turn."""

    # Unlike the texts in its members, every list may be left out.
    model_config = ConfigDict(json_schema_extra=None)

    form: list[HypothesisProposal] = []
    evidence: list[AddedEvidence] = []
    would_resolve: list[ResolutionProposal] = []
    unknowns: list[UnknownProposal] = []
    answered: list[AnswerProposal] = []
    archive: list[ArchiveProposal] = []
    week: WeekProposal | None = None


class EngagementReflection(BaseModel):
    """The section's answer; left out, it found nothing."""

    engagement: EngagementProposal = EngagementProposal()
