"""The prompt layers from memory: the person (L4), what is relevant to the message (L5), and todos for L6."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import chain

from mnemon.clock import format_time
from mnemon.db.tx import Tx
from mnemon.layer import Layer, LayerItem, LayerLine, LayerPart, LayerRequest, StatedValue
from mnemon.memory import store
from mnemon.memory.attributes import Holds, known_attributes
from mnemon.memory.lifecycle import ArchiveReason, ArchiveStatus
from mnemon.memory.memory import StoredMemory
from mnemon.memory.offline.reports import unclear_closings
from mnemon.memory.ranking import Ranking
from mnemon.memory.recall.query import FoundMessage, RecallHit, RecallKind, RecallQuery, RecallResult
from mnemon.memory.recall.search import search_each
from mnemon.memory.relative_dates import dates_mark
from mnemon.memory.slots import SELF_KEY, read_memory, slot_of
from mnemon.memory.time_zone import TIME_ZONE_SLOT, choose_time_zone
from mnemon.memory.todos.store import open_todos
from mnemon.memory.trust import Trust, source_mark, source_mark_in
from mnemon.sessions.layer import said_line
from mnemon.sessions.organization import load_organization_settings
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
    "from the person."
)
_CLAIM_OPENING = (
    "A line marked as a claim contradicts what a more trusted source said: the line before it, or one about the person."
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
    values: tuple[StatedValue, ...] = ()
    """What the person's own attributes with one value are now, and those that were taken back."""
    now: datetime
    zone: tzinfo
    """The person's time zone."""

    def dates_of(self, memory_id: str) -> str:
        """Return what stands behind a shown memory: the days that its dates mean, and that they are past."""
        found = (one for one in (*self.always, *(hit.found for hit in self.memories.hits)) if one.id == memory_id)
        return next((dates_mark(one.dates, self.now, self.zone) for one in found if isinstance(one, StoredMemory)), "")


async def recall_for_prompt(tx: Tx, ask: LayerRequest) -> PromptRecall:
    """Return everything that the prompt layers L4 and L5 are made of, read in shared round trips."""
    queries = [
        _recall_query(ask, RecallKind.MEMORIES, MOST_RELEVANT),
        # More than are shown, since those of the running session are dropped afterwards.
        _recall_query(ask, RecallKind.MESSAGES, MOST_MESSAGES * 3),
    ]
    # Gathered, so that their statements share round trips.
    always, (memories, messages), values, organization = await tx.gather(
        store.pinned_and_seeded(tx, ask.scope, most=MOST_PINNED),
        search_each(tx, ask.scope, queries),
        _values_now(tx, ask),
        load_organization_settings(tx, ask.scope),
    )
    told = (value for one in values if one.slot == TIME_ZONE_SLOT and not one.ended for value in one.values)
    zone = choose_time_zone(tx, told, organization.time_zone)
    return PromptRecall(always=always, memories=memories, messages=messages, values=values, now=ask.now, zone=zone)


def person_layer(found: PromptRecall) -> Layer:
    """Return prompt layer L4: the person's pinned memories and seeded profile."""
    items = tuple(
        # The values order all items of the prompt when its budget is short: L4 10, cards 9, memories 6, messages 4,
        # claims 2.
        _memory_item(one, one.line, 10.0 - rank / 100, found)
        for rank, one in enumerate(found.always)
    )
    return Layer(name="L4", title="The person", opening=_PERSON_OPENING, items=items, budget=600, reserve=0.1)


StatedClaim = tuple[str, str]
"""A claim's id, and its line in the prompt."""


def _claims_by_memory(found: PromptRecall) -> dict[str, StatedClaim]:
    """Return the claim that is shown beside a memory, by that memory's id."""
    counts = {hit.found.id: hit.claims for hit in found.memories.hits}
    return {
        hit.contradicts: (hit.found.id, hit.found.line_with_claims(counts.get(hit.contradicts, 0)))
        for hit in found.memories.hits
        if hit.contradicts and isinstance(hit.found, StoredMemory)
    }


def relevant_layer(found: PromptRecall, running: str | None) -> Layer:
    """Return prompt layer L5: entity cards, then memories and earlier messages that answer the message best.

    Messages of the running session are left out, since the prompt shows them verbatim anyway.
    """
    always, claims = {one.id for one in found.always}, _claims_by_memory(found)
    # What is always shown is in L4 already. A claim against it stands here by itself: L4 holds nothing doubtful.
    facts = [hit for hit in found.memories.hits if not hit.contradicts and hit.found.id not in always]
    elsewhere = [hit for hit in found.messages.hits if not _is_in_session(hit, running)][:MOST_MESSAGES]
    items = [
        *_card_items(found, {hit.found.id for hit in facts if hit.found.id in claims}),
        *chain.from_iterable(
            _items_with_claim(hit, claims.get(hit.found.id), rank, found) for rank, hit in enumerate(facts)
        ),
        *(_claim_item(None, claims[one.id], rank) for rank, one in enumerate(found.always) if one.id in claims),
        *(_hit_item(hit, 4.0 - rank / 10, found) for rank, hit in enumerate(elsewhere)),
    ]
    return Layer(
        name="L5",
        title="Relevant memories",
        opening=f"{_RELEVANT_OPENING} {_CLAIM_OPENING}",
        items=tuple(items),
        budget=1500,
        reserve=0.15,
    )


