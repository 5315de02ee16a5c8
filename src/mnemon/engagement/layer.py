"""L8: what is believed about the organization, for the model to reason with, not to recite."""

from collections.abc import Iterator

from mnemon.db.tx import Tx
from mnemon.engagement import store, week
from mnemon.engagement.document import Engagement, Hypothesis
from mnemon.engagement.lifecycle import (
    confidence_of,
    format_line_source,
    format_source,
    is_proposed_for_archive,
    resolution_text,
)
from mnemon.evidence.confidence import Stance, round_confidence
from mnemon.layer import Layer, LayerItem, LayerRequest
from mnemon.sessions.people import takes_part_in_engagement

FIRST_SESSION_TEXT = (
    "This is the first session of the engagement, week 1: nothing is known about this organization yet. Begin with "
    "orientation: who is who, what hurts, what has been tried. Form no hypothesis before there is enough to state one "
    "that could be shown wrong."
)
"""The opening before the first session."""
BUDGET = 700
"""The layer's budget in tokens."""
_MAX_SHOWN_LINES = 4


async def engagement_layer(tx: Tx, ask: LayerRequest) -> Layer:
    """Return the engagement as a layer (part) of the chat prompt; before the first session a short preamble.

    Empty where the persona takes no part, and for a caller who may not read the engagement.
    """
    # The caller's right first: it costs no statement.
    if not ask.sees_engagement or not await takes_part_in_engagement(tx, ask.scope):
        return Layer(name="L8", title="Engagement", budget=BUDGET)
    document = (await store.load_engagement(tx, ask.scope)).document
    if document is None:
        return Layer(name="L8", title="Engagement", opening=FIRST_SESSION_TEXT, budget=BUDGET)
    return document_layer(document)


def document_layer(document: Engagement) -> Layer:
    """Return an engagement as a layer of the chat prompt: findings, then mixed evidence, then by confidence."""
    return Layer(
        name="L8",
        title="Engagement",
        opening=layer_opening(document),
        items=tuple(_layer_items(document)),
        budget=BUDGET,
    )


def layer_opening(document: Engagement) -> str:
    """Return the text that opens the engagement in the prompt: the week, and how to use what follows."""
    row = week.week_rules(document.week)
    return (
        f"The engagement is in week {document.week} ({row.work}). {row.bias} Use what follows to calibrate your "
        "reasoning; do not recite it. Attribute a figure to who shared it. A number in brackets is the confidence that "
        "the evidence gives a hypothesis."
    )


def _layer_items(document: Engagement) -> Iterator[LayerItem]:
    """Yield the findings, open hypotheses and open unknowns as items of the prompt, each with its rank."""
    for finding in document.findings:
        text = f"Finding: {finding.statement} ({format_source(finding)})"
        yield LayerItem(text=text, sources=_source_ids(finding), value=2.0)
    for hypothesis in document.open_hypotheses:
        mixed = resolution_text(hypothesis)
        # Below findings (2.0), above every plain hypothesis (at most 1.5) and the unknowns (0.9).
        value = 1.8 if mixed else 1.0 + confidence_of(hypothesis) / 2
        yield LayerItem(text=_format_hypothesis(hypothesis, mixed), sources=_source_ids(hypothesis), value=value)
    for unknown in document.open_unknowns:
        text = f"Unknown: {unknown.question} It matters: {unknown.why_it_matters}"
        yield LayerItem(text=text, sources=(unknown.id,), value=0.9)


def _format_hypothesis(hypothesis: Hypothesis, mixed: str | None) -> str:
    """Return a hypothesis as lines of the prompt: confidence, statement, what is mixed, its latest evidence."""
    lines = [f"Hypothesis [{round_confidence(confidence_of(hypothesis)):.2f}]: {hypothesis.statement}"]
    if hypothesis.reopened:
        lines.append("It was a finding and was reopened.")
    if is_proposed_for_archive(hypothesis):
        lines.append("Little is left of it: it is proposed for archive.")
    if mixed:
        lines.append(f"Evidence is mixed; this would resolve it: {mixed}")
    for line in hypothesis.evidence[-_MAX_SHOWN_LINES:]:
        sign = "for" if line.stance is Stance.SUPPORTS else "against"
        lines.append(f"{sign} ({format_line_source(line)}): {line.line}")
    return "\n".join(lines)


def _source_ids(hypothesis: Hypothesis) -> tuple[str, ...]:
    """Return the ids that a prompt item cites: the hypothesis' own and those of its evidence lines."""
    return (hypothesis.id, *(line.id for line in hypothesis.evidence))
