"""A proposal weighed against the state: which effects it has, and what the gates kept out. Pure."""

from dataclasses import dataclass

from mnemon.engagement import claims, questions
from mnemon.engagement.answer import Proposal
from mnemon.engagement.delta import Entry, Opened
from mnemon.engagement.document import Engagement
from mnemon.engagement.scales import Rules, Scales
from mnemon.ids import NewId
from mnemon.section import Report
from mnemon.turn import Turn


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a proposal came to."""

    document: Engagement
    entries: tuple[Entry, ...]
    report: Report


def weigh(
    document: Engagement | None, proposal: Proposal, *, turn: Turn, heard: int, seq: int, rules: Rules, new_id: NewId
) -> Outcome:
    """The effects of the proposal on the document, in order; `heard` counts the user turns, this one included."""
    scales = Scales(document=document or Engagement(), turn=turn, heard=heard, seq=seq, rules=rules, new_id=new_id)
    if document is None:
        scales.enter(Opened(), "the first turn of the engagement")
    for form in proposal.form:
        claims.form(scales, form)
    for landing in proposal.evidence:
        claims.collect(scales, landing)
    for archive in proposal.archive:
        claims.archive(scales, archive)
    for named in proposal.would_resolve:
        claims.would_resolve(scales, named)
    for question in proposal.unknowns:
        questions.wonder(scales, question)
    for answer in proposal.answered:
        questions.answer(scales, answer)
    claims.settle(scales)
    if proposal.week is not None and proposal.week.advance:
        questions.advance(scales, proposal.week.reason)
    return Outcome(document=scales.document, entries=tuple(scales.entries), report=scales.report)
