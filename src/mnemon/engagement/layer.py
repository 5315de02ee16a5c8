"""L8: what is believed about the organization, for the model to reason with, not to recite."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from mnemon.db.tx import Tx
from mnemon.engagement import store, week
from mnemon.engagement.document import Engagement, Hypothesis
from mnemon.engagement.lifecycle import (
    confidence_of,
    format_line_source,
    format_source,
    is_proposed_for_archive,
    outstanding_contradictions,
    resolution_text,
)
from mnemon.engagement.reading import document_texts
from mnemon.event_loop import run_off_loop
from mnemon.evidence.confidence import LOG_ODDS_STEPS, EvidenceLine, Stance, round_confidence
from mnemon.evidence.message_words import MessageWords
from mnemon.layer import Layer, LayerItem, LayerRequest
from mnemon.sessions.organization import takes_part_in_engagement

FIRST_SESSION_TEXT = (
    "This is the first session: nothing is held yet about the wider situation behind the conversation. Where it "
    "matters to the task, find out how things stand before you conclude anything."
)
"""The opening before the first session."""
BUDGET = 700
"""The layer's budget in tokens."""
RESERVE = 0.15
"""The share of the whole budget that it keeps."""
_MAX_SHOWN_LINES = 4
_STEP = 0.1
"""How much less each item of a kind is worth than the one before it, so that no kind crowds out the others."""
_RELEVANCE = 3.0
"""What an item gains that shares all its words with the message."""


async def engagement_layer(tx: Tx, ask: LayerRequest) -> Layer:
    """Return the engagement as a layer (part) of the chat prompt; before the first session a short preamble.

    Empty where the persona takes no part, and for a caller who may not read the engagement.
    """
    # The caller's right first: it costs no statement.
    if not ask.sees_engagement:
        return Layer(name="L8", title="Engagement", budget=BUDGET)
    takes_part, stored = await tx.gather(takes_part_in_engagement(tx, ask.scope), store.load_engagement(tx, ask.scope))
    if not takes_part:
        return Layer(name="L8", title="Engagement", budget=BUDGET)
    document = stored.document
    if document is None:
        return Layer(name="L8", title="Engagement", opening=FIRST_SESSION_TEXT, budget=BUDGET)
    size = sum(map(len, document_texts(document)))
    return await run_off_loop(size, lambda: document_layer(document, ask.query))


def document_layer(document: Engagement, message: str = "") -> Layer:
    """Return an engagement as a layer of the chat prompt: by kind, the newest first."""
    return Layer(
        name="L8",
        title="Engagement",
        opening=layer_opening(document),
        items=tuple(_layer_items(document, MessageWords(message))),
        budget=BUDGET,
        reserve=RESERVE,
        ask="get_engagement",
    )


def layer_opening(document: Engagement) -> str:
    """Return the text that opens the engagement in the prompt: the week, and how to use what follows."""
    row = week.week_rules(document.week)
    return (
        f"The engagement is in week {document.week} ({row.work}). {row.bias} Use what follows to calibrate your "
        "reasoning; do not recite it. Attribute a figure to who shared it. A number in brackets is the confidence that "
        "the evidence gives a hypothesis."
    )


def _layer_items(document: Engagement, words: MessageWords) -> Iterator[LayerItem]:
    """Yield findings, hypotheses and unknowns as items of the prompt, the newest of each first.

    What is answered or was shown wrong is yielded where it bears on the message: nobody should ask or claim it again.
    """
    newest = sorted(document.findings, key=_promoted_at, reverse=True)
    yield from _valued(
        4.0,
        [_item(f"Finding: {one.statement} ({format_source(one)})", *_source_ids(one)) for one in newest],
        words,
    )
    surest = sorted(document.open_hypotheses, key=lambda one: (confidence_of(one), one.formed_at), reverse=True)
    yield from _valued(3.9, [_hypothesis_item(one) for one in surest], words)
    asked = reversed(document.open_unknowns)
    yield from _valued(
        3.8, [_item(f"Unknown: {one.question} It matters: {one.why_it_matters}", one.id) for one in asked], words
    )
    closed = [_item(text, source) for text, source in _closed_lines(document) if words.touches(text)]
    yield from _valued(3.0, closed, words)


