"""Turns and proposals for tests of the engagement, and an engagement without a database that takes them one by one."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from mnemon.engagement.apply_proposal import ProposalOutcome, apply_proposal
from mnemon.engagement.document import Engagement
from mnemon.engagement.journal import EngagementEntry
from mnemon.engagement.proposal import EngagementProposal, EngagementReflection
from mnemon.engagement.proposal_applier import EngagementRules
from mnemon.engagement.relevance import carries_content
from mnemon.scope import person_scope
from mnemon.turn import Role, Turn, TurnMessage

START = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)


def ids() -> Any:
    """Ids that count."""

    def numbers() -> Iterator[int]:
        place = 0
        while True:
            place += 1
            yield place

    count = numbers()
    return lambda prefix: f"{prefix}_{next(count):026d}"


def turn(
    text: str,
    *,
    number: int = 1,
    who: str = "dana",
    at: datetime = START,
    org: str = "acme",
    persona: str | None = None,
) -> Turn:
    """A stored turn in which a person says one thing and gets a short reply."""
    said = (
        TurnMessage(message_id=f"msg_{number}_{who}", role=Role.USER, content=text, name=None, at=at),
        TurnMessage(message_id=f"msg_{number}_{who}_reply", role=Role.ASSISTANT, content="Noted.", name=None, at=at),
    )
    return Turn(
        id=f"trn_{number}_{who}",
        session_id=f"ses_{who}",
        seq=number,
        scope=person_scope(org, who, persona),
        user_name=who,
        at=at,
        messages=said,
    )


def piece(quote: str, *, stance: str = "supports", strength: str = "moderate", **more: Any) -> dict[str, Any]:
    """A piece of evidence that rests on the quote."""
    return {"line": f"Said: {quote}", "quote": quote, "source": "dana", "stance": stance, "strength": strength, **more}


def claim(statement: str, *evidence: dict[str, Any], falsified_by: str = "the logs show otherwise") -> dict[str, Any]:
    return {"statement": statement, "falsifiedBy": falsified_by, "evidence": list(evidence)}


def answer(**parts: Any) -> EngagementReflection:
    """The section's answer as a model would give it."""
    return EngagementReflection.model_validate({"engagement": parts})


@dataclass
class Room:
    """An engagement that takes turns in memory."""

    rules: EngagementRules = field(default_factory=lambda: EngagementRules(first_hypothesis_turns=0))
    document: Engagement | None = None
    entries: list[EngagementEntry] = field(default_factory=list)
    heard: int = 0
    turns: int = 0
    new_id: Any = field(default_factory=ids)

    def say(self, text: str, *, who: str = "dana", at: datetime | None = None, **parts: Any) -> ProposalOutcome:
        """One more turn with its proposal, an hour after the last."""
        self.turns += 1
        when = at or START + timedelta(hours=self.turns)
        return self.take(turn(text, number=self.turns, who=who, at=when), **parts)

    def take(self, taken: Turn, **parts: Any) -> ProposalOutcome:
        self.heard += carries_content(taken.user_text)
        outcome = apply_proposal(
            self.document,
            EngagementProposal.model_validate(parts),
            turn=taken,
            heard=self.heard,
            seq=self.entries[-1].seq if self.entries else 0,
            rules=self.rules,
            new_id=self.new_id,
        )
        self.document = outcome.document
        self.entries += outcome.entries
        return outcome

    @property
    def state(self) -> Engagement:
        assert self.document is not None
        return self.document
