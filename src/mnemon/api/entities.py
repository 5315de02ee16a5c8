"""`/api/entities`: who and what a person's memories speak of, merged and split."""

import asyncio
from typing import Annotated, Self

from fastapi import APIRouter, Query, Response
from pydantic import Field

from mnemon.access.grants import Grant
from mnemon.api.door import Door, documented, needs
from mnemon.api.json_route import JsonRoute
from mnemon.api.wire import Instant, Name, Text, Wire, position_of
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.memory.entities import merge as merging
from mnemon.memory.entities import store
from mnemon.memory.entities.aliases import Link
from mnemon.memory.entities.merge import Merged, open_proposals
from mnemon.memory.entities.overview import EntityOverview, overviews, ties
from mnemon.memory.entities.pairing import Proposal
from mnemon.memory.fact import EntityType
from mnemon.memory.trust import Trust

router = APIRouter(prefix="/api/entities", tags=["entities"], route_class=JsonRoute)
Key = Annotated[Text, Field(min_length=1, max_length=300)]


class EntityOut(Wire):
    key: str
    type: EntityType
    label: str
    aliases: list[str]
    memories: int
    mentions: int
    last_mentioned_at: Instant

    @classmethod
    def of(cls, entity: EntityOverview) -> Self:
        return cls(
            key=entity.key,
            type=entity.type,
            label=entity.label,
            aliases=list(entity.aliases),
            memories=len(entity.memories),
            mentions=entity.mentions,
            last_mentioned_at=entity.last_mentioned_at,
        )


class RelatedOut(Wire):
    key: str
    weight: int


class FactOut(Wire):
    id: str
    content: str
    importance: int
    pinned: bool
    origin: str
    trust_level: Trust
    claim_of: str | None


class EntityPage(Wire):
    """One entity with its card."""

    key: str
    type: EntityType
    label: str
    aliases: list[str]
    facts: list[str]
    text: str
    memories: list[FactOut]
    related: list[RelatedOut]
    mentions: int
    last_mentioned_at: Instant


class MergeIn(Wire):
    user_id: Name
    from_: Key = Field(alias="from")
    into: Key


class SplitIn(Wire):
    user_id: Name
    key: Key
    from_: Key = Field(alias="from")


class MergeOut(Wire):
    key: str
    aliases: list[str]
    changed: bool

    @classmethod
    def of(cls, merged: Merged) -> Self:
        return cls(key=merged.key, aliases=list(merged.aliases), changed=merged.changed)


class SplitOut(Wire):
    key: str
    from_: str = Field(alias="from")

    @classmethod
    def of(cls, link: Link) -> Self:
        return cls(key=link.target, from_=link.alias)


class SuggestionOut(Wire):
    from_: str = Field(alias="from")
    into: str
    score: float
    reasons: list[str]

    @classmethod
    def of(cls, proposal: Proposal) -> Self:
        judged = proposal.judgement
        return cls(from_=proposal.source, into=proposal.into, score=judged.score, reasons=list(judged.reasons))


@router.get("", responses=documented(EntityOut, page=True))
async def list_entities(
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    user_id: Annotated[Name, Query(alias="userId")],
    persona_id: Annotated[Name | None, Query(alias="personaId")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Response:
    """Entities by key, aliases resolved."""
    scope = door.person(user_id, persona_id)
    after = position_of(cursor) or ""
    async with door.tx() as tx:
        spoken, aliases = await store.spoken_of(tx, scope), await store.load_aliases(tx, scope)
    shown = [EntityOut.of(one) for one in overviews(spoken, aliases) if one.key > after]
    return door.page(shown[: limit + 1], limit=limit, position=lambda one: one.key)


@router.get("/suggestions", responses=documented(SuggestionOut, page=True))
async def list_suggestions(
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    user_id: Annotated[Name, Query(alias="userId")],
    persona_id: Annotated[Name | None, Query(alias="personaId")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Response:
    """Pairs that may be one entity, likeliest first."""
    scope = door.person(user_id, persona_id)
    async with door.tx() as tx:
        spoken, aliases = await store.spoken_of(tx, scope), await store.load_aliases(tx, scope)
        apart = await store.kept_apart(tx, scope)
    proposals = await asyncio.to_thread(open_proposals, spoken, aliases, apart)
    return door.page(_after(proposals, position_of(cursor))[: limit + 1], limit=limit, position=_place)


def _place(suggestion: SuggestionOut) -> str:
    return f"{1 - suggestion.score:.3f} {suggestion.from_} {suggestion.into}"


def _after(proposals: list[Proposal], position: str | None) -> list[SuggestionOut]:
    shown = [SuggestionOut.of(one) for one in proposals]
    return [one for one in shown if position is None or _place(one) > position]


@router.get("/{key}", responses=documented(EntityPage))
async def get_entity(
    key: str,
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    user_id: Annotated[Name, Query(alias="userId")],
    persona_id: Annotated[Name | None, Query(alias="personaId")] = None,
) -> Response:
    """One entity with its card, under any of its keys."""
    scope = door.person(user_id, persona_id)
    async with door.tx() as tx:
        spoken, aliases = await store.spoken_of(tx, scope), await store.load_aliases(tx, scope)
    found = next((one for one in overviews(spoken, aliases) if one.key == aliases.resolve(key)), None)
    if found is None:
        raise NotFound("entity")
    related = [
        (t.two if t.one == found.key else t.one, t.weight) for t in ties(spoken, aliases) if found.key in (t.one, t.two)
    ]
    return door.reply(_page(found, related))


_SHOWN_OF_A_FACT = ("id", "content", "importance", "pinned", "origin", "claim_of")


def _page(entity: EntityOverview, related: list[tuple[str, int]]) -> EntityPage:
    card = entity.card
    return EntityPage(
        key=entity.key,
        type=entity.type,
        label=entity.label,
        aliases=list(entity.aliases),
        facts=list(card.facts),
        text=card.text,
        memories=[
            FactOut(**{name: getattr(one, name) for name in _SHOWN_OF_A_FACT}, trust_level=one.trust)
            for one in entity.memories
        ],
        related=[RelatedOut(key=key, weight=weight) for key, weight in related[:20]],
        mentions=entity.mentions,
        last_mentioned_at=entity.last_mentioned_at,
    )


@router.post("/merge", responses=documented(MergeOut))
async def merge_entities(body: MergeIn, door: Annotated[Door, needs(Grant.MEMORY_WRITE)]) -> Response:
    """Both keys read as one entity; stored keys do not change."""
    scope = door.person(body.user_id)

    async def effect(tx: Tx) -> Merged:
        return await merging.merge(tx, scope, body.from_, body.into)

    return await door.write(effect, MergeOut.of)


@router.post("/split", responses=documented(SplitOut))
async def split_entities(body: SplitIn, door: Annotated[Door, needs(Grant.MEMORY_WRITE)]) -> Response:
    """A merge is undone: everything reads as before."""
    scope = door.person(body.user_id)

    async def effect(tx: Tx) -> Link:
        return await merging.split(tx, scope, body.key, body.from_)

    return await door.write(effect, SplitOut.of)
