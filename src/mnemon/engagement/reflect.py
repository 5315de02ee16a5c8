"""The reflection's section `engagement`: what a turn adds to what is believed about the organization.

Without a model, rules read only the questions that a person calls open, with the reason they give. Precision matters
more than recall here: a hypothesis, a stance or a strength is a judgement that no rule can make.
"""

import re
from collections.abc import Iterator
from functools import partial

from pydantic import BaseModel

from mnemon.db.tx import Tx
from mnemon.engagement import store, week
from mnemon.engagement.apply_proposal import apply_proposal
from mnemon.engagement.document import Engagement, Hypothesis
from mnemon.engagement.lifecycle import (
    confidence_of,
    is_mixed,
    is_proposed_for_archive,
    outstanding_contradictions,
)
from mnemon.engagement.proposal import EngagementProposal, EngagementReflection, UnknownProposal
from mnemon.engagement.proposal_applier import EngagementRules
from mnemon.engagement.relevance import carries_content
from mnemon.engagement.store import StoredEngagement
from mnemon.event_loop import run_off_loop
from mnemon.evidence.confidence import round_confidence
from mnemon.evidence.privacy import is_confidential_turn
from mnemon.section import Brief, Section, SectionResult
from mnemon.sessions.people import takes_part_in_engagement
from mnemon.settings import Settings
from mnemon.turn import Turn
from mnemon.untrusted_text import reads_outside_text

_MAX_SENTENCE_CHARS = 1_000
"""The most characters of a sentence that is matched: more than a question and a reason can have."""
_SENTENCE_PATTERN = re.compile(r"[^.!?\n]+[.!?]?")
_UNKNOWN_PATTERN = re.compile(
    r"^\W*(?:honestly,?\s+|but\s+|and\s+|so\s+)?(?:we|i|nobody\s+here|none\s+of\s+us)\s+(?:still\s+|really\s+)?"
    r"(?:(?:don['’]t|do\s+not)\s+know|know[s]?)\s+(?P<question>(?:whether|why|how|who|what|when|where|which)\s+[^,;]{8,200}?)"
    r",?\s+(?:and|which|it|that)\s+(?:it\s+|that\s+)?(?:matters|is\s+important)\s+because\s+(?P<why>.{8,200}?)[.!]?\s*$",
    re.IGNORECASE,
)
_NOBODY_KNOWS = re.compile(r"\b(?:nobody\s+here|none\s+of\s+us)\s+knows?\b", re.IGNORECASE)
_NOT_KNOWN = re.compile(r"\b(?:don['’]t|do\s+not)\s+know\b", re.IGNORECASE)


@reads_outside_text
def read_unknowns(turn: Turn) -> EngagementProposal:
    """Return as a proposal the questions a person calls open with a reason, found by rules, in their words."""
    unknowns = []
    for part in _SENTENCE_PATTERN.findall(turn.user_text):
        # White space is collapsed and the length bounded: on a long run of spaces the pattern takes quadratic time.
        sentence = " ".join(part.split())
        found = _UNKNOWN_PATTERN.match(sentence) if len(sentence) <= _MAX_SENTENCE_CHARS else None
        if found is None or sentence.endswith("?"):
            continue
        if not _NOBODY_KNOWS.search(sentence) and not _NOT_KNOWN.search(sentence):
            continue
        question, why = found["question"].strip(), found["why"].strip()
        unknowns.append(
            UnknownProposal(
                question=f"{question[0].upper()}{question[1:]}?", why_it_matters=f"{why[0].upper()}{why[1:]}."
            )
        )
    return EngagementProposal(unknowns=unknowns)


INSTRUCTIONS = """\
`engagement` is what is believed about the organization's situation. Propose only what this turn changes.
- form: a new hypothesis: a claim that can be shown wrong (`falsifiedBy` says by what), with the evidence for and \
against it in this turn. It needs at least one piece, and names only what was spoken of. A claim under Archived comes \
back with the evidence it had: form it again only if this turn says something new of it.
- evidence: for or against a hypothesis or finding on record (`hypothesis` is its id). `line` is one short attributed \
sentence that says no more than its quote, `quote` the words it rests on, copied character by character from the \
person's message or a tool result: a span that says it, not a stray word, and that speaks of the claim. `source` is \
whose words they are: the speaker, or somebody whom the message says told it. `stance` supports or contradicts, \
`strength` weak (hearsay, an impression), moderate (a first-hand account) or strong (a document, a measurement, a \
decision). `resolves` lists the ids of outstanding contradictions that it settles: of its own source, or of one that \
was no stronger and came earlier.
- wouldResolve: for mixed evidence, what would settle it.
- unknowns: a question whose answer would change the recommendation, and why it matters. Not one that is on record.
- answered: an unknown on record that a quote of this turn answers.
- archive: a hypothesis that an outstanding contradiction has disconfirmed, or that another one replaces \
(`supersededBy` is its id), with a short note on why. "propose archive" marks those with little left.
- week: `advance` only when the work of this week is substantively complete, with the reason.
A figure may appear only if it stands in the cited message or tool result; a typical range only hedged ("typically \
2–4%"). Confidence is computed from the evidence: state none. Propose nothing from what the assistant said."""
"""The prompt of the section."""


