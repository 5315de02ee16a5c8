"""The document while a proposal is put on it, piece by piece: each gate sees what the pieces before it did."""

from dataclasses import dataclass, field

from mnemon.engagement import gates
from mnemon.engagement.delta import Delta, Entry
from mnemon.engagement.document import Engagement, Hypothesis, Stage
from mnemon.engagement.fold import apply
from mnemon.evidence.quote import passages
from mnemon.ids import NewId
from mnemon.section import Rejection, Report
from mnemon.turn import Turn


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The settings that the gates read."""

    promotion_threshold: float = 0.85
    first_hypothesis_turns: int = 3


@dataclass(kw_only=True)
class Scales:
    """One turn's proposal on its way into the document. Lives as long as one weighing."""

    document: Engagement
    turn: Turn
    heard: int
    """User turns of the engagement, this one included."""
    seq: int
    """The journal's last place."""
    rules: Rules
    new_id: NewId
    entries: list[Entry] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    stored: int = 0
    updated: int = 0
    skipped: int = 0

    def __post_init__(self) -> None:
        self.passages = passages(self.turn)
        self.spoken = tuple(passage.text for passage in self.passages)

    def enter(self, delta: Delta, reason: str) -> None:
        self.keep(
            Entry(
                seq=self.seq + 1,
                at=self.turn.at,
                turn_id=self.turn.id,
                user_id=self.turn.scope.user_id,
                who=self.turn.user_name,
                reason=reason,
                delta=delta,
            )
        )

    def keep(self, entry: Entry) -> None:
        self.seq = entry.seq
        self.entries.append(entry)
        self.document = apply(self.document, entry)

    def reject(self, what: str, why: str) -> None:
        self.rejected.append(Rejection(what=gates.storable(what)[:160], why=why))

    def named(self, named: str) -> Hypothesis | None:
        """The hypothesis of that id, or else of that very statement."""
        by_id = self.document.hypothesis(named.strip())
        if by_id is not None:
            return by_id
        words = gates.normal(named)
        alike = [each for each in self.document.hypotheses if words and gates.normal(each.statement) == words]
        return next((each for each in alike if each.stage is not Stage.ARCHIVED), alike[-1] if alike else None)

    def known(self) -> tuple[str, ...]:
        """What a sentence without a quote may take a figure from: this turn, and evidence on record."""
        return (
            *self.spoken,
            *(line.quote for each in self.document.hypotheses for line in each.evidence),
        )

    @property
    def report(self) -> Report:
        return Report(stored=self.stored, updated=self.updated, skipped=self.skipped, rejected=tuple(self.rejected))
