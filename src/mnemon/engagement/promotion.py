"""Promote hypotheses that the evidence supports, and reopen findings that lost their support. Pure."""

from collections.abc import Collection
from datetime import datetime

from mnemon.engagement.document import MAX_FINDINGS, Engagement, Hypothesis
from mnemon.engagement.journal import EngagementDelta, EngagementEntry, HypothesisPromoted, HypothesisReopened
from mnemon.engagement.lifecycle import confidence_of, is_promotable, is_still_supported
from mnemon.engagement.proposal_applier import ProposalApplier
from mnemon.evidence.confidence import round_confidence
from mnemon.turn import Turn

SYSTEM_AUTHOR = "mnemon"
"""The author of entries that no person's turn caused."""


def promotion_entries(
    document: Engagement, threshold: float, turn: Turn, seq: int
) -> tuple[list[EngagementEntry], list[str]]:
    """Return the promotions that this turn causes, and the statements withheld because the findings are full."""
    ready = [each for each in document.open_hypotheses if is_promotable(each, threshold)]
    room = max(0, MAX_FINDINGS - len(document.findings))
    entries = [
        EngagementEntry(
            seq=seq + place,
            # Turns may be reflected out of order: a promotion is never dated before evidence that it rests on.
            at=max(turn.at, *(line.at for line in each.evidence)),
            turn_id=turn.id,
            user_id=turn.scope.user_id,
            who=turn.user_name,
            reason=promotion_reason(each, threshold),
            delta=HypothesisPromoted(hypothesis=each.id, threshold=threshold),
        )
        for place, each in enumerate(ready[:room], start=1)
    ]
    return entries, [each.statement for each in ready[room:]]


def promote_ready(applier: ProposalApplier) -> None:
    """Promote to findings the hypotheses whose evidence now passes the promotion gate."""
    entries, withheld = promotion_entries(
        applier.document, applier.rules.promotion_threshold, applier.turn, applier.seq
    )
    for entry in entries:
        applier.append_entry(entry)
        applier.updated += 1
    for statement in withheld:
        applier.reject(f"finding: {statement}", "there are as many findings as the document holds")


def promotion_reason(hypothesis: Hypothesis, threshold: float) -> str:
    """Return why the hypothesis became a finding."""
    value = round_confidence(confidence_of(hypothesis))
    return f"confidence {value:.2f}, above {threshold:g}, from independent sources, and no contradiction outstanding"


def reopening_entries(document: Engagement, now: datetime, seq: int, changed: Collection[str]) -> list[EngagementEntry]:
    """Return the entries that reopen findings which lost their support when something was forgotten.

    Only those whose evidence changed: a finding of an earlier version is not judged anew because of somebody else.
    """
    unsupported = [each for each in document.findings if each.id in changed and not is_still_supported(each)]
    return [
        system_entry(seq + place, now, HypothesisReopened(hypothesis=each.id), "evidence it stood on was forgotten")
        for place, each in enumerate(unsupported, start=1)
    ]


def system_entry(seq: int, now: datetime, delta: EngagementDelta, reason: str) -> EngagementEntry:
    """Return a journal entry made by the system, not by a person's turn."""
    return EngagementEntry(seq=seq, at=now, turn_id=None, user_id=None, who=SYSTEM_AUTHOR, reason=reason, delta=delta)
