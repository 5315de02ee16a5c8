"""The layers L1 to L8 in their order, each read from its room."""

from dataclasses import dataclass, replace

from mnemon.agentstate import layer as agentstate
from mnemon.context import manner
from mnemon.db.tx import Tx
from mnemon.engagement import layer as engagement
from mnemon.layer import Ask, Item, Layer
from mnemon.memory import layer as memory
from mnemon.memory.upkeep.store import latest_spine
from mnemon.sessions import layer as sessions
from mnemon.sessions.boundary import Boundary
from mnemon.sessions.personas import Persona, find_persona
from mnemon.turn import Said

_CONVERSATION = "The conversation with this person so far. Take it up naturally; do not repeat what was settled."


@dataclass(frozen=True, kw_only=True)
class Read:
    """What the rooms have to say."""

    layers: tuple[Layer, ...]
    """Every layer that says something."""
    recent: tuple[Said, ...]
    """The last messages of the session that runs."""
    session_id: str | None
    """The session that runs; None when the message would begin one."""


async def read(tx: Tx, ask: Ask, boundary: Boundary, turn_id: str | None) -> Read:
    """All layers, read together: in three round trips, or two where the index knows what it finds."""
    talk, persona, recollection, (spine, todos), engaged = await tx.together(
        _talk(tx, ask, boundary, turn_id),
        _persona(tx, ask),
        memory.recollect(tx, ask),
        _over_time(tx, ask),
        engagement.engagement(tx, ask),
    )
    own = (
        manner.who(persona.name if persona else None, persona.prompt if persona else None),
        manner.how_to_use_memory(),
        manner.number_discipline(),
    )
    recalled = (
        memory.person(recollection),
        memory.relevant(recollection, talk.session_id),
        _conversation((*spine, *talk.summaries, *todos)),
        talk.state,
    )
    # L8 speaks without items too: before the first session it is a preamble.
    told = (*own, *(layer for layer in recalled if layer.items), engaged)
    return Read(layers=told, recent=talk.recent, session_id=talk.session_id)


@dataclass(frozen=True, kw_only=True)
class _Talk:
    """What depends on where the message stands."""

    session_id: str | None
    summaries: tuple[Item, ...]
    state: Layer
    recent: tuple[Said, ...]


async def _talk(tx: Tx, ask: Ask, boundary: Boundary, turn_id: str | None) -> _Talk:
    where = await sessions.situation(tx, ask, boundary)
    placed = replace(ask, session_id=where.session_id)
    summaries, state, recent = await tx.together(
        sessions.conversation(tx, placed, where),
        agentstate.state(tx, placed),
        sessions.recent_messages(tx, placed, where, turn_id),
    )
    return _Talk(session_id=where.session_id, summaries=summaries, state=state, recent=recent)


async def _persona(tx: Tx, ask: Ask) -> Persona | None:
    return None if ask.scope.persona_id is None else await find_persona(tx, ask.scope, ask.scope.persona_id)


def _conversation(items: tuple[Item, ...]) -> Layer:
    """L6, from two rooms: spine and todos come from memory, the summaries from the sessions."""
    return Layer(name="L6", title="The conversation so far", opening=_CONVERSATION, items=items, budget=1200)


async def _over_time(tx: Tx, ask: Ask) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    return await tx.together(_spine(tx, ask), memory.todos(tx, ask))


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
