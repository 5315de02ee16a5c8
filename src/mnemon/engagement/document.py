"""The engagement document: the result of folding the journal."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import TypeAdapter

from mnemon.evidence.confidence import EvidenceLine

MAX_OPEN = 20
"""The most hypotheses that can be open at a time."""
MAX_FINDINGS = 60
"""The most findings of a document."""
MAX_EVIDENCE = 30
"""The most evidence lines of one hypothesis."""
EXTRA_CONTRADICTIONS = 10
"""How many contradicting lines may exceed `MAX_EVIDENCE`, so that support cannot crowd them out."""
MAX_UNKNOWNS = 40
"""The most questions that can be open at a time."""
MAX_ARCHIVED = 40
"""The most archived hypotheses that the document shows; the journal has them all."""
MAX_ANSWERED = 40
"""The most answered unknowns that the document shows; the journal has them all."""


class HypothesisStage(StrEnum):
    """The stage of a hypothesis; `lifecycle` draws the transitions."""

    FORMED = "formed"
    """Stated, with what would falsify it; no evidence yet."""
    COLLECTING = "collecting"
    """It has evidence, and no contradiction is outstanding."""
    REVISING = "revising"
    """Its evidence is mixed or contradicts it."""
    FINDING = "finding"
    """Promoted: other conclusions may rest on it."""
    ARCHIVED = "archived"
    """Abandoned, with a note on why."""


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A falsifiable claim with its evidence; a finding is a promoted hypothesis."""

    id: str
    """Begins with `hyp_`; a finding keeps it, so that it can be contradicted and reopened."""
    statement: str
    falsified_by: str
    """What would show it wrong."""
    formed_at: datetime
    formed_in: str
    """The turn that formed it."""
    stage: HypothesisStage = HypothesisStage.FORMED
    evidence: tuple[EvidenceLine, ...] = ()
    would_resolve: str | None = None
    """What would settle mixed evidence, as the reflection named it."""
    would_resolve_at: datetime | None = None
    promoted_at: datetime | None = None
    """When it became a finding; kept when it is reopened."""
    threshold: float = 0.5
    """The confidence that its promotion had to exceed."""
    reopened: int = 0
    """How often it was a finding and was reopened."""
    note: str | None = None
    """Why it was archived."""
    archived_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Say whether the hypothesis is neither a finding nor archived."""
        return self.stage not in (HypothesisStage.FINDING, HypothesisStage.ARCHIVED)


@dataclass(frozen=True, kw_only=True)
class UnknownAnswer:
    """The evidence that answered an unknown."""

    quote: str
    who: str
    at: datetime
    turn_id: str
    message_id: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """A question under investigation, closed by its answer."""

    id: str
    """Begins with `unk_`."""
    question: str
    why_it_matters: str
    """Why the answer would change the recommendation."""
    asked_at: datetime
    answer: UnknownAnswer | None = None


@dataclass(frozen=True, kw_only=True)
class Engagement:
    """Everything that is believed about one organization."""

    week: int = 1
    """The week of the engagement, from 1; it advances with the work, not with the calendar."""
    week_at: datetime | None = None
    """When the week last advanced."""
    week_turn: str | None = None
    """The turn that advanced it."""
    hypotheses: tuple[Hypothesis, ...] = ()
    """Hypotheses in every stage, oldest first."""
    unknowns: tuple[Unknown, ...] = ()
    """Open and answered unknowns, oldest first."""
    changed_in_week: int = 0
    """The number of journal entries since the week began."""

    @property
    def open_hypotheses(self) -> tuple[Hypothesis, ...]:
        """Return the engagement's hypotheses that are neither findings nor archived."""
        return tuple(each for each in self.hypotheses if each.is_open)

    @property
    def findings(self) -> tuple[Hypothesis, ...]:
        """Return the engagement's hypotheses that were promoted to findings."""
        return tuple(each for each in self.hypotheses if each.stage is HypothesisStage.FINDING)

    @property
    def archived_hypotheses(self) -> tuple[Hypothesis, ...]:
        """Return the engagement's hypotheses that were archived."""
        return tuple(each for each in self.hypotheses if each.stage is HypothesisStage.ARCHIVED)

    @property
    def open_unknowns(self) -> tuple[Unknown, ...]:
        """Return the engagement's questions (unknowns) that have no answer yet."""
        return tuple(each for each in self.unknowns if each.answer is None)

    @property
    def answered(self) -> tuple[Unknown, ...]:
        """Return the engagement's questions (unknowns) that have an answer."""
        return tuple(each for each in self.unknowns if each.answer is not None)

    def find_hypothesis(self, hypothesis_id: str) -> Hypothesis | None:
        """Return the engagement's hypothesis of this id, in any stage; None when there is none."""
        return next((each for each in self.hypotheses if each.id == hypothesis_id), None)


ENGAGEMENT_ADAPTER: TypeAdapter[Engagement] = TypeAdapter(Engagement)
"""Reads and writes the document as JSON."""