class EngagementSection:
    """Applies gated proposals under the lock of the organization's row, and reports what was rejected."""

    name = "engagement"
    label = "engagement"
    answer: type[BaseModel] = EngagementReflection

    def __init__(self, rules: EngagementRules | None = None) -> None:
        """Make the reflection's engagement section with the thresholds of its gates; without any, the default ones."""
        self._rules = rules or EngagementRules()

    async def prepare_brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """Return instructions and engagement for the model that reflects on the turn; None if it has no part."""
        if not await _may_enter(tx, turn):
            return None
        stored = await store.load_engagement(tx, turn.scope)
        return Brief(instructions=INSTRUCTIONS, state="\n".join(_format_state(stored)))

    def answer_by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        """Return the reflection's answer without a model: the open questions that rules find in the turn."""
        return EngagementReflection(engagement=read_unknowns(turn))

    async def apply_answer(self, tx: Tx, turn: Turn, answer: BaseModel) -> SectionResult:
        """Store what passes the checks in the engagement and its journal; a second time it changes nothing."""
        assert isinstance(answer, EngagementReflection)
        # Asked again in this transaction: the persona's setting may have changed since the brief.
        if not await _may_enter(tx, turn):
            return SectionResult()
        # Last in the lock order (ARCHITECTURE.md): this row is shared by everyone in the organization.
        stored = await store.lock_engagement(tx, turn.scope)
        # A retried reflection must not count its turn twice.
        has_content = carries_content(turn.user_text)
        is_new = await store.insert_turn(tx, turn.scope, turn, has_content=has_content)
        heard = stored.heard + (1 if is_new and has_content else 0)
        apply = partial(
            apply_proposal,
            stored.document,
            answer.engagement,
            turn=turn,
            heard=heard,
            seq=stored.seq,
            rules=self._rules,
            new_id=tx.new_id,
        )
        # A long turn is checked in a thread, so that it does not block the event loop.
        outcome = await run_off_loop(turn.size, apply)
        await store.append_entries(tx, turn.scope, outcome.entries)
        seq = outcome.entries[-1].seq if outcome.entries else stored.seq
        await store.store_engagement(tx, turn.scope, StoredEngagement(document=outcome.document, seq=seq, heard=heard))
        return outcome.report


SECTIONS: tuple[Section, ...] = (EngagementSection(),)
"""The section under default settings."""


def make_sections(settings: Settings) -> tuple[Section, ...]:
    """Return the part of the reflection on a turn that updates the engagement, with the settings' thresholds."""
    rules = EngagementRules(
        promotion_threshold=settings.promotion_threshold, first_hypothesis_turns=settings.first_hypothesis_turns
    )
    return (EngagementSection(rules),)


async def _may_enter(tx: Tx, turn: Turn) -> bool:
    """Say whether the turn may change the engagement: a person spoke, not in confidence, to a persona in it."""
    if not turn.user_text.strip() or is_confidential_turn(turn):
        return False
    return await takes_part_in_engagement(tx, turn.scope)


def _format_state(stored: StoredEngagement) -> Iterator[str]:
    """Yield the lines of the reflection's prompt that show the engagement: week, hypotheses, findings, unknowns."""
    document = stored.document or Engagement()
    row = week.week_rules(document.week)
    turns = f"{stored.heard} user turns with content so far"
    yield f"Week {document.week} ({row.work}); {turns}. To advance it needs {row.needs}."
    yield from _format_hypotheses("Hypotheses", document.open_hypotheses)
    yield from _format_hypotheses("Findings", document.findings)
    yield "Archived:" if document.archived_hypotheses else "Archived: none."
    for archived in document.archived_hypotheses:
        yield f"- {archived.id}: {archived.statement} (archived: {archived.note})"
    yield "Unknowns:" if document.open_unknowns else "Unknowns: none."
    for unknown in document.open_unknowns:
        yield f"- {unknown.id}: {unknown.question} ({unknown.why_it_matters})"


def _format_hypotheses(title: str, hypotheses: tuple[Hypothesis, ...]) -> Iterator[str]:
    """Yield a titled list of hypotheses with their evidence and ids as lines of the reflection's prompt."""
    yield f"{title}:" if hypotheses else f"{title}: none."
    for each in hypotheses:
        mixed = ", mixed" if is_mixed(each.evidence) else ""
        little = ", propose archive" if is_proposed_for_archive(each) else ""
        yield f"- {each.id} [{round_confidence(confidence_of(each)):.2f}{mixed}{little}]: {each.statement}"
        outstanding = {line.id for line in outstanding_contradictions(each.evidence)}
        for line in each.evidence:
            open_ = ", outstanding" if line.id in outstanding else ""
            yield f"  - {line.id} {line.stance}, {line.strength}{open_} ({line.source}): {line.line}"
