"""Apply a model's proposal to the engagement: which effects it has, and what the gates reject. Pure.

Hypotheses are handled in `hypotheses.py`; unknowns and the week here.
"""

from dataclasses import dataclass

from mnemon.engagement import gates, hypotheses, promotion, week
from mnemon.engagement.document import MAX_UNKNOWNS, Engagement, UnknownAnswer
from mnemon.engagement.journal import EngagementEntry, EngagementOpened, UnknownAnswered, UnknownAsked, WeekAdvanced
from mnemon.engagement.proposal import AnswerProposal, EngagementProposal, UnknownProposal
from mnemon.engagement.proposal_applier import EngagementRules, ProposalApplier
from mnemon.evidence.quote_gate import find_quote
from mnemon.scope import NewId
from mnemon.section import SectionResult
from mnemon.turn import Turn


def add_unknown(applier: ProposalApplier, question: UnknownProposal) -> None:
    """Append the proposed question to the engagement as an unknown; skip one on record, reject a faulty one."""
    what = f"unknown: {question.question}"
    text, why = gates.collapse_spaces(question.question), gates.collapse_spaces(question.why_it_matters)
    if any(gates.normalize_words(each.question) == gates.normalize_words(text) for each in applier.document.unknowns):
        applier.skipped += 1
        return
    fault = gates.text_fault("question", text, applier.known_texts()) or gates.text_fault(
        "whyItMatters", why, applier.known_texts()
    )
    if fault is None and len(applier.document.open_unknowns) >= MAX_UNKNOWNS:
        fault = f"{MAX_UNKNOWNS} unknowns are open, which is the limit: answer one first"
    if fault is not None:
        applier.reject(what, fault)
        return
    applier.append_delta(UnknownAsked(unknown=applier.new_id("unk"), question=text, why_it_matters=why), why)
    applier.stored += 1


def answer_unknown(applier: ProposalApplier, answer: AnswerProposal) -> None:
    """Close an unknown with the quote that answers it; reject the answer if there is no such quote."""
    what = f"answered: {answer.unknown}"
    named = gates.normalize_words(answer.unknown)
    # By its words too: a model may name an unknown by its question instead of its id.
    unknown = next(
        (
            each
            for each in applier.document.unknowns
            if answer.unknown == each.id or named == gates.normalize_words(each.question)
        ),
        None,
    )
    quotation = find_quote(answer.quote, applier.passages)
    if unknown is None:
        applier.reject(what, "there is no such unknown: name an id from the state")
    elif unknown.answer is not None:
        applier.skipped += 1
    elif quotation is None or len(quotation.text) > gates.MAX_QUOTE_CHARS:
        applier.reject(
            what, "quote gate: the quote does not occur in the person's message or a tool result of this turn"
        )
    else:
        closed = UnknownAnswer(
            quote=quotation.text,
            who=quotation.passage.who,
            at=applier.turn.at,
            turn_id=applier.turn.id,
            message_id=quotation.passage.message_id,
            start=quotation.start,
            end=quotation.end,
        )
        applier.append_delta(UnknownAnswered(unknown=unknown.id, answer=closed), f"answered by {closed.who}")
        applier.updated += 1


def advance_week(applier: ProposalApplier, reason: str) -> None:
    """Advance the engagement's week by one, at most once a turn; reject it while the week's work is not done."""
    why = gates.collapse_spaces(reason)
    if applier.document.week_turn == applier.turn.id:
        applier.skipped += 1
    # Turns may be reflected late and out of order.
    elif applier.document.week_at is not None and applier.document.week_at > applier.turn.at:
        applier.reject("week: advance", "a later turn has moved the week already")
    elif fault := gates.text_fault("reason", why, applier.known_texts()) or week.advance_veto(
        applier.document, applier.heard
    ):
        applier.reject("week: advance", fault)
    else:
        applier.append_delta(WeekAdvanced(week=applier.document.week + 1), why)
        applier.updated += 1


@dataclass(frozen=True, kw_only=True)
class ProposalOutcome:
    """The result of a proposal."""

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
    """Return the outcome of applying a proposal to the document; `heard` counts the turns with content so far."""
    applier = ProposalApplier(
        document=document or Engagement(), turn=turn, heard=heard, seq=seq, rules=rules, new_id=new_id
    )
    # The journal says when the engagement began, so that a replay of it begins alike.
    if document is None:
        applier.append_delta(EngagementOpened(), "the first turn of the engagement")
    # New hypotheses first: evidence further down may name one by its statement, since the model cannot know its id.
    for form in proposal.form:
        hypotheses.form_hypothesis(applier, form)
    for added in proposal.evidence:
        hypotheses.add_evidence(applier, added)
    for archive in proposal.archive:
        hypotheses.archive_hypothesis(applier, archive)
    for named in proposal.would_resolve:
        hypotheses.record_resolution(applier, named)
    for question in proposal.unknowns:
        add_unknown(applier, question)
    for answer in proposal.answered:
        answer_unknown(applier, answer)
    # After all evidence of the turn, so that a contradiction further down the proposal still prevents a promotion.
    promotion.promote_ready(applier)
    if proposal.week is not None and proposal.week.advance:
        advance_week(applier, proposal.week.reason)
    return ProposalOutcome(document=applier.document, entries=tuple(applier.entries), report=applier.report)
