"""`/api/memories/search`: what answers a query, ranked and explained."""

from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import Field

from mnemon.access.grants import Grant
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.memory_shapes import MemoryOut
from mnemon.api.wire import Instant, Name, Wire, Words
from mnemon.memory.cards import Card
from mnemon.memory.fact import MemoryType
from mnemon.memory.memory import Memory
from mnemon.memory.ranking import Ranking
from mnemon.memory.recall.query import Heard, Hit, Query, Recalled, RecallKind
from mnemon.memory.recall.search import recall
from mnemon.turn import Role
from mnemon.vectors.embed import embed_query

router = APIRouter(prefix="/api/memories", tags=["memories"], route_class=JsonRoute)

_ALWAYS = ("similarity", "lexical", "recency", "frequency")


class SearchIn(Wire):
    user_id: Name
    persona_id: Name | None = None
    query: Words
    limit: Annotated[int, Field(ge=1, le=200)] = 10
    ranking: Ranking = Ranking.HYBRID
    kinds: Annotated[tuple[RecallKind, ...], Field(min_length=1, max_length=2)] = (RecallKind.MEMORIES,)
    as_of: Instant | None = None
    types: Annotated[list[MemoryType], Field(min_length=1, max_length=10)] | None = None
    explain: bool = False


class MessageHit(Wire):
    id: str
    session_id: str
    turn_id: str
    persona_id: str | None
    role: Role
    content: str
    name: str | None
    at: Instant


class HitOut(Wire):
    memory: MemoryOut | None = None
    message: MessageHit | None = None
    score: float
    claims: int | None = None
    """How many claims contradict this memory that are not among the results; left out where there are none."""
    why: dict[str, float]
    weights: dict[str, float] | None = None


class CardOut(Wire):
    key: str
    label: str
    facts: list[str]
    text: str


class SearchOut(Wire):
    results: list[HitOut]
    entity_cards: list[CardOut]
    ranking: Ranking
    considered: int | None = None


@router.post("/search", responses=documented(SearchOut))
async def search_memories(body: SearchIn, door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
    """What answers the query best, and the cards of the entities it speaks of."""
    embedder = door.basement.embedder
    scope = door.person(body.user_id, body.persona_id)
    query = Query(
        text=body.query,
        vector=await embed_query(embedder, body.query),
        model=embedder.model,
        ranking=body.ranking,
        kinds=frozenset(body.kinds),
        limit=body.limit,
        types=frozenset(body.types or MemoryType),
        as_of=body.as_of,
    )
    found = await recall(door.basement.db, scope, query)
    return door.reply(_rendered(found, body))


def _rendered(found: Recalled, body: SearchIn) -> dict[str, Any]:
    """Only what there is: a hit is a memory or a message, and weights are shown to who asks for an explanation."""
    explained = {"considered": found.considered} if body.explain else {}
    out = SearchOut(
        results=[_hit(hit, body) for hit in found.hits],
        entity_cards=[_card(card) for card in found.cards],
        ranking=body.ranking,
        **explained,
    )
    return out.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _hit(hit: Hit, body: SearchIn) -> HitOut:
    thing = (
        {"memory": MemoryOut.of(hit.found, body.user_id)}
        if isinstance(hit.found, Memory)
        else {"message": message_hit(hit.found)}
    )
    why = {**dict.fromkeys(_ALWAYS, 0.0), **hit.parts}
    weights = {"weights": dict(hit.weights)} if body.explain else {}
    claims = {"claims": hit.claims} if hit.claims else {}
    return HitOut.model_validate({**thing, "score": hit.score, **claims, "why": why, **weights})


def message_hit(heard: Heard) -> MessageHit:
    """The message as the wire writes it."""
    return MessageHit(**{name: value for name, value in vars(heard).items() if name in MessageHit.model_fields})


def _card(card: Card) -> CardOut:
    return CardOut(key=card.key, label=card.label, facts=list(card.facts), text=card.text)