def _valued(worth: float, items: Sequence[LayerItem], words: MessageWords) -> Iterator[LayerItem]:
    """Yield the items of one kind, in their order, with values: what bears on the message first, then in that order."""
    relevance = [round(words.relevance(item.text), 2) for item in items]
    ranked = sorted(range(len(items)), key=lambda place: (-relevance[place], place))
    rank_of = {place: rank for rank, place in enumerate(ranked)}
    for place, item in enumerate(items):
        value = item.value + worth + _RELEVANCE * relevance[place] - rank_of[place] * _STEP
        yield replace(item, value=value)


def _promoted_at(finding: Hypothesis) -> datetime:
    """Return when a hypothesis became a finding, for sorting."""
    return finding.promoted_at or finding.formed_at


def _item(text: str, *sources: str) -> LayerItem:
    """Return an item of the prompt that has no value yet."""
    return LayerItem(text=text, sources=sources, value=0.0)


def _hypothesis_item(hypothesis: Hypothesis) -> LayerItem:
    """Return an open hypothesis as an item; worth more, and urgent, while a contradiction is outstanding."""
    item = _item(_format_hypothesis(hypothesis, resolution_text(hypothesis)), *_source_ids(hypothesis))
    contradicted = bool(outstanding_contradictions(hypothesis.evidence))
    return replace(item, value=3.0 if contradicted else 0.0, urgent=contradicted)


def _closed_lines(document: Engagement) -> Iterator[tuple[str, str]]:
    """Yield answered unknowns with their answers and disproved claims with the reason, newest first, and their ids."""
    for unknown in reversed(document.answered):
        if unknown.answer is not None:
            told = f"{unknown.answer.who}, {unknown.answer.at:%Y-%m-%d}"
            yield f"Answered: {unknown.question} “{unknown.answer.quote}” ({told})", unknown.id
    for claim in reversed(document.archived_hypotheses):
        yield f"Given up, do not propose it again without new evidence: {claim.statement} ({claim.note})", claim.id


def _format_hypothesis(hypothesis: Hypothesis, mixed: str | None) -> str:
    """Return a hypothesis as lines of the prompt: confidence, statement, what is mixed, its telling evidence."""
    lines = [f"Hypothesis [{round_confidence(confidence_of(hypothesis)):.2f}]: {hypothesis.statement}"]
    if hypothesis.reopened:
        lines.append("It was a finding and was reopened.")
    if is_proposed_for_archive(hypothesis):
        lines.append("Little is left of it: it is proposed for archive.")
    if mixed:
        lines.append(f"Evidence is mixed; this would resolve it: {mixed}")
    for line in _shown_evidence(hypothesis):
        sign = "for" if line.stance is Stance.SUPPORTS else "against"
        lines.append(f"{sign} ({format_line_source(line)}): {line.line}")
    hidden = len(hypothesis.evidence) - _MAX_SHOWN_LINES
    if hidden > 0:
        lines.append(f"{hidden} more {'piece' if hidden == 1 else 'pieces'} of evidence")
    return "\n".join(lines)


def _shown_evidence(hypothesis: Hypothesis) -> tuple[EvidenceLine, ...]:
    """Return the evidence that the prompt shows: the strongest outstanding contradictions, then the latest lines."""
    outstanding = sorted(
        outstanding_contradictions(hypothesis.evidence), key=lambda line: (LOG_ODDS_STEPS[line.strength], line.at)
    )
    first = [line.id for line in reversed(outstanding)][: _MAX_SHOWN_LINES - 1]
    latest = [line.id for line in reversed(hypothesis.evidence) if line.id not in first]
    shown = {*first, *latest[: _MAX_SHOWN_LINES - len(first)]}
    return tuple(line for line in hypothesis.evidence if line.id in shown)


def _source_ids(hypothesis: Hypothesis) -> tuple[str, ...]:
    """Return the ids that a prompt item cites: the hypothesis' own and those of its evidence lines."""
    return (hypothesis.id, *(line.id for line in hypothesis.evidence))
