"""The reflection's section `memories`: extract durable facts from a turn and keep those whose quote is found in it."""

from collections.abc import Sequence

from pydantic import BaseModel

from mnemon.db.tx import Tx
from mnemon.event_loop import run_off_loop
from mnemon.evidence.privacy import is_confidential_turn
from mnemon.evidence.quote_gate import Passage, Quotation, find_quote, quotable_passages
from mnemon.evidence.retracted import retraction_fault
from mnemon.memory import store
from mnemon.memory.answer import MemoriesAnswer, MemoryAnswer
from mnemon.memory.attribution import OtherAuthor, authors_of_turn, load_other_authors, text_size, tool_origin
from mnemon.memory.fact import SHADOW_EXTRACTION, Fact, FactEntity, FactOp, QuoteLocation
from mnemon.memory.offline.endings import HeldStatement, extract_endings
from mnemon.memory.offline.extract import extract_memories
from mnemon.memory.plan import MemoryOutcome
from mnemon.memory.prompt import MEMORIES, MEMORIES_SCHEMA
from mnemon.memory.quoted_fact import load_known_labels, quoted_fact_fault, stored_content
from mnemon.memory.remember import RememberedFact, remember_facts
from mnemon.memory.store import HeldFact
from mnemon.memory.todos.reflect import TodosSection
from mnemon.memory.trust import Trust
from mnemon.section import Brief, BriefItem, Rejection, Section, SectionResult
from mnemon.turn import Role, Turn

_LONGEST_SHOWN = 120
"""Characters of a rejected fact that its rejection shows."""
_MOST_HELD = 300
"""The latest facts among which the prompt chooses those that bear on the turn."""
NOT_SAID = "its quote is not in what the person said or a tool returned"
NO_PERSONA = "it was said in confidence outside any persona, so it stays in the conversation"


class MemoriesSection:
    """Extracts durable facts and keeps those whose quote is in the turn."""

    name = "memories"
    label = "memory"
    answer: type[BaseModel] = MemoriesAnswer
    schema = MEMORIES_SCHEMA

    async def prepare_brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """Return the section's instructions with the latest stored facts, so that a fact is named again as before."""
        known, held = await tx.gather(
            load_known_labels(tx, turn.scope), store.latest_facts(tx, turn.scope, most=_MOST_HELD)
        )
        return Brief(instructions=MEMORIES, items=tuple(map(_fact_item, held)), facts={"known": known, "held": held})

    def answer_by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        """Return what the person says about themselves, extracted by patterns without a model; at most 50 facts."""
        known: Sequence[str] = brief.facts.get("known", ())
        held = [HeldStatement(content=one.content, attribute=one.attribute) for one in brief.facts.get("held", ())]
        said = [message.content for message in turn.messages if message.role is Role.USER]
        found = [one for text in said for one in _told_facts(text, known, held)]
        return MemoriesAnswer(memories=found[:50])

    def entry_faults(self, turn: Turn, brief: Brief, answer: BaseModel) -> Sequence[str | None]:
        """Return, for each proposed memory, why its quote is missing or does not support it; None where it does."""
        sources = quotable_passages(turn)
        found = [(one, find_quote(one.quote, sources)) for one in MemoriesAnswer.model_validate(answer).memories]
        known: Sequence[str] = brief.facts.get("known", ())
        return [NOT_SAID if quote is None else _support_fault(one, quote, turn, known) for one, quote in found]

    async def apply_answer(self, tx: Tx, turn: Turn, answer: BaseModel) -> SectionResult:
        """Store the proposed facts that pass the quote gate, dated at the turn's time; return the rejected others."""
        answers = MemoriesAnswer.model_validate(answer).memories
        if not answers:
            return SectionResult()
        recalled = await load_other_authors(tx, turn)
        known = await load_known_labels(tx, turn.scope)
        # Comparing every fact with every text takes long for a long turn, so it may run off the event loop.
        judged = await run_off_loop(
            turn.size + text_size(recalled), lambda: _judge_answers(answers, turn, recalled, known)
        )
        facts = [one for one in judged if isinstance(one, Fact)]
        rejected = [one for one in judged if isinstance(one, Rejection)]
        remembered = await remember_facts(tx, turn.scope, facts, at=turn.at, extracted=True) if facts else []
        return _make_report(remembered, rejected)


def _told_facts(text: str, known: Sequence[str], held: Sequence[HeldStatement]) -> list[MemoryAnswer]:
    """Return what a message states and takes back, in its order: "I quit Acme and work at Globex" leaves Globex."""
    told = [*extract_endings(text, held, known), *extract_memories(text, known)]
    return sorted(told, key=lambda one: text.find(one.quote))


