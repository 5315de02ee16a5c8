"""The engagement document: what the fold of the journal holds."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import TypeAdapter

from mnemon.evidence.confidence import EvidenceLine

MAX_OPEN = 20
"""Hypotheses that can be open at a time."""
MAX_FINDINGS = 60
MAX_EVIDENCE = 30
"""Evidence lines of one hypothesis. Contradictions have `EXTRA_CONTRADICTIONS` more: support must not keep them out."""
EXTRA_CONTRADICTIONS = 10
MAX_UNKNOWNS = 40
"""Questions that can be open at a time."""
MAX_ARCHIVED = 40
"""Archived hypotheses the document still shows; the journal has them all."""
MAX_ANSWERED = 40
"""Answered unknowns the document still shows; the journal has them all."""


class HypothesisStage(StrEnum):
    """Where a hypothesis stands; `lifecycle` draws how it moves."""

    FORMED = "formed"
    """Stated, with what would falsify it; no evidence yet."""
    COLLECTING = "collecting"
    """Evidence comes in and nothing speaks against it unresolved."""
    REVISING = "revising"
    """Evidence is mixed, or speaks against it."""
    FINDING = "finding"
    """Promoted: load-bearing."""
    ARCHIVED = "archived"
    """Given up, with a note on why."""


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A falsifiable claim with its evidence; a finding is one that was promoted."""

    id: str
    """`hyp_…`; a finding keeps it, so that it can be contradicted and reopened."""
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
    """When it became a finding; stays when it is reopened."""
    threshold: float = 0.5
    """The confidence that its promotion had to exceed."""
    reopened: int = 0
    """How often it was a finding and had to be reopened."""
    note: str | None = None
    """Why it was archived."""
    archived_at: datetime | None = None

    @property
    def is_open(self) -> bool:
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
    """A question being chased, until its answer closes it."""

    id: str
    """`unk_…`."""
    question: str
    why_it_matters: str
    """Why answering it changes the recommendation."""
    asked_at: datetime
    answer: UnknownAnswer | None = None


@dataclass(frozen=True, kw_only=True)
class Engagement:
    """All that is believed about one organization."""

    week: int = 1
    """The engagement's own week, from 1; no calendar."""
    week_at: datetime | None = None
    """When the week last advanced."""
    week_turn: str | None = None
    """The turn that advanced it."""
    hypotheses: tuple[Hypothesis, ...] = ()
    """In every stage, oldest first."""
    unknowns: tuple[Unknown, ...] = ()
    """Open and answered, oldest first."""
    changed_in_week: int = 0
    """Entries since the week began."""

    @property
    def open_hypotheses(self) -> tuple[Hypothesis, ...]:
        return tuple(each for each in self.hypotheses if each.is_open)

    @property
    def findings(self) -> tuple[Hypothesis, ...]:
        return tuple(each for each in self.hypotheses if each.stage is HypothesisStage.FINDING)

    @property
    def archived_hypotheses(self) -> tuple[Hypothesis, ...]:
        return tuple(each for each in self.hypotheses if each.stage is HypothesisStage.ARCHIVED)

    @property
    def open_unknowns(self) -> tuple[Unknown, ...]:
        return tuple(each for each in self.unknowns if each.answer is None)

    @property
    def answered(self) -> tuple[Unknown, ...]:
        return tuple(each for each in self.unknowns if each.answer is not None)

    def find_hypothesis(self, hypothesis_id: str) -> Hypothesis | None:
        return next((each for each in self.hypotheses if each.id == hypothesis_id), None)


ENGAGEMENT_ADAPTER: TypeAdapter[Engagement] = TypeAdapter(Engagement)
"""The document as JSON and back."""
