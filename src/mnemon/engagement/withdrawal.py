"""What stays of a claim when somebody who spoke for it is forgotten, and how the journal tells it. Pure.

Their own evidence goes. A claim that others support stays, under nobody's name; it is weighed again on what is left.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from mnemon.engagement.document import Engagement, Hypothesis
from mnemon.engagement.journal import (
    EngagementEntry,
    EvidenceCollected,
    EvidenceWithdrawn,
    HypothesisChange,
    HypothesisFormed,
    HypothesisPromoted,
    HypothesisRestored,
)
from mnemon.engagement.lifecycle import confidence_of
from mnemon.engagement.promotion import SYSTEM_AUTHOR, system_entry
from mnemon.engagement.relevance import BORNE_OUT_SHARE, borne_out_share, unheard_names
from mnemon.evidence.confidence import LOG_ODDS_STEPS, EvidenceLine, Stance, round_confidence
from mnemon.evidence.number_gate import number_fault

GENERAL_FALSIFIER = "Evidence that contradicts it."
"""What would falsify a claim whose own falsifier was the forgotten person's."""
_NUMBERED = re.compile(r"\w*\d\w*")


def kept_entries(
    entries: Sequence[EngagementEntry], gone: Collection[int], *, in_their_words: bool = True
) -> list[EngagementEntry]:
    """Return which entries of a forgotten author must stay because others support them, cleared of that author.

    These are the forming of a claim that others support, its promotion, and its return from the archive. Without
    `in_their_words` the claim is stated anew in the words of the evidence that is left.
    """
    left: dict[str, list[EvidenceLine]] = defaultdict(list)
    formed = set()
    for entry in entries:
        if entry.seq not in gone and isinstance(entry.delta, EvidenceCollected):
            left[entry.delta.hypothesis].append(entry.delta.evidence)
        elif entry.seq not in gone and isinstance(entry.delta, HypothesisFormed):
            formed.add(entry.delta.hypothesis)
    supported = {id_ for id_, lines in left.items() if any(line.stance is Stance.SUPPORTS for line in lines)}
    kept = []
    for entry in entries:
        if entry.seq not in gone:
            continue
        if isinstance(entry.delta, HypothesisFormed) and entry.delta.hypothesis in supported:
            kept.append(_reattributed_forming(entry, entry.delta, left[entry.delta.hypothesis], in_their_words))
        elif (
            isinstance(entry.delta, HypothesisPromoted | HypothesisRestored)
            and entry.delta.hypothesis in supported | formed
        ):
            kept.append(replace(entry, turn_id=None, user_id=None, who=SYSTEM_AUTHOR))
    return kept


def orphaned_seqs(entries: Sequence[EngagementEntry]) -> list[int]:
    """Return the positions of system entries whose hypothesis no remaining entry forms."""
    formed = {entry.delta.hypothesis for entry in entries if isinstance(entry.delta, HypothesisFormed)}
    return [
        entry.seq
        for entry in entries
        if entry.user_id is None and isinstance(entry.delta, HypothesisChange) and entry.delta.hypothesis not in formed
    ]


def withdrawal_entries(
    before: Engagement | None, after: Engagement | None, now: datetime, seq: int, whose: str
) -> list[EngagementEntry]:
    """Return an entry for each claim that lost evidence, with its confidence before and after."""
    entries: list[EngagementEntry] = []
    for each in after.hypotheses if after else ():
        earlier = before.find_hypothesis(each.id) if before else None
        if earlier is None:
            continue
        lost = len({line.id for line in earlier.evidence} - {line.id for line in each.evidence})
        if lost:
            was, now_is = _format_confidence(earlier), _format_confidence(each)
            reason = f"evidence of {whose} was withdrawn; confidence {was} → {now_is}"
            delta = EvidenceWithdrawn(hypothesis=each.id, pieces=lost)
            entries.append(system_entry(seq + len(entries) + 1, now, delta, reason))
    return entries


def _format_confidence(hypothesis: Hypothesis) -> str:
    """Return a hypothesis' confidence with two decimals."""
    return f"{round_confidence(confidence_of(hypothesis)):.2f}"


def _reattributed_forming(
    entry: EngagementEntry, delta: HypothesisFormed, left: Sequence[EvidenceLine], in_their_words: bool
) -> EngagementEntry:
    """Return the entry that forms a claim, with attribution and date taken from the others' remaining evidence."""
    first = min(left, key=lambda line: (line.at, line.id))
    support = [line for line in left if line.stance is Stance.SUPPORTS]
    strongest = max(support, key=lambda line: (LOG_ODDS_STEPS[line.strength], line.at, line.id))
    statement, falsified_by = strongest.line, GENERAL_FALSIFIER
    if in_their_words and _is_said_by_others(delta.statement, left):
        statement = delta.statement
    if in_their_words and _is_said_by_others(delta.falsified_by, left):
        falsified_by = delta.falsified_by
    return replace(
        entry,
        at=first.at,
        turn_id=first.turn_id,
        user_id=None,
        who=SYSTEM_AUTHOR,
        reason=f"formed; falsified by: {falsified_by}",
        delta=replace(delta, statement=statement, falsified_by=falsified_by),
    )


def _is_said_by_others(text: str, left: Sequence[EvidenceLine]) -> bool:
    """Say whether the remaining evidence has the text's content, names and figures."""
    said = [f"{line.source} {line.line} {line.quote}" for line in left]
    words = {word for one in said for word in _NUMBERED.findall(one.casefold())}
    return (
        borne_out_share(text, left) >= BORNE_OUT_SHARE
        and not unheard_names(text, said)
        and set(_NUMBERED.findall(text.casefold())) <= words
        and number_fault(text, said) is None
    )
