"""The reflection's section `engagement`: what a turn adds to what is believed about the organization."""

from collections.abc import Iterator
from functools import partial

from pydantic import BaseModel

from mnemon.aside import read_aside
from mnemon.db.tx import Tx
from mnemon.engagement import offline, store, week
from mnemon.engagement.answer import EngagementReflection
from mnemon.engagement.document import Engagement, Hypothesis
from mnemon.engagement.lifecycle import confidence_of, is_mixed, outstanding
from mnemon.engagement.scales import Rules
from mnemon.engagement.store import Held
from mnemon.engagement.weigh import weigh
from mnemon.evidence.confidence import shown
from mnemon.evidence.privacy import in_confidence
from mnemon.section import Brief, Report, Section
from mnemon.sessions.personas import takes_part_in_engagement
from mnemon.settings import Settings
from mnemon.turn import Turn

INSTRUCTIONS = """\
`engagement` is what is believed about the organization's situation. Propose only what this turn changes.
- form: a new hypothesis: a claim that can be shown wrong (`falsifiedBy` says by what), with the evidence for and \
against it in this turn.
- evidence: for or against a hypothesis or finding on record (`hypothesis` is its id). `line` is one short attributed \
sentence, `quote` the words it rests on, copied character by character from the person's message or a tool result, \
`source` whose words they are, `stance` supports or contradicts, `strength` weak (hearsay, an impression), moderate (a \
first-hand account) or strong (a document, a measurement, a decision). `resolves` lists the ids of outstanding \
contradictions that it settles.
- wouldResolve: for mixed evidence, what would settle it.
- unknowns: a question whose answer would change the recommendation, and why it matters. Not one that is on record.
- answered: an unknown on record that a quote of this turn answers.
- archive: a hypothesis that the evidence has disconfirmed, with a short note on why.
- week: `advance` only when the work of this week is substantively complete, with the reason.
A figure may appear only if it stands in the cited message or tool result; a typical range only hedged ("typically \
2–4%"). Confidence is computed from the evidence: state none. Propose nothing from what the assistant said."""


class EngagementSection:
    """Proposals, gated and applied under the organization's lock; what stays out is reported."""

    name = "engagement"
    label = "engagement"
    answer: type[BaseModel] = EngagementReflection

    def __init__(self, rules: Rules | None = None) -> None:
        self._rules = rules or Rules()

    async def brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """The state with its ids; None where the turn takes no part."""
        if not await _takes_part(tx, turn):
            return None
        held = await store.read(tx, turn.scope)
        return Brief(instructions=INSTRUCTIONS, state="\n".join(_shown(held)))

    def by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        return EngagementReflection(engagement=offline.read(turn))

    async def apply(self, tx: Tx, turn: Turn, answer: BaseModel) -> Report:
        """What passes the gates against the state as it is now stands in the journal; a second time changes nothing."""
        assert isinstance(answer, EngagementReflection)
        if not await _takes_part(tx, turn):
            return Report()
        held = await store.lock(tx, turn.scope)
        fresh = await store.hear(tx, turn.scope, turn)
        heard = held.heard + (1 if fresh else 0)
        weighed = partial(
            weigh,
            held.document,
            answer.engagement,
            turn=turn,
            heard=heard,
            seq=held.seq,
            rules=self._rules,
            new_id=tx.new_id,
        )
        outcome = await read_aside(turn.size, weighed)
        await store.append(tx, turn.scope, outcome.entries)
        seq = outcome.entries[-1].seq if outcome.entries else held.seq
        await store.keep(tx, turn.scope, Held(document=outcome.document, seq=seq, heard=heard))
        return outcome.report


SECTIONS: tuple[Section, ...] = (EngagementSection(),)


def sections(settings: Settings) -> tuple[Section, ...]:
    """The section under these settings."""
    rules = Rules(
        promotion_threshold=settings.promotion_threshold, first_hypothesis_turns=settings.first_hypothesis_turns
    )
    return (EngagementSection(rules),)


async def _takes_part(tx: Tx, turn: Turn) -> bool:
    """Whether the turn may enter: a person spoke, not in confidence, to a persona that shares in engagement."""
    if not turn.user_text.strip() or in_confidence(turn):
        return False
    return await takes_part_in_engagement(tx, turn.scope)


def _shown(held: Held) -> Iterator[str]:
    document = held.document or Engagement()
    row = week.week(document.week)
    yield f"Week {document.week} ({row.work}); {held.heard} user turns so far. To advance it needs {row.needs}."
    yield from _hypotheses("Hypotheses", document.open)
    yield from _hypotheses("Findings", document.findings)
    yield "Unknowns:" if document.open_unknowns else "Unknowns: none."
    for unknown in document.open_unknowns:
        yield f"- {unknown.id}: {unknown.question} ({unknown.why_it_matters})"


def _hypotheses(title: str, hypotheses: tuple[Hypothesis, ...]) -> Iterator[str]:
    yield f"{title}:" if hypotheses else f"{title}: none."
    for each in hypotheses:
        mixed = ", mixed" if is_mixed(each.evidence) else ""
        yield f"- {each.id} [{shown(confidence_of(each)):.2f}{mixed}]: {each.statement}"
        waiting = {line.id for line in outstanding(each.evidence)}
        for line in each.evidence:
            open_ = ", outstanding" if line.id in waiting else ""
            yield f"  - {line.id} {line.stance}, {line.strength}{open_} ({line.source}): {line.line}"
