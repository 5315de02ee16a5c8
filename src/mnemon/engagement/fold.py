"""The reducer: entries of the journal, in order, make the document. Total: what no longer applies changes nothing."""

from collections.abc import Iterable
from dataclasses import replace

from mnemon.engagement.delta import (
    Advanced,
    Answered,
    Archived,
    Collected,
    Entry,
    Formed,
    Opened,
    Promoted,
    Reopened,
    Resolvable,
    Wondered,
)
from mnemon.engagement.document import KEPT_ANSWERED, KEPT_ARCHIVED, Engagement, Hypothesis, Unknown
from mnemon.engagement.lifecycle import Event, event_of, step


def fold(entries: Iterable[Entry], start: Engagement | None = None) -> Engagement | None:
    """The document after the entries; None while there are none."""
    document = start
    for entry in entries:
        document = apply(document, entry)
    return document


def apply(document: Engagement | None, entry: Entry) -> Engagement:
    """The document after one more entry."""
    before = document or Engagement()
    after = replace(before, changed_in_week=before.changed_in_week + 1)
    delta = entry.delta
    if isinstance(delta, Opened):
        return after
    if isinstance(delta, Advanced):
        return replace(after, week=delta.week, week_at=entry.at, week_turn=entry.turn_id, changed_in_week=0)
    if isinstance(delta, Wondered | Answered):
        return _unknown(after, entry, delta)
    if isinstance(delta, Formed):
        return _formed(after, entry, delta)
    held = after.hypothesis(delta.hypothesis)
    if held is None:
        return after
    return _with(after, _changed(held, entry, delta))


def _formed(document: Engagement, entry: Entry, delta: Formed) -> Engagement:
    if document.hypothesis(delta.hypothesis) is not None:
        return document
    formed = Hypothesis(
        id=delta.hypothesis,
        statement=delta.statement,
        falsified_by=delta.falsified_by,
        formed_at=entry.at,
        formed_in=entry.turn_id or "",
    )
    return replace(document, hypotheses=(*document.hypotheses, formed))


def _changed(
    held: Hypothesis, entry: Entry, delta: Collected | Resolvable | Promoted | Reopened | Archived
) -> Hypothesis:
    if isinstance(delta, Collected):
        return _collected(held, delta)
    if isinstance(delta, Resolvable):
        return replace(held, would_resolve=delta.text, would_resolve_at=entry.at)
    if isinstance(delta, Promoted):
        stage = step(held.stage, Event.PROMOTE)
        if stage is None:
            return held
        return replace(held, stage=stage, promoted_at=entry.at, threshold=delta.threshold)
    if isinstance(delta, Reopened):
        stage = step(held.stage, Event.REOPEN)
        if stage is None:
            return held
        settled = step(stage, event_of(held.evidence)) or stage
        return replace(held, stage=settled, reopened=held.reopened + 1)
    stage = step(held.stage, Event.ARCHIVE)
    return held if stage is None else replace(held, stage=stage, note=delta.note, archived_at=entry.at)


def _collected(held: Hypothesis, delta: Collected) -> Hypothesis:
    if any(line.id == delta.evidence.id for line in held.evidence):
        return held
    evidence = (*held.evidence, delta.evidence)
    # A contradicted finding stays one until its own `Reopened` entry, which follows at once.
    stage = step(held.stage, event_of(evidence)) or held.stage
    return replace(held, evidence=evidence, stage=stage)


def _unknown(document: Engagement, entry: Entry, delta: Wondered | Answered) -> Engagement:
    if isinstance(delta, Wondered):
        if any(each.id == delta.unknown for each in document.unknowns):
            return document
        fresh = Unknown(
            id=delta.unknown, question=delta.question, why_it_matters=delta.why_it_matters, asked_at=entry.at
        )
        return replace(document, unknowns=(*document.unknowns, fresh))
    unknowns = tuple(
        replace(each, answer=delta.answer) if each.id == delta.unknown and each.answer is None else each
        for each in document.unknowns
    )
    return _bounded(replace(document, unknowns=unknowns))


def _with(document: Engagement, changed: Hypothesis) -> Engagement:
    hypotheses = tuple(changed if each.id == changed.id else each for each in document.hypotheses)
    return _bounded(replace(document, hypotheses=hypotheses))


def _bounded(document: Engagement) -> Engagement:
    """The document without the oldest of what is over and done with; the journal keeps it."""
    archived = sorted(document.archived, key=lambda each: (each.archived_at or each.formed_at, each.id))
    answered = sorted(document.answered, key=lambda each: (each.asked_at, each.id))
    gone = {each.id for each in archived[:-KEPT_ARCHIVED]} | {each.id for each in answered[:-KEPT_ANSWERED]}
    if not gone:
        return document
    return replace(
        document,
        hypotheses=tuple(each for each in document.hypotheses if each.id not in gone),
        unknowns=tuple(each for each in document.unknowns if each.id not in gone),
    )
