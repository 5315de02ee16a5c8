"""What memory adds to the prompt: the person (L4), what is relevant to the message (L5), and todos for L6."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from mnemon.clock import iso
from mnemon.db.tx import Tx
from mnemon.layer import Ask, Item, Layer
from mnemon.memory import store
from mnemon.memory.memory import Memory
from mnemon.memory.ranking import Ranking
from mnemon.memory.recall.query import Heard, Hit, Query, Recalled, RecallKind
from mnemon.memory.recall.search import search_each
from mnemon.memory.todos.store import open_todos
from mnemon.memory.trust import Trust, source_mark
from mnemon.turn import Role, speaker_of

FOUNDATION = 20
"""Most pinned memories that are always shown."""
RELEVANT = 10
CLAIMS = 3
"""Claims that may stand beside the relevant memories where those fill their places."""
SAID = 6
_TODOS = 12
_LONGEST = 600

_KEPT_IN_MIND = "What is always to be kept in mind about this person."
_MAY_MATTER = (
    "What is remembered that may matter for this message. Lines marked as external come from the source they name, not "
    "from the person. A line marked as a claim contradicts the line before it, which a more trusted source said."
)


@dataclass(frozen=True, kw_only=True)
class Recollection:
    """What memory has to say to a message."""

    always: Sequence[Memory]
    """What is pinned, then the profile the person was seeded with."""
    known: Recalled
    said: Recalled


async def recollect(tx: Tx, ask: Ask) -> Recollection:
    """Everything L4 and L5 are made of."""
    wanted = [_query(ask, RecallKind.MEMORIES, RELEVANT), _query(ask, RecallKind.MESSAGES, SAID * 3)]
    always, (known, said) = await tx.together(
        store.foundation(tx, ask.scope, most=FOUNDATION), search_each(tx, ask.scope, wanted)
    )
    return Recollection(always=always, known=known, said=said)


def person(found: Recollection) -> Layer:
    """L4: the foundation."""
    items = tuple(
        Item(text=line(one), sources=(one.id,), value=10.0 - place / 100) for place, one in enumerate(found.always)
    )
    return Layer(name="L4", title="The person", opening=_KEPT_IN_MIND, items=items, budget=600)


def relevant(found: Recollection, running: str | None) -> Layer:
    """L5: entity cards first, then the memories and what was said that answer the message best.

    What was said in the session that runs is shown verbatim anyway.
    """
    pinned = {one.id for one in found.always if one.pinned}
    claims = {hit.beside: hit for hit in found.known.hits if hit.beside}
    # What is pinned stands in L4 already; beside a claim it is said again, so that the claim never stands alone.
    facts = [
        hit for hit in found.known.hits if not hit.beside and (hit.found.id not in pinned or hit.found.id in claims)
    ]
    elsewhere = [hit for hit in found.said.hits if not _in_session(hit, running)][:SAID]
    items = [
        *(
            Item(text=card.text, sources=card.memory_ids, value=9.0 - place / 100)
            for place, card in enumerate(found.known.cards)
        ),
        *chain.from_iterable(_with_claim(hit, claims.get(hit.found.id), place) for place, hit in enumerate(facts)),
        *(_item(hit, 4.0 - place / 10) for place, hit in enumerate(elsewhere)),
    ]
    return Layer(name="L5", title="Relevant memories", opening=_MAY_MATTER, items=tuple(items), budget=1500)


async def todos(tx: Tx, ask: Ask) -> tuple[Item, ...]:
    """For L6: what is open with this persona, the latest ones."""
    known = (await open_todos(tx, ask.scope))[-_TODOS:]
    return tuple(
        Item(text=f"Open {todo.kind}: {todo.line}", sources=(todo.id,), value=4.0 + place / 100)
        for place, todo in enumerate(known)
    )


def line(memory: Memory) -> str:
    """The memory as the prompt shows it."""
    return memory.line


def _query(ask: Ask, kind: RecallKind, limit: int) -> Query:
    return Query(
        text=ask.query,
        vector=ask.vector if ask.model else None,
        model=ask.model,
        ranking=Ranking(ask.ranking),
        kinds=frozenset({kind}),
        limit=limit,
        extra_claims=CLAIMS,
    )


def _in_session(hit: Hit, session_id: str | None) -> bool:
    return isinstance(hit.found, Heard) and hit.found.session_id == session_id


def _who_said(heard: Heard) -> str:
    """The speaker; a tool is called one, whatever name its caller gave it, so that it cannot pass for somebody."""
    if heard.role is Role.TOOL:
        return f"A tool returned (external: {source_mark(Trust.TOOL, heard.name or '')})"
    return f"{speaker_of(heard.role, heard.name)} said"


def _with_claim(hit: Hit, claim: Hit | None, place: int) -> list[Item]:
    """A memory, and after it the claim that contradicts it; short of room, claims go before anything else."""
    shown = [_item(hit, 6.0 - place / 10)]
    if claim is not None and isinstance(claim.found, Memory):
        text = claim.found.line_with(hit.claims)
        shown.append(Item(text=text, sources=(claim.found.id,), value=2.0 - place / 100, needs=hit.found.id))
    return shown


def _item(hit: Hit, value: float) -> Item:
    if isinstance(hit.found, Memory):
        further = hit.claims if hit.found.claim_of is not None else 0
        return Item(text=hit.found.line_with(further), sources=(hit.found.id,), value=value)
    heard = hit.found
    text = f"{_who_said(heard)} at {iso(heard.at)}: {heard.content[:_LONGEST]}"
    return Item(text=text, sources=(heard.id,), value=value)