def _fact_item(held: HeldFact) -> BriefItem:
    """Return a stored fact as a line of the prompt: whom it is about, its attribute, and its content."""
    about = ", ".join(filter(None, (held.entity_label or "the person", held.attribute)))
    return BriefItem(text=f"- {about}: {held.content}")


def _judge_answers(
    answers: Sequence[MemoryAnswer], turn: Turn, recalled: Sequence[OtherAuthor] = (), known: Sequence[str] = ()
) -> list[Fact | Rejection]:
    """Return a fact or a rejection for each proposed memory; `known` are the labels of entities on record."""
    sources, confidential, authors = (
        quotable_passages(turn),
        is_confidential_turn(turn),
        authors_of_turn(turn, recalled),
    )
    return [
        _judge_answer(one, turn, sources, authors.other_author(one.content), known, confidential=confidential)
        for one in answers
    ]


def _judge_answer(
    one: MemoryAnswer,
    turn: Turn,
    sources: Sequence[Passage],
    other_author: OtherAuthor | None,
    known: Sequence[str],
    *,
    confidential: bool,
) -> Fact | Rejection:
    """Return the fact that a proposed memory states, with its author's trust, or its rejection with the reason."""
    found = find_quote(one.quote, sources)
    if found is None:
        return Rejection(what=one.content[:_LONGEST_SHOWN], why=NOT_SAID)
    entity = _entity_of(one)
    if fault := _support_fault(one, found, turn, known):
        return Rejection(what=one.content[:_LONGEST_SHOWN], why=fault)
    private = confidential or bool(one.private)
    # Without a persona it could only be stored for all of them, which is the opposite of confidence.
    if private and turn.scope.persona_id is None:
        return Rejection(what=one.content[:_LONGEST_SHOWN], why=NO_PERSONA)
    trust, origin = _attribution_of(found, other_author)
    return Fact(
        type=one.type,
        content=one.content if _op_of(one) is FactOp.RETRACT else stored_content(one.content, found),
        entity=entity,
        fact_type=one.factType,
        attribute=one.attribute,
        source=SHADOW_EXTRACTION,
        trust=trust,
        origin=origin,
        private=private,
        ground=_quote_location(found, turn),
        op=_op_of(one),
    )


def _op_of(one: MemoryAnswer) -> FactOp:
    """Return whether a proposed memory states a fact or retracts one."""
    return FactOp.RETRACT if one.op == "retract" else FactOp.STATE


def _support_fault(one: MemoryAnswer, found: Quotation, turn: Turn, known: Sequence[str]) -> str | None:
    """Return why the quote does not support stating or retracting the fact; None when it does."""
    if _op_of(one) is FactOp.RETRACT:
        return retraction_fault(one.content, found)
    return quoted_fact_fault(one.content, _entity_of(one), found, turn, known)


def _entity_of(one: MemoryAnswer) -> FactEntity | None:
    """Return the entity that a proposed memory is about; None for the person."""
    return FactEntity(type=one.entity.type, label=one.entity.label) if one.entity else None


def _attribution_of(found: Quotation, other_author: OtherAuthor | None) -> tuple[Trust, str | None]:
    """Return the trust and origin of a fact: those of the quoted speaker, unless its words come from another author."""
    # Quoted from a tool: the tool vouches for it, whoever's words it repeats.
    if found.passage.role is not Role.USER:
        return Trust.TOOL, tool_origin(found.passage.who)
    return (Trust.PERSON, None) if other_author is None else (other_author.trust, other_author.origin)


def _quote_location(found: Quotation, turn: Turn) -> QuoteLocation:
    """Return where in the turn a quote was found, as a memory's provenance stores it."""
    return QuoteLocation(
        turn_id=turn.id,
        session_id=turn.session_id,
        message_id=found.passage.message_id,
        start=found.start,
        end=found.end,
        quote=found.text,
        at=found.passage.at,
    )


def _make_report(remembered: Sequence[RememberedFact], rejected: Sequence[Rejection]) -> SectionResult:
    """Return how many facts were stored, updated and skipped, and the rejected ones."""
    outcomes = [one.outcome for one in remembered]
    return SectionResult(
        stored=outcomes.count(MemoryOutcome.CREATED),
        updated=outcomes.count(MemoryOutcome.UPDATED),
        skipped=outcomes.count(MemoryOutcome.SKIPPED),
        rejected=tuple(rejected),
    )


SECTIONS: tuple[Section, ...] = (MemoriesSection(), TodosSection())
"""The sections that this room adds to a reflection."""
