"""The prompt layers from memory: the person (L4), what is relevant to the message (L5), and todos for L6."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from mnemon.clock import format_time
from mnemon.db.tx import Tx
from mnemon.layer import Layer, LayerItem, LayerRequest
from mnemon.memory import store
from mnemon.memory.memory import StoredMemory
from mnemon.memory.offline.reports import unclear_closings
from mnemon.memory.ranking import Ranking
from mnemon.memory.recall.query import FoundMessage, RecallHit, RecallKind, RecallQuery, RecallResult
from mnemon.memory.recall.search import search_each
from mnemon.memory.todos.store import open_todos
from mnemon.memory.trust import Trust, source_mark
from mnemon.turn import Role, speaker_of

MOST_PINNED = 20
"""The most pinned memories that are always shown."""
MOST_RELEVANT = 10
"""The most relevant memories in L5."""
MOST_CLAIMS = 3
"""The most claims beside the relevant memories if these fill their places."""
MOST_MESSAGES = 6
"""The most messages from other sessions in L5."""
_MOST_TODOS = 12
ASK_WHICH = "The person says that something is over, and it is not clear which of these todos is meant; ask which"
"""How the prompt says that a report could be of several todos."""
_LONGEST_MESSAGE = 600

_PERSON_OPENING = "What is always to be kept in mind about this person."
_RELEVANT_OPENING = (
    "What is remembered that may matter for this message. Lines marked as external come from the source they name, not "
    "from the person. A line marked as a claim contradicts the line before it, which a more trusted source said."
)


@dataclass(frozen=True, kw_only=True)
class PromptRecall:
    """What memory contributes to the prompt for a message."""

    always: Sequence[StoredMemory]
    """Pinned memories, then the profile that the person was seeded with."""
    memories: RecallResult
    """Memories that answer the message."""
    messages: RecallResult
    """Earlier messages that answer the message."""


async def recall_for_prompt(tx: Tx, ask: LayerRequest) -> PromptRecall:
    """Return everything that the prompt layers L4 and L5 are made of, read in shared round trips."""
    queries = [
        _recall_query(ask, RecallKind.MEMORIES, MOST_RELEVANT),
        # More than are shown, since those of the running session are dropped afterwards.
        _recall_query(ask, RecallKind.MESSAGES, MOST_MESSAGES * 3),
    ]
    # Gathered, so that their statements share round trips.
    always, (memories, messages) = await tx.gather(
        store.pinned_and_seeded(tx, ask.scope, most=MOST_PINNED), search_each(tx, ask.scope, queries)
    )
    return PromptRecall(always=always, memories=memories, messages=messages)


def person_layer(found: PromptRecall) -> Layer:
    """Return prompt layer L4: the person's pinned memories and seeded profile."""
    items = tuple(
        # The values order all items of the prompt when its budget is short: L4 10, cards 9, memories 6, messages 4,
        # claims 2.
        LayerItem(text=one.line, sources=(one.id,), value=10.0 - rank / 100)
        for rank, one in enumerate(found.always)
    )
    return Layer(name="L4", title="The person", opening=_PERSON_OPENING, items=items, budget=600)


def relevant_layer(found: PromptRecall, running: str | None) -> Layer:
    """Return prompt layer L5: entity cards, then memories and earlier messages that answer the message best.

    Messages of the running session are left out, since the prompt shows them verbatim anyway.
    """
    pinned = {one.id for one in found.always if one.pinned}
    claims = {hit.contradicts: hit for hit in found.memories.hits if hit.contradicts}
    # Pinned memories are in L4 already; one with a claim is repeated, so that the claim never stands alone.
    facts = [
        hit
        for hit in found.memories.hits
        if not hit.contradicts and (hit.found.id not in pinned or hit.found.id in claims)
    ]
    elsewhere = [hit for hit in found.messages.hits if not _is_in_session(hit, running)][:MOST_MESSAGES]
    items = [
        *(
            LayerItem(text=card.text, sources=card.memory_ids, value=9.0 - rank / 100)
            for rank, card in enumerate(found.memories.cards)
        ),
        *chain.from_iterable(_items_with_claim(hit, claims.get(hit.found.id), rank) for rank, hit in enumerate(facts)),
        *(_hit_item(hit, 4.0 - rank / 10) for rank, hit in enumerate(elsewhere)),
    ]
    return Layer(name="L5", title="Relevant memories", opening=_RELEVANT_OPENING, items=tuple(items), budget=1500)


async def todo_items(tx: Tx, ask: LayerRequest) -> tuple[LayerItem, ...]:
    """Return items for prompt layer L6: the latest open todos of this persona, and todos to ask the person about."""
    known = (await open_todos(tx, ask.scope))[-_MOST_TODOS:]
    items = [
        LayerItem(text=f"Open {todo.kind}: {todo.line}", sources=(todo.id,), value=4.0 + rank / 100)
        for rank, todo in enumerate(known)
    ]
    # What is reported could be any of several todos: none is closed, so the reply has to ask.
    sources = {todo.content: todo.id for todo in known}
    for meant in unclear_closings(ask.query, list(sources)) if len(sources) > 1 else ():
        lines = "”, “".join(meant)
        ids = tuple(sources[content] for content in meant)
        items.append(LayerItem(text=f"{ASK_WHICH}: “{lines}”", sources=ids, value=9.5))
    return tuple(items)


def _recall_query(ask: LayerRequest, kind: RecallKind, limit: int) -> RecallQuery:
    """Return the search for what answers the message, among memories or among messages."""
    return RecallQuery(
        text=ask.query,
        vector=ask.vector if ask.model else None,
        model=ask.model,
        ranking=Ranking(ask.ranking),
        kinds=frozenset({kind}),
        limit=limit,
        extra_claims=MOST_CLAIMS,
    )


def _is_in_session(hit: RecallHit, session_id: str | None) -> bool:
    """Say whether the hit is a message of this session."""
    return isinstance(hit.found, FoundMessage) and hit.found.session_id == session_id


def _speaker_label(message: FoundMessage) -> str:
    """Return who said a message; a tool is always called a tool, so that its name cannot pass for a person."""
    # The name of a tool is chosen outside and could be "The person".
    if message.role is Role.TOOL:
        return f"A tool returned (external: {source_mark(Trust.TOOL, message.name or '')})"
    return f"{speaker_of(message.role, message.name)} said"


def _items_with_claim(hit: RecallHit, claim: RecallHit | None, rank: int) -> list[LayerItem]:
    """Return the item of a memory and of the claim that contradicts it; claims are the first to be cut."""
    shown = [_hit_item(hit, 6.0 - rank / 10)]
    if claim is not None and isinstance(claim.found, StoredMemory):
        text = claim.found.line_with_claims(hit.claims)
        # `needs`: the claim is dropped if the memory that it contradicts is.
        shown.append(LayerItem(text=text, sources=(claim.found.id,), value=2.0 - rank / 100, needs=hit.found.id))
    return shown


def _hit_item(hit: RecallHit, value: float) -> LayerItem:
    """Return a found memory or message as an item of the prompt."""
    if isinstance(hit.found, StoredMemory):
        further = hit.claims if hit.found.claim_of is not None else 0
        return LayerItem(text=hit.found.line_with_claims(further, alone=True), sources=(hit.found.id,), value=value)
    message = hit.found
    text = f"{_speaker_label(message)} at {format_time(message.at)}: {message.content[:_LONGEST_MESSAGE]}"
    return LayerItem(text=text, sources=(message.id,), value=value)
