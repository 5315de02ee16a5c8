"""`remember`: keeps a fact. In a conversation it must rest on the person's own words."""

import numpy as np
from pydantic import Field

from mnemon.db.tx import Tx
from mnemon.errors import Invalid
from mnemon.evidence.quote import Quotation, find_quote, passages
from mnemon.memory.borrowed import tool_origin
from mnemon.memory.fact import Entity, EntityType, Fact, FactType, Ground, MemoryType
from mnemon.memory.remember import remember
from mnemon.memory.trust import Trust
from mnemon.sessions import turns
from mnemon.sessions.people import ensure_person
from mnemon.tool import Arguments, Caller, ToolReply
from mnemon.turn import EntityPatch, Role

AGENT = "agent"
"""The source of what an agent states by itself."""


class About(Arguments):
    """Someone or something a fact is about."""

    type: EntityType
    label: str = Field(min_length=1, max_length=200, description="The name, as people say it.")


class ToRemember(Arguments):
    """A fact."""

    content: str = Field(min_length=1, max_length=2000, description="The fact, in one sentence.")
    quote: str | None = Field(
        None, max_length=2000, description="The person's words it rests on, copied exactly; needed in a conversation."
    )
    type: MemoryType = Field(MemoryType.PROFILE, description="Whether it is about the person, someone, or a project.")
    about: About | None = Field(None, description="Whom it is about, if not the person.")
    fact_type: FactType = FactType.FACT
    attribute: str | None = Field(
        None, max_length=200, description="What it is a value of, like `lives in`; a new value replaces the old one."
    )
    private: bool = Field(False, description="Only for this persona: the person asked for it to stay between you.")


class Remember:
    """Writes one memory."""

    name = "remember"
    description = (
        "Keep a lasting fact about the person, someone in their life, or a project. Only what they said themselves; "
        "what was recalled is known already."
    )
    arguments: type[Arguments] = ToRemember
    needs = "memory:write"

    def text_to_embed(self, arguments: Arguments) -> str | None:
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """The fact is held, or one more mention of what is held."""
        assert isinstance(arguments, ToRemember)
        found = await _quotation(tx, caller, arguments.quote)
        if caller.user_name:
            await ensure_person(tx, caller.scope.org_id, caller.user_name)
        [kept] = await remember(tx, caller.scope, [_fact(caller, arguments, found)])
        memory = kept.memory
        return ToolReply(
            content={
                "outcome": kept.outcome,
                "id": memory.id,
                "content": memory.content,
                "claimOf": memory.claim_of,
                "why": kept.why,
            },
            ids=(memory.id,),
            types=("memory", memory.type),
            count=1,
            entities=(EntityPatch(id=memory.id, kind="memory", name=memory.content[:80]),),
        )


async def _quotation(tx: Tx, caller: Caller, quote: str | None) -> Quotation | None:
    """Where the quote stands in the turn; outside of one there is nothing it could stand in."""
    if caller.turn_id is None:
        return None
    stored = await turns.find(tx, caller.scope, caller.turn_id)
    found = None if stored is None or quote is None else find_quote(quote, passages(stored.turn))
    if found is None:
        raise Invalid(
            "Nothing is remembered without the person's own words: give `quote`, copied exactly from this message.",
            code="no_quote",
        )
    return found


def _fact(caller: Caller, given: ToRemember, found: Quotation | None) -> Fact:
    trust, origin = _whose(found)
    return Fact(
        type=given.type,
        content=given.content,
        entity=Entity(type=given.about.type, label=given.about.label) if given.about else None,
        fact_type=given.fact_type,
        attribute=given.attribute,
        private=given.private and caller.scope.persona_id is not None,
        source=AGENT,
        trust=trust,
        origin=origin,
        ground=None if found is None else _ground(caller, found),
    )


def _whose(found: Quotation | None) -> tuple[Trust, str]:
    """Whose words the fact rests on: the person's, a tool's, or nobody's but the agent's."""
    if found is None:
        return Trust.AGENT, AGENT
    if found.passage.role is Role.USER:
        return Trust.PERSON, AGENT
    return Trust.TOOL, tool_origin(found.passage.who)


def _ground(caller: Caller, found: Quotation) -> Ground | None:
    if caller.session_id is None or caller.turn_id is None:
        return None
    return Ground(
        turn_id=caller.turn_id,
        session_id=caller.session_id,
        message_id=found.passage.message_id,
        start=found.start,
        end=found.end,
        quote=found.text,
        at=found.passage.at,
    )
