"""The reflection's section `memories`: what the turn said that is worth keeping, gated by its quotes."""

from collections.abc import Sequence

from pydantic import BaseModel

from mnemon.aside import read_aside
from mnemon.db.tx import Tx
from mnemon.evidence.privacy import in_confidence
from mnemon.evidence.quote import Passage, Quotation, find_quote, passages
from mnemon.memory import store
from mnemon.memory.answer import MEMORIES, MemoriesAnswer, MemoryAnswer
from mnemon.memory.borrowed import Voice, recalled_voices, tool_origin, voices_of
from mnemon.memory.fact import SHADOW_EXTRACTION, Entity, Fact, Ground
from mnemon.memory.offline.extract import extract_memories
from mnemon.memory.plan import Outcome
from mnemon.memory.remember import Remembered, remember
from mnemon.memory.todos.reflect import TodosSection
from mnemon.memory.trust import Trust
from mnemon.section import Brief, Rejection, Report, Section
from mnemon.turn import Role, Turn

_WORDS_SHOWN = 40
_SHOWN = 120
NOT_SAID = "its quote does not stand in what the person said or a tool gave back"
NO_PERSONA = "it was said in confidence outside any persona, so it stays in the conversation"


class MemoriesSection:
    """Asks for durable facts and keeps those whose quote stands in the turn."""

    name = "memories"
    label = "memory"
    answer: type[BaseModel] = MemoriesAnswer

    async def brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """Always due: the names in use are shown, so that the same fact gets the same name again."""
        used = await store.vocabulary(tx, turn.scope, most=_WORDS_SHOWN)
        return Brief(instructions=MEMORIES, state=_vocabulary(used))

    def by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        """What the person says of themselves in so many words."""
        found = [one for said in turn.messages if said.role is Role.USER for one in extract_memories(said.content)]
        return MemoriesAnswer(memories=found[:50])

    async def apply(self, tx: Tx, turn: Turn, answer: BaseModel) -> Report:
        """What passes the quote gate is remembered as of the turn's time."""
        given = MemoriesAnswer.model_validate(answer).memories
        recalled = await recalled_voices(tx, turn.scope) if given else []
        judged = await read_aside(turn.size, lambda: _all_judged(given, turn, recalled))
        facts = [one for one in judged if isinstance(one, Fact)]
        rejected = [one for one in judged if isinstance(one, Rejection)]
        done = await remember(tx, turn.scope, facts, at=turn.at, extracted=True) if facts else []
        return _report(done, rejected)


def _vocabulary(used: Sequence[tuple[str | None, str | None]]) -> str:
    """Names in use, one line per entity."""
    lines: dict[str, list[str]] = {}
    for label, attribute in used:
        lines.setdefault(label or "the person", []).extend([attribute] if attribute else [])
    told = [f"{label}: {', '.join(names)}" if names else label for label, names in lines.items()]
    return "Names in use (entity: attributes):\n" + "\n".join(told) if told else ""


def _all_judged(given: Sequence[MemoryAnswer], turn: Turn, recalled: Sequence[Voice] = ()) -> list[Fact | Rejection]:
    if not given:
        return []
    sources, confided, voices = passages(turn), in_confidence(turn), voices_of(turn, recalled)
    return [_judged(one, turn, sources, voices.lender(one.content), confided=confided) for one in given]


def _judged(
    one: MemoryAnswer, turn: Turn, sources: Sequence[Passage], lender: Voice | None, *, confided: bool
) -> Fact | Rejection:
    found = find_quote(one.quote, sources)
    if found is None:
        return Rejection(what=one.content[:_SHOWN], why=NOT_SAID)
    private = confided or bool(one.private)
    if private and turn.scope.persona_id is None:
        return Rejection(what=one.content[:_SHOWN], why=NO_PERSONA)
    trust, origin = _vouching(found, lender)
    return Fact(
        type=one.type,
        content=one.content,
        entity=Entity(type=one.entity.type, label=one.entity.label) if one.entity else None,
        fact_type=one.factType,
        attribute=one.attribute,
        source=SHADOW_EXTRACTION,
        trust=trust,
        origin=origin,
        private=private,
        ground=_ground(found, turn),
    )


def _vouching(found: Quotation, lender: Voice | None) -> tuple[Trust, str | None]:
    """Who vouches for a fact: whom it quotes, unless the words it is made of are somebody else's."""
    if found.passage.role is not Role.USER:
        return Trust.TOOL, tool_origin(found.passage.who)
    return (Trust.PERSON, None) if lender is None else (lender.trust, lender.origin)


def _ground(found: Quotation, turn: Turn) -> Ground:
    return Ground(
        turn_id=turn.id,
        session_id=turn.session_id,
        message_id=found.passage.message_id,
        start=found.start,
        end=found.end,
        quote=found.text,
        at=found.passage.at,
    )


def _report(done: Sequence[Remembered], rejected: Sequence[Rejection]) -> Report:
    outcomes = [one.outcome for one in done]
    return Report(
        stored=outcomes.count(Outcome.CREATED),
        updated=outcomes.count(Outcome.UPDATED),
        skipped=outcomes.count(Outcome.SKIPPED),
        rejected=tuple(rejected),
    )


SECTIONS: tuple[Section, ...] = (MemoriesSection(), TodosSection())
"""What this room asks of a reflection."""
