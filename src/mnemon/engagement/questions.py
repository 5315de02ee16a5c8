"""Unknowns and the week on the scales."""

from mnemon.engagement import gates, week
from mnemon.engagement.answer import AnswerTo, Question
from mnemon.engagement.delta import Advanced, Answered, Wondered
from mnemon.engagement.document import MOST_UNKNOWNS, Answer
from mnemon.engagement.scales import Scales
from mnemon.evidence.quote import find_quote


def wonder(scales: Scales, question: Question) -> None:
    """A question becomes an unknown; the same question asked again is the same unknown."""
    what = f"unknown: {question.question}"
    asked, why = gates.tidy(question.question), gates.tidy(question.why_it_matters)
    if any(gates.normal(each.question) == gates.normal(asked) for each in scales.document.unknowns):
        scales.skipped += 1
        return
    fault = gates.text_fault("question", asked, scales.known()) or gates.text_fault("whyItMatters", why, scales.known())
    if fault is None and len(scales.document.open_unknowns) >= MOST_UNKNOWNS:
        fault = f"{MOST_UNKNOWNS} unknowns are open, which is the most: answer one first"
    if fault is not None:
        scales.reject(what, fault)
        return
    scales.enter(Wondered(unknown=scales.new_id("unk"), question=asked, why_it_matters=why), why)
    scales.stored += 1


def answer(scales: Scales, answer: AnswerTo) -> None:
    """An unknown is closed by the quote that answers it."""
    what = f"answered: {answer.unknown}"
    named = gates.normal(answer.unknown)
    held = next(
        (
            each
            for each in scales.document.unknowns
            if answer.unknown == each.id or named == gates.normal(each.question)
        ),
        None,
    )
    quotation = find_quote(answer.quote, scales.passages)
    if held is None:
        scales.reject(what, "there is no such unknown: name an id from the state")
    elif held.answer is not None:
        scales.skipped += 1
    elif quotation is None or len(quotation.text) > gates.LONGEST_QUOTE:
        scales.reject(
            what, "quote gate: the quote does not stand in the person's message or a tool result of this turn"
        )
    else:
        closed = Answer(
            quote=quotation.text,
            who=quotation.passage.who,
            at=scales.turn.at,
            turn_id=scales.turn.id,
            message_id=quotation.passage.message_id,
            start=quotation.start,
            end=quotation.end,
        )
        scales.enter(Answered(unknown=held.id, answer=closed), f"answered by {closed.who}")
        scales.updated += 1


def advance(scales: Scales, reason: str) -> None:
    """The week moves on by one, once a turn, when its work is done."""
    why = gates.tidy(reason)
    if scales.document.week_turn == scales.turn.id:
        scales.skipped += 1
    elif scales.document.week_at is not None and scales.document.week_at > scales.turn.at:
        scales.reject("week: advance", "a later turn has moved the week already")
    elif fault := gates.text_fault("reason", why, scales.known()) or week.veto(scales.document, scales.heard):
        scales.reject("week: advance", fault)
    else:
        scales.enter(Advanced(week=scales.document.week + 1), why)
        scales.updated += 1
