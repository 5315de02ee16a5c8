"""The reflection's section `memories`: what the turn said that is worth keeping, gated by its quotes."""

from collections.abc import Sequence

from pydantic import BaseModel

from mnemon.db.tx import Tx
from mnemon.event_loop import run_off_loop
from mnemon.evidence.privacy import is_confidential_turn
from mnemon.evidence.quote_gate import Passage, Quotation, find_quote, quotable_passages
from mnemon.memory import store
from mnemon.memory.answer import MEMORIES, MemoriesAnswer, MemoryAnswer
from mnemon.memory.attribution import OtherAuthor, authors_of_turn, load_other_authors, text_size, tool_origin
from mnemon.memory.fact import SHADOW_EXTRACTION, Fact, FactEntity, QuoteLocation
from mnemon.memory.offline.extract import extract_memories
from mnemon.memory.plan import MemoryOutcome
from mnemon.memory.remember import RememberedFact, remember_facts
from mnemon.memory.todos.reflect import TodosSection
from mnemon.memory.trust import Trust
from mnemon.section import Brief, Rejection, Section, SectionResult
from mnemon.turn import Role, Turn

_MOST_NAMES = 40
_LONGEST_SHOWN = 120
NOT_SAID = "its quote does not stand in what the person said or a tool gave back"
NO_PERSONA = "it was said in confidence outside any persona, so it stays in the conversation"


class MemoriesSection:
    """Asks for durable facts and keeps those whose quote stands in the turn."""

    name = "memories"
    label = "memory"
    answer: type[BaseModel] = MemoriesAnswer

    async def prepare_brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """Always due: the names in use are shown, so that the same fact gets the same name again."""
        used = await store.names_in_use(tx, turn.scope, most=_MOST_NAMES)
        return Brief(instructions=MEMORIES, state=_vocabulary_text(used))

    def answer_by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        """What the person says of themselves in so many words."""
        found = [one for said in turn.messages if said.role is Role.USER for one in extract_memories(said.content)]
        return MemoriesAnswer(memories=found[:50])

    async def apply_answer(self, tx: Tx, turn: Turn, answer: BaseModel) -> SectionResult:
        """What passes the quote gate is remembered as of the turn's time."""
        given = MemoriesAnswer.model_validate(answer).memories
        recalled = await load_other_authors(tx, turn) if given else []
        judged = await run_off_loop(turn.size + text_size(recalled), lambda: _judge_answers(given, turn, recalled))
        facts = [one for one in judged if isinstance(one, Fact)]
        rejected = [one for one in judged if isinstance(one, Rejection)]
        done = await remember_facts(tx, turn.scope, facts, at=turn.at, extracted=True) if facts else []
        return _make_report(done, rejected)


def _vocabulary_text(used: Sequence[tuple[str | None, str | None]]) -> str:
    """Names in use, one line per entity."""
    lines: dict[str, list[str]] = {}
    for label, attribute in used:
        lines.setdefault(label or "the person", []).extend([attribute] if attribute else [])
    told = [f"{label}: {', '.join(names)}" if names else label for label, names in lines.items()]
    return "Names in use (entity: attributes):\n" + "\n".join(told) if told else ""


def _judge_answers(
    given: Sequence[MemoryAnswer], turn: Turn, recalled: Sequence[OtherAuthor] = ()
) -> list[Fact | Rejection]:
    if not given:
        return []
    sources, confided, voices = quotable_passages(turn), is_confidential_turn(turn), authors_of_turn(turn, recalled)
    return [_judge_answer(one, turn, sources, voices.other_author(one.content), confided=confided) for one in given]


def _judge_answer(
    one: MemoryAnswer, turn: Turn, sources: Sequence[Passage], lender: OtherAuthor | None, *, confided: bool
) -> Fact | Rejection:
    found = find_quote(one.quote, sources)
    if found is None:
        return Rejection(what=one.content[:_LONGEST_SHOWN], why=NOT_SAID)
    private = confided or bool(one.private)
    if private and turn.scope.persona_id is None:
        return Rejection(what=one.content[:_LONGEST_SHOWN], why=NO_PERSONA)
    trust, origin = _attribution_of(found, lender)
    return Fact(
        type=one.type,
        content=one.content,
        entity=FactEntity(type=one.entity.type, label=one.entity.label) if one.entity else None,
        fact_type=one.factType,
        attribute=one.attribute,
        source=SHADOW_EXTRACTION,
        trust=trust,
        origin=origin,
        private=private,
        ground=_quote_location(found, turn),
    )


def _attribution_of(found: Quotation, lender: OtherAuthor | None) -> tuple[Trust, str | None]:
    """Who vouches for a fact: whom it quotes, unless the words it is made of are somebody else's."""
    if found.passage.role is not Role.USER:
        return Trust.TOOL, tool_origin(found.passage.who)
    return (Trust.PERSON, None) if lender is None else (lender.trust, lender.origin)


def _quote_location(found: Quotation, turn: Turn) -> QuoteLocation:
    return QuoteLocation(
        turn_id=turn.id,
        session_id=turn.session_id,
        message_id=found.passage.message_id,
        start=found.start,
        end=found.end,
        quote=found.text,
        at=found.passage.at,
    )


def _make_report(done: Sequence[RememberedFact], rejected: Sequence[Rejection]) -> SectionResult:
    outcomes = [one.outcome for one in done]
    return SectionResult(
        stored=outcomes.count(MemoryOutcome.CREATED),
        updated=outcomes.count(MemoryOutcome.UPDATED),
        skipped=outcomes.count(MemoryOutcome.SKIPPED),
        rejected=tuple(rejected),
    )


SECTIONS: tuple[Section, ...] = (MemoriesSection(), TodosSection())
"""What this room asks of a reflection."""
