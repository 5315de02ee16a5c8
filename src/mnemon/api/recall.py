"""`/api/memories/search`: the memories and messages that answer a query, ranked, with the parts of each score."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for
from mnemon.api.memory_shapes import MemoryOut
from mnemon.api.models import ApiModel, Instant, Name, NonEmptyText
from mnemon.memory.cards import Card
from mnemon.memory.fact import MemoryType
from mnemon.memory.memory import StoredMemory
from mnemon.memory.ranking import Ranking
from mnemon.memory.recall.query import FoundMessage, RecallHit, RecallKind, RecallQuery, RecallResult
from mnemon.memory.recall.search import recall
from mnemon.turn import Role
from mnemon.vectors.text_vectors import embed_query

router = APIRouter(prefix="/api/memories", tags=["memories"], route_class=JsonRoute)

_SCORE_PARTS = ("similarity", "lexical", "recency", "frequency")


class MemorySearchIn(ApiModel):
    """A search in a person's memories, or messages, or both."""

    user_id: Name
    persona_id: Name | None = None
    query: NonEmptyText
    limit: Annotated[int, Field(ge=1, le=200)] = 10
    ranking: Ranking = Ranking.HYBRID
    kinds: Annotated[tuple[RecallKind, ...], Field(min_length=1, max_length=2)] = (RecallKind.MEMORIES,)
    as_of: Instant | None = None
    types: Annotated[list[MemoryType], Field(min_length=1, max_length=10)] | None = None
    explain: bool = False


class MessageHit(ApiModel):
    """A message that was found."""

    id: str
    session_id: str
    turn_id: str
    persona_id: str | None
    role: Role
    content: str
    name: str | None
    at: Instant


class HitOut(ApiModel):
    """A memory or a message with its score; `why` has the parts of the score, `weights` their weights if asked for."""

    memory: MemoryOut | None = None
    message: MessageHit | None = None
    score: float
    claims: int | None = None
    """The number of claims outside the results that contradict this memory; left out if there are none."""
    why: dict[str, float]
    weights: dict[str, float] | None = None


class EntityCardOut(ApiModel):
    """What is known of an entity that the query mentions."""

    key: str
    label: str
    facts: list[str]
    text: str


class SearchOut(ApiModel):
    """The results, best first."""

    results: list[HitOut]
    entity_cards: list[EntityCardOut]
    ranking: Ranking
    considered: int | None = None


@router.post("/search", responses=responses_for(SearchOut))
async def search_memories(body: MemorySearchIn, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """Return what answers the query best, and the cards of the entities it mentions."""
    embedder = door.services.embedder
    scope = door.person_scope(body.user_id, body.persona_id)
    query = RecallQuery(
        text=body.query,
        vector=await embed_query(embedder, body.query),
        model=embedder.model,
        ranking=body.ranking,
        kinds=frozenset(body.kinds),
        limit=body.limit,
        types=frozenset(body.types or MemoryType),
        as_of=body.as_of,
    )
    found = await recall(door.services.db, scope, query)
    # Unset, not None: a null that was set, such as a memory's `personaId`, stays in the response.
    return door.reply(_search_out(found, body), omit_unset=True)


def _search_out(found: RecallResult, body: MemorySearchIn) -> SearchOut:
    """Return the result with only its own fields set: a hit is a memory or a message, weights come with `explain`."""
    explained = {"considered": found.considered} if body.explain else {}
    return SearchOut(
        results=[_hit_out(hit, body) for hit in found.hits],
        entity_cards=[_card_out(card) for card in found.cards],
        ranking=body.ranking,
        **explained,
    )


def _hit_out(hit: RecallHit, body: MemorySearchIn) -> HitOut:
    """Return the response for one result of a search: the memory or message, its score and the score's parts."""
    thing = (
        {"memory": MemoryOut.from_memory(hit.found, body.user_id)}
        if isinstance(hit.found, StoredMemory)
        else {"message": message_hit(hit.found)}
    )
    # Every part is named, 0 where the ranking does not use it.
    why = {**dict.fromkeys(_SCORE_PARTS, 0.0), **hit.parts}
    weights = {"weights": dict(hit.weights)} if body.explain else {}
    claims = {"claims": hit.claims} if hit.claims else {}
    return HitOut.model_validate({**thing, "score": hit.score, **claims, "why": why, **weights})


def message_hit(found: FoundMessage) -> MessageHit:
    """Return the response for a message that a search found."""
    return MessageHit(**{name: value for name, value in vars(found).items() if name in MessageHit.model_fields})


def _card_out(card: Card) -> EntityCardOut:
    """Return the response for an entity card."""
    return EntityCardOut(key=card.key, label=card.label, facts=list(card.facts), text=card.text)
