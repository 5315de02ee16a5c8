"""The working state while a proposal is applied piece by piece: each gate sees the effects of the pieces before it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from mnemon.engagement import gates
from mnemon.engagement.document import Engagement, Hypothesis, HypothesisStage
from mnemon.engagement.journal import EngagementDelta, EngagementEntry, apply_entry
from mnemon.engagement.proposal import EvidenceProposal
from mnemon.engagement.sources import sources_on_record
from mnemon.evidence.confidence import EvidenceLine
from mnemon.evidence.quote_gate import quotable_passages
from mnemon.scope import NewId
from mnemon.section import Rejection, SectionResult
from mnemon.turn import Turn


@dataclass(frozen=True, kw_only=True)
class EngagementRules:
    """The settings that the gates read."""

    promotion_threshold: float = 0.85
    first_hypothesis_turns: int = 3


@dataclass(kw_only=True)
class ProposalApplier:
    """Applies one turn's proposal to the document, and collects entries and rejections."""

    document: Engagement
    turn: Turn
    heard: int
    """The user turns of the engagement that carried content, this one included."""
    seq: int
    """The position of the journal's last entry."""
    rules: EngagementRules
    new_id: NewId
    entries: list[EngagementEntry] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    stored: int = 0
    updated: int = 0
    skipped: int = 0

    def __post_init__(self) -> None:
        """Collect the turn's passages that a proposal may quote, and their texts."""
        self.passages = quotable_passages(self.turn)
        self.spoken = tuple(passage.text for passage in self.passages)

    def append_delta(self, delta: EngagementDelta, reason: str) -> None:
        """Append a journal entry of this turn with the delta, and apply it to the document."""
        self.append_entry(
            EngagementEntry(
                seq=self.seq + 1,
                at=self.turn.at,
                turn_id=self.turn.id,
                user_id=self.turn.scope.user_id,
                who=self.turn.user_name,
                reason=reason,
                delta=delta,
            )
        )

    def append_entry(self, entry: EngagementEntry) -> None:
        """Append the entry to the journal entries of this proposal and apply it to the document."""
        self.seq = entry.seq
        self.entries.append(entry)
        self.document = apply_entry(self.document, entry)

    def reject(self, what: str, why: str) -> None:
        """Record a part of the proposal as rejected, with the reason."""
        self.rejected.append(Rejection(what=gates.storable_line(what)[:160], why=why))

    def find_hypothesis(self, named: str) -> Hypothesis | None:
        """Return the hypothesis with that id or statement, preferably not archived; None without one."""
        by_id = self.document.find_hypothesis(named.strip())
        if by_id is not None:
            return by_id
        # A model may name a hypothesis by its statement: one formed by the same proposal has no id that it could
        # know.
        words = gates.normalize_words(named)
        alike = [each for each in self.document.hypotheses if words and gates.normalize_words(each.statement) == words]
        return next(
            (each for each in alike if each.stage is not HypothesisStage.ARCHIVED), alike[-1] if alike else None
        )

    def evidence_line(self, piece: EvidenceProposal, statement: str) -> EvidenceLine | str:
        """Return a proposed piece as an evidence line for the statement, or the reason why it is rejected."""
        on_record = sources_on_record(self.document)
        return gates.evidence_line(piece, statement, self.turn, self.passages, self.new_id, on_record)

    def recorded_texts(self) -> Iterator[str]:
        """Yield the stored sentences of the engagement, each of which passed the gates."""
        for each in self.document.hypotheses:
            yield each.statement
            yield from (f"{line.source} {line.line} {line.quote}" for line in each.evidence)
        yield from (each.question for each in self.document.unknowns)

    def known_texts(self) -> tuple[str, ...]:
        """Return the texts whose figures an unquoted sentence may use: this turn's, and stored evidence."""
        return (
            *self.spoken,
            *(line.quote for each in self.document.hypotheses for line in each.evidence),
        )

    @property
    def report(self) -> SectionResult:
        """Return how many pieces of the proposal were stored, updated or skipped so far, and the rejected ones."""
        return SectionResult(
            stored=self.stored, updated=self.updated, skipped=self.skipped, rejected=tuple(self.rejected)
        )
