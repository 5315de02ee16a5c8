"""What memory adds to the prompt: the person (L4), what is relevant to the message (L5), and todos for L6."""

from mnemon.clock import iso
from mnemon.db.tx import Tx
from mnemon.layer import Ask, Item, Layer
from mnemon.memory import store
from mnemon.memory.fact import Trust
from mnemon.memory.memory import Memory
from mnemon.memory.ranking import Ranking
from mnemon.memory.recall.query import Heard, Hit, Query, RecallKind
from mnemon.memory.recall.search import search
from mnemon.memory.todos.store import open_todos

FOUNDATION = 20
"""Most pinned memories that are always shown."""
RELEVANT = 10
SAID = 6
_TODOS = 12
_LONGEST = 600

_PERSON = "What is always to be kept in mind about this person."
_RELEVANT = (
    "What is remembered that may matter for this message. Lines marked as external come from tools or documents."
)


async def person(tx: Tx, ask: Ask) -> Layer:
    """L4: the foundation, what is pinned, then the profile the person was seeded with."""
    known = await store.foundation(tx, ask.scope, most=FOUNDATION, with_seed=True)
    items = tuple(Item(text=line(one), sources=(one.id,), value=10.0 - place / 100) for place, one in enumerate(known))
    return Layer(name="L4", title="The person", opening=_PERSON, items=items, budget=600)


async def relevant(tx: Tx, ask: Ask) -> Layer:
    """L5: entity cards first, then the memories and what was said that answer the message best."""
    memories = await search(tx, ask.scope, _query(ask, RecallKind.MEMORIES, RELEVANT))
    said = await search(tx, ask.scope, _query(ask, RecallKind.MESSAGES, SAID * 3))
    cards = [
        Item(text=card.text, sources=card.memory_ids, value=9.0 - place / 100)
        for place, card in enumerate(memories.cards)
    ]
    always = {one.id for one in await store.foundation(tx, ask.scope, most=FOUNDATION)}
    facts = [hit for hit in memories.hits if hit.found.id not in always]
    elsewhere = [hit for hit in said.hits if not _runs_now(hit, ask)][:SAID]
    items = [
        *cards,
        *(_item(hit, 6.0 - place / 10) for place, hit in enumerate(facts)),
        *(_item(hit, 4.0 - place / 10) for place, hit in enumerate(elsewhere)),
    ]
    return Layer(name="L5", title="Relevant memories", opening=_RELEVANT, items=tuple(items), budget=1500)


async def todos(tx: Tx, ask: Ask) -> tuple[Item, ...]:
    """For L6: what is open with this persona, the latest ones."""
    known = (await open_todos(tx, ask.scope))[-_TODOS:]
    return tuple(
        Item(text=f"Open {todo.kind}: {todo.content}", sources=(todo.id,), value=4.0 + place / 100)
        for place, todo in enumerate(known)
    )


def line(memory: Memory) -> str:
    """The memory as the prompt shows it."""
    return memory.content if memory.trust is Trust.PERSON else f"{memory.content} (external)"


def _query(ask: Ask, kind: RecallKind, limit: int) -> Query:
    return Query(
        text=ask.query,
        vector=ask.vector if ask.model else None,
        model=ask.model,
        ranking=Ranking(ask.ranking),
        kinds=frozenset({kind}),
        limit=limit,
    )


def _runs_now(hit: Hit, ask: Ask) -> bool:
    """What was said in the session that runs is shown verbatim anyway."""
    return isinstance(hit.found, Heard) and hit.found.session_id == ask.session_id


def _item(hit: Hit, value: float) -> Item:
    if isinstance(hit.found, Memory):
        return Item(text=line(hit.found), sources=(hit.found.id,), value=value)
    heard = hit.found
    text = f"{heard.name or heard.role.value} said at {iso(heard.at)}: {heard.content[:_LONGEST]}"
    return Item(text=text, sources=(heard.id,), value=value)
