"""The layers L1 to L8 in their order, each read from its room."""

from mnemon.agentstate import layer as agentstate
from mnemon.context import manner
from mnemon.db.tx import Tx
from mnemon.engagement import layer as engagement
from mnemon.layer import Ask, Item, Layer
from mnemon.memory import layer as memory
from mnemon.memory.upkeep.store import latest_spine
from mnemon.sessions import layer as sessions
from mnemon.sessions.layer import Situation
from mnemon.sessions.personas import Persona, find_persona

_CONVERSATION = "The conversation with this person so far. Take it up naturally; do not repeat what was settled."


async def layers(tx: Tx, ask: Ask, where: Situation) -> list[Layer]:
    """Every layer that has something to say, read together."""
    persona, (person, relevant), so_far, state, engaged = await tx.together(
        _persona(tx, ask),
        memory.person_and_relevant(tx, ask),
        _conversation(tx, ask, where),
        agentstate.state(tx, ask),
        engagement.engagement(tx, ask),
    )
    own = [
        manner.who(persona.name if persona else None, persona.prompt if persona else None),
        manner.how_to_use_memory(),
        manner.number_discipline(),
    ]
    told = [*own, *(layer for layer in (person, relevant, so_far, state) if layer.items)]
    # L8 speaks without items too: before the first session it is a preamble.
    return [*told, engaged]


async def _persona(tx: Tx, ask: Ask) -> Persona | None:
    return None if ask.scope.persona_id is None else await find_persona(tx, ask.scope, ask.scope.persona_id)


async def _conversation(tx: Tx, ask: Ask, where: Situation) -> Layer:
    """L6, from two rooms: spine and todos come from memory, the summaries from the sessions."""
    spine, summaries, todos = await tx.together(
        _spine(tx, ask), sessions.conversation(tx, ask, where), memory.todos(tx, ask)
    )
    items = (*spine, *summaries, *todos)
    return Layer(name="L6", title="The conversation so far", opening=_CONVERSATION, items=items, budget=1200)


async def _spine(tx: Tx, ask: Ask) -> tuple[Item, ...]:
    """The person's spine, one entry per part."""
    spine = await latest_spine(tx, ask.scope)
    if spine is None:
        return ()
    return tuple(
        Item(
            text=f"{part.replace('_', ' ').capitalize()} over time: {'; '.join(line.text for line in lines)}",
            sources=tuple(dict.fromkeys(source for line in lines for source in line.sources)),
            value=4.5,
        )
        for part, lines in spine.lines.items()
        if lines
    )