async def todo_items(tx: Tx, ask: LayerRequest) -> tuple[LayerItem, ...]:
    """Return items for prompt layer L6: the latest open todos of this persona, and todos to ask the person about."""
    known = (await open_todos(tx, ask.scope))[-_MOST_TODOS:]
    items = [
        LayerItem(
            text=f"Open {todo.kind}: {todo.line}",
            sources=(todo.id,),
            value=4.0 + rank / 100,
            lines=(LayerLine(lead=f"Open {todo.kind}: ", parts=(LayerPart(text=todo.line),)),),
            is_current=True,
        )
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


def _items_with_claim(hit: RecallHit, claim: StatedClaim | None, rank: int, recalled: PromptRecall) -> list[LayerItem]:
    """Return the item of a memory and of the claim that contradicts it; claims are the first to be cut."""
    shown = _hit_item(hit, 6.0 - rank / 10, recalled)
    return [shown] if claim is None else [shown, _claim_item(hit.found.id, claim, rank)]


def _claim_item(memory_id: str | None, claim: StatedClaim, rank: int) -> LayerItem:
    """Return the item of a claim, which is dropped if the memory that it contradicts is, where that precedes it."""
    claim_id, text = claim
    return LayerItem(text=text, sources=(claim_id,), value=2.0 - rank / 100, needs=memory_id)


def _hit_item(hit: RecallHit, value: float, recalled: PromptRecall) -> LayerItem:
    """Return a found memory or message as an item of the prompt."""
    if isinstance(hit.found, StoredMemory):
        further = hit.claims if hit.found.claim_of is not None else 0
        return _memory_item(hit.found, hit.found.line_with_claims(further, alone=True), value, recalled)
    message = hit.found
    lead, said = f"{_speaker_label(message)} at {format_time(message.at)}: ", message.content[:_LONGEST_MESSAGE]
    return LayerItem(
        text=f"{lead}{said}", sources=(message.id,), value=value, lines=(said_line(lead, said),), said_at=message.at
    )


def _memory_item(one: StoredMemory, text: str, value: float, recalled: PromptRecall) -> LayerItem:
    """Return the item of a memory, shown in these words."""
    mark = recalled.dates_of(one.id)
    part = LayerPart(text=text, sources=(one.id,), value=stated_value(one), mark=mark, source_mark=source_mark_in(text))
    line = LayerLine(parts=(part,))
    return LayerItem(text=line.text, sources=(one.id,), value=value, lines=(line,), is_current=one.claim_of is None)


def _card_items(found: PromptRecall, apart: Container[str]) -> Iterator[LayerItem]:
    """Yield the items of entity cards, without the facts that stand apart because a claim has to follow them."""
    for rank, card in enumerate(found.memories.cards):
        facts = zip(card.facts, card.memory_ids, strict=True)
        # A semicolon in a fact would look like its end.
        parts = tuple(
            LayerPart(
                text=fact.replace(";", ","),
                sources=(source,),
                mark=found.dates_of(source),
                source_mark=source_mark_in(fact),
            )
            for fact, source in facts
            if source not in apart
        )
        line = LayerLine(lead=f"[{card.key}]: ", parts=parts)
        sources = tuple(source for part in parts for source in part.sources)
        if parts:
            yield LayerItem(text=line.text, sources=sources, value=9.0 - rank / 100, lines=(line,), is_current=True)


def stated_value(one: StoredMemory) -> StatedValue | None:
    """Return what a memory states of an attribute with one value; None if nothing such, and for a claim."""
    reading = read_memory(one)
    if one.claim_of is not None or reading.attribute is None or reading.attribute.holds is not Holds.ONE:
        return None
    ended = one.status is ArchiveStatus.ARCHIVED
    since = (one.archived_at or one.stated_at) if ended else one.stated_at
    return StatedValue(slot=reading.slot, values=reading.values, since=since, ended=ended) if reading.values else None


_OWN_SLOTS = tuple(
    slot_of(SELF_KEY, name) for name, attribute in known_attributes().items() if attribute.holds is Holds.ONE
)
"""The person's own attributes with one value."""


async def _values_now(tx: Tx, ask: LayerRequest) -> tuple[StatedValue, ...]:
    """Return the value of each of the person's own attributes with one value, and those that were taken back."""
    chosen: dict[str, StatedValue] = {}
    for one in sorted(await store.in_slots(tx, ask.scope, _OWN_SLOTS), key=_value_order):
        told = one.archive_reason in (None, ArchiveReason.OUTDATED) and not one.is_replaced
        if told and (value := stated_value(one)) is not None:
            chosen.setdefault(value.slot, value)
    return tuple(chosen.values())


def _value_order(one: StoredMemory) -> tuple[bool, bool, float]:
    """Return the sort key of memories of one attribute: active ones, the persona's own, the latest."""
    return one.status is not ArchiveStatus.ACTIVE, one.persona_id is None, -one.stated_at.timestamp()
