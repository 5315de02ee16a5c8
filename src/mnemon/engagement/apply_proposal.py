"""Unknowns and the week on the scales.

A proposal weighed against the state: which effects it has, and what the gates kept out. Pure.
"""

from dataclasses import dataclass

from mnemon.engagement import gates, hypotheses, week
from mnemon.engagement.document import MAX_UNKNOWNS, Engagement, UnknownAnswer
from mnemon.engagement.journal import EngagementEntry, EngagementOpened, UnknownAnswered, UnknownAsked, WeekAdvanced
from mnemon.engagement.proposal import AnswerProposal, EngagementProposal, UnknownProposal
from mnemon.engagement.proposal_applier import EngagementRules, ProposalApplier
from mnemon.evidence.quote_gate import find_quote
from mnemon.scope import NewId
from mnemon.section import SectionResult
from mnemon.turn import Turn


def add_unknown(scales: ProposalApplier, question: UnknownProposal) -> None:
    """A question becomes an unknown; the same question asked again is the same unknown."""
    what = f"unknown: {question.question}"
    asked, why = gates.collapse_spaces(question.question), gates.collapse_spaces(question.why_it_matters)
    if any(gates.normalize_words(each.question) == gates.normalize_words(asked) for each in scales.document.unknowns):
        scales.skipped += 1
        return
    fault = gates.text_fault("question", asked, scales.known_texts()) or gates.text_fault(
        "whyItMatters", why, scales.known_texts()
    )
    if fault is None and len(scales.document.open_unknowns) >= MAX_UNKNOWNS:
        fault = f"{MAX_UNKNOWNS} unknowns are open, which is the most: answer one first"
    if fault is not None:
        scales.reject(what, fault)
        return
    scales.append_delta(UnknownAsked(unknown=scales.new_id("unk"), question=asked, why_it_matters=why), why)
    scales.stored += 1


def answer_unknown(scales: ProposalApplier, answer: AnswerProposal) -> None:
    """An unknown is closed by the quote that answers it."""
    what = f"answered: {answer.unknown}"
    named = gates.normalize_words(answer.unknown)
    held = next(
        (
            each
            for each in scales.document.unknowns
            if answer.unknown == each.id or named == gates.normalize_words(each.question)
        ),
        None,
    )
    quotation = find_quote(answer.quote, scales.passages)
    if held is None:
        scales.reject(what, "there is no such unknown: name an id from the state")
    elif held.answer is not None:
        scales.skipped += 1
    elif quotation is None or len(quotation.text) > gates.MAX_QUOTE_CHARS:
        scales.reject(
            what, "quote gate: the quote does not stand in the person's message or a tool result of this turn"
        )
    else:
        closed = UnknownAnswer(
            quote=quotation.text,
            who=quotation.passage.who,
            at=scales.turn.at,
            turn_id=scales.turn.id,
            message_id=quotation.passage.message_id,
            start=quotation.start,
            end=quotation.end,
        )
        scales.append_delta(UnknownAnswered(unknown=held.id, answer=closed), f"answered by {closed.who}")
        scales.updated += 1


def advance_week(scales: ProposalApplier, reason: str) -> None:
    """The week moves on by one, once a turn, when its work is done."""
    why = gates.collapse_spaces(reason)
    if scales.document.week_turn == scales.turn.id:
        scales.skipped += 1
    elif scales.document.week_at is not None and scales.document.week_at > scales.turn.at:
        scales.reject("week: advance", "a later turn has moved the week already")
    elif fault := gates.text_fault("reason", why, scales.known_texts()) or week.advance_veto(
        scales.document, scales.heard
    ):
        scales.reject("week: advance", fault)
    else:
        scales.append_delta(WeekAdvanced(week=scales.document.week + 1), why)
        scales.updated += 1


@dataclass(frozen=True, kw_only=True)
class ProposalOutcome:
    """What a proposal came to."""

    document: Engagement
    entries: tuple[EngagementEntry, ...]
    report: SectionResult


def apply_proposal(
    document: Engagement | None,
    proposal: EngagementProposal,
    *,
    turn: Turn,
    heard: int,
    seq: int,
    rules: EngagementRules,
    new_id: NewId,
) -> ProposalOutcome:
    """The effects of the proposal on the document, in order; `heard` counts the user turns, this one included."""
    scales = ProposalApplier(
        document=document or Engagement(), turn=turn, heard=heard, seq=seq, rules=rules, new_id=new_id
    )
    if document is None:
        scales.append_delta(EngagementOpened(), "the first turn of the engagement")
    for form in proposal.form:
        hypotheses.form_hypothesis(scales, form)
    for landing in proposal.evidence:
        hypotheses.add_evidence(scales, landing)
    for archive in proposal.archive:
        hypotheses.archive_hypothesis(scales, archive)
    for named in proposal.would_resolve:
        hypotheses.name_resolution(scales, named)
    for question in proposal.unknowns:
        add_unknown(scales, question)
    for answer in proposal.answered:
        answer_unknown(scales, answer)
    hypotheses.promote_ready(scales)
    if proposal.week is not None and proposal.week.advance:
        advance_week(scales, proposal.week.reason)
    return ProposalOutcome(document=scales.document, entries=tuple(scales.entries), report=scales.report)
