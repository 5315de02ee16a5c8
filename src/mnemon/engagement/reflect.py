"""The reflection's section `engagement`: what a turn adds to what is believed about the organization.

Without a model, rules read only the questions that a person calls open, with the reason they give. Precision matters
more than recall here: a hypothesis, a stance or a strength is a judgement that no rule can make.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial

from pydantic import BaseModel

from mnemon.db.tx import Tx
from mnemon.engagement import store, week
from mnemon.engagement.apply_proposal import apply_proposal
from mnemon.engagement.document import Engagement, Hypothesis, HypothesisStage
from mnemon.engagement.lifecycle import (
    confidence_of,
    is_mixed,
    is_proposed_for_archive,
    outstanding_contradictions,
)
from mnemon.engagement.prompt import ENGAGEMENT_SCHEMA, INSTRUCTIONS
from mnemon.engagement.proposal import EngagementProposal, EngagementReflection, UnknownProposal
from mnemon.engagement.proposal_applier import EngagementRules
from mnemon.engagement.relevance import carries_content
from mnemon.engagement.store import StoredEngagement
from mnemon.event_loop import run_off_loop
from mnemon.evidence.confidence import round_confidence
from mnemon.evidence.privacy import is_confidential_turn
from mnemon.section import Brief, BriefItem, Section, SectionResult, number_handles
from mnemon.sessions.organization import takes_part_in_engagement
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
    """Return a proposal of unknowns: questions that the person calls open, found by rules, in their words."""
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


_NAME_FIELDS = frozenset(
    {
        "evidence.hypothesis",
        "evidence.resolves",
        "wouldResolve.hypothesis",
        "answered.unknown",
        "archive.hypothesis",
        "archive.supersededBy",
    }
)
"""The fields of the answer that name what is held."""


class EngagementSection:
    """Applies gated proposals under the lock of the organization's row, and reports what was rejected."""

    name = "engagement"
    label = "engagement"
    answer: type[BaseModel] = EngagementReflection
    schema = ENGAGEMENT_SCHEMA

    def __init__(self, rules: EngagementRules | None = None) -> None:
        """Keep the thresholds of the engagement's gates; without any, the default ones."""
        self._rules = rules or EngagementRules()

    async def prepare_brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """Return instructions with the current engagement; None if the turn has no part in it."""
        if not await _may_enter(tx, turn):
            return None
        stored = await store.load_engagement(tx, turn.scope)
        return make_brief(stored)

    def answer_by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        """Return the open questions that rules find in the turn, in place of a model's answer."""
        return EngagementReflection(engagement=read_unknowns(turn))

    async def apply_answer(self, tx: Tx, turn: Turn, answer: BaseModel) -> SectionResult:
        """Store what passes the gates in the engagement and its journal; applying it again changes nothing."""
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
    """Return the reflection's section that updates the engagement, with the settings' thresholds."""
    rules = EngagementRules(
        promotion_threshold=settings.promotion_threshold, first_hypothesis_turns=settings.first_hypothesis_turns
    )
    return (EngagementSection(rules),)


async def _may_enter(tx: Tx, turn: Turn) -> bool:
    """Say whether the turn may change the engagement: the person spoke, not in confidence, to a persona in it."""
    if not turn.user_text.strip() or is_confidential_turn(turn):
        return False
    return await takes_part_in_engagement(tx, turn.scope)


def make_brief(stored: StoredEngagement) -> Brief:
    """Return the engagement section's prompt parts: instructions, the week, and every line with its handle."""
    document = stored.document or Engagement()
    row = week.week_rules(document.week)
    turns = f"{stored.heard} user turns with content so far"
    held = (*document.open_hypotheses, *document.findings, *document.archived_hypotheses)
    claims = number_handles("H", (one.id for one in held))
    pieces = number_handles(
        "E", (line.id for one in held if one.stage is not HypothesisStage.ARCHIVED for line in one.evidence)
    )
    unknowns = number_handles("U", (one.id for one in document.open_unknowns))
    handles = {meant: handle for handle, meant in {**claims, **pieces, **unknowns}.items()}
    items: list[BriefItem] = []
    for one in held:
        items.extend(_hypothesis_items(one, handles, len(items)))
    items += [
        BriefItem(text=f"- {handles[one.id]} unknown: {one.question} ({one.why_it_matters})")
        for one in document.open_unknowns
    ]
    return Brief(
        instructions=INSTRUCTIONS,
        state=f"Week {document.week} ({row.work}); {turns}. To advance it needs {row.needs}."
        + ("" if items else " Nothing is held yet."),
        items=tuple(items),
        names={**claims, **pieces, **unknowns},
        name_fields=_NAME_FIELDS,
    )


def _hypothesis_items(one: Hypothesis, handles: Mapping[str, str], place: int) -> Iterator[BriefItem]:
    """Yield a hypothesis and its evidence as lines of the prompt; `place` is the position of the first."""
    if one.stage is HypothesisStage.ARCHIVED:
        yield BriefItem(text=f"- {handles[one.id]} archived: {one.statement} (archived: {one.note})")
        return
    kind = "finding" if one.stage is HypothesisStage.FINDING else "hypothesis"
    mixed = ", mixed" if is_mixed(one.evidence) else ""
    little = is_proposed_for_archive(one)
    marks = f"{round_confidence(confidence_of(one)):.2f}{mixed}{', propose archive' if little else ''}"
    yield BriefItem(text=f"- {handles[one.id]} {kind} [{marks}]: {one.statement}", urgent=little)
    outstanding = {line.id for line in outstanding_contradictions(one.evidence)}
    for line in one.evidence:
        open_ = line.id in outstanding
        told = f"{line.stance}, {line.strength}{', outstanding' if open_ else ''} ({line.source})"
        yield BriefItem(text=f"  - {handles[line.id]} {told}: {line.line}", urgent=open_, under=place)
