"""What the evidence as it stands demands: promotion of what is ready, reopening of what no longer stands. Pure."""

from datetime import datetime

from mnemon.engagement.delta import Delta, Entry, Promoted, Reopened
from mnemon.engagement.document import MOST_FINDINGS, Engagement, Hypothesis
from mnemon.engagement.lifecycle import confidence_of, is_ready, still_stands
from mnemon.evidence.confidence import shown
from mnemon.turn import Turn

MNEMON = "mnemon"
"""Who did what no person's turn did."""


def settled(document: Engagement, threshold: float, turn: Turn, seq: int) -> tuple[list[Entry], list[str]]:
    """Promotions that this turn brings about, and the statements withheld because there is no room for a finding."""
    ready = [each for each in document.open if is_ready(each, threshold)]
    room = max(0, MOST_FINDINGS - len(document.findings))
    entries = [
        Entry(
            seq=seq + place,
            at=max(turn.at, *(line.at for line in each.evidence)),
            turn_id=turn.id,
            user_id=turn.scope.user_id,
            who=turn.user_name,
            reason=_promoted(each, threshold),
            delta=Promoted(hypothesis=each.id, threshold=threshold),
        )
        for place, each in enumerate(ready[:room], start=1)
    ]
    return entries, [each.statement for each in ready[room:]]


def mended(document: Engagement, now: datetime, seq: int) -> list[Entry]:
    """After something was forgotten: findings that lost their ground are reopened."""
    fallen = [each for each in document.findings if not still_stands(each)]
    return [
        _own(seq + place, now, Reopened(hypothesis=each.id), "evidence it stood on was forgotten")
        for place, each in enumerate(fallen, start=1)
    ]


def _promoted(hypothesis: Hypothesis, threshold: float) -> str:
    value = shown(confidence_of(hypothesis))
    return f"confidence {value:.2f}, above {threshold:g}, and no contradiction outstanding"


def _own(seq: int, now: datetime, delta: Delta, reason: str) -> Entry:
    return Entry(seq=seq, at=now, turn_id=None, user_id=None, who=MNEMON, reason=reason, delta=delta)
