"""`/api/entities`: the people and things that a person's memories mention; merge and split them."""

import asyncio
from typing import Annotated, Self

from fastapi import APIRouter, Query, Response
from pydantic import Field

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs, responses_for, write_responses
from mnemon.api.models import ApiModel, Instant, Name, Text, decode_cursor
from mnemon.db.tx import Tx
from mnemon.errors import NotFound
from mnemon.memory.entities import merge as merging
from mnemon.memory.entities import store
from mnemon.memory.entities.aliases import AliasLink
from mnemon.memory.entities.merge import MergeResult, open_proposals
from mnemon.memory.entities.overview import EntityOverview, co_mentions, entity_overviews
from mnemon.memory.entities.proposals import MergeProposal
from mnemon.memory.fact import EntityType
from mnemon.memory.trust import Trust

router = APIRouter(prefix="/api/entities", tags=["entities"], route_class=JsonRoute)
EntityKey = Annotated[Text, Field(min_length=1, max_length=300)]


class EntityOut(ApiModel):
    """An entity with its aliases and how often it is mentioned."""

    key: str
    type: EntityType
    label: str
    aliases: list[str]
    memories: int
    mentions: int
    last_mentioned_at: Instant

    @classmethod
    def from_entity(cls, entity: EntityOverview) -> Self:
        """Return the response for an entity's overview."""
        return cls(
            key=entity.key,
            type=entity.type,
            label=entity.label,
            aliases=list(entity.aliases),
            memories=len(entity.memories),
            mentions=entity.mentions,
            last_mentioned_at=entity.last_mentioned_at,
        )


class RelatedOut(ApiModel):
    """An entity that the same memories mention; `weight` counts them."""

    key: str
    weight: int


class FactOut(ApiModel):
    """A memory about an entity."""

    id: str
    content: str
    importance: int
    pinned: bool
    origin: str
    trust_level: Trust
    claim_of: str | None


class EntityPage(ApiModel):
    """One entity with its card, its memories and the entities mentioned with it."""

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


class MergeIn(ApiModel):
    """Two keys to be read as one entity."""

    user_id: Name
    from_: EntityKey = Field(alias="from")
    into: EntityKey


class SplitIn(ApiModel):
    """A merge to undo."""

    user_id: Name
    key: EntityKey
    from_: EntityKey = Field(alias="from")


class MergeOut(ApiModel):
    """The merged entity; `changed` is false when the keys were merged before."""

    key: str
    aliases: list[str]
    changed: bool

    @classmethod
    def from_merge(cls, merged: MergeResult) -> Self:
        """Return the response for a merge of two entity keys."""
        return cls(key=merged.key, aliases=list(merged.aliases), changed=merged.changed)


class SplitOut(ApiModel):
    """The two keys that are separate again."""

    key: str
    from_: str = Field(alias="from")

    @classmethod
    def from_link(cls, link: AliasLink) -> Self:
        """Return the response for a split: the two keys of the alias that was removed."""
        return cls(key=link.target, from_=link.alias)


class SuggestionOut(ApiModel):
    """Two keys that may name the same entity, with the reasons."""

    from_: str = Field(alias="from")
    into: str
    score: float
    reasons: list[str]

    @classmethod
    def from_proposal(cls, proposal: MergeProposal) -> Self:
        """Return the response for a proposed merge of two entity keys, with its reasons."""
        judged = proposal.judgement
        return cls(from_=proposal.source, into=proposal.into, score=judged.score, reasons=list(judged.reasons))


@router.get("", responses=responses_for(EntityOut, page=True))
async def list_entities(
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    user_id: Annotated[Name, Query(alias="userId")],
    persona_id: Annotated[Name | None, Query(alias="personaId")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Response:
    """List a person's entities by key, with aliases resolved."""
    scope = door.person_scope(user_id, persona_id)
    after = decode_cursor(cursor) or ""
    async with door.tx() as tx:
        spoken, aliases = await store.list_mentions(tx, scope), await store.load_aliases(tx, scope)
    shown = [EntityOut.from_entity(one) for one in entity_overviews(spoken, aliases) if one.key > after]
    return door.page(shown[: limit + 1], limit=limit, position=lambda one: one.key)


@router.get("/suggestions", responses=responses_for(SuggestionOut, page=True))
async def list_suggestions(
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    user_id: Annotated[Name, Query(alias="userId")],
    persona_id: Annotated[Name | None, Query(alias="personaId")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Response:
    """List pairs of keys that may name the same entity, likeliest first."""
    scope = door.person_scope(user_id, persona_id)
    async with door.tx() as tx:
        spoken, aliases = await store.list_mentions(tx, scope), await store.load_aliases(tx, scope)
        apart = await store.pairs_kept_apart(tx, scope)
    # Compares every pair of keys, so it runs outside the event loop.
    proposals = await asyncio.to_thread(open_proposals, spoken, aliases, apart)
    return door.page(
        _suggestions_after(proposals, decode_cursor(cursor))[: limit + 1], limit=limit, position=_suggestion_position
    )


def _suggestion_position(suggestion: SuggestionOut) -> str:
    """Return the cursor position of a merge suggestion: score, then keys."""
    # Sorts as the list does: a higher score gives a smaller text.
    return f"{1 - suggestion.score:.3f} {suggestion.from_} {suggestion.into}"


def _suggestions_after(proposals: list[MergeProposal], position: str | None) -> list[SuggestionOut]:
    """Return the merge suggestions that come after this cursor position; all without one."""
    shown = [SuggestionOut.from_proposal(one) for one in proposals]
    return [one for one in shown if position is None or _suggestion_position(one) > position]


@router.get("/{key}", responses=responses_for(EntityPage))
async def get_entity(
    key: str,
    door: Annotated[Door, needs(Grant.MEMORY_READ)],
    user_id: Annotated[Name, Query(alias="userId")],
    persona_id: Annotated[Name | None, Query(alias="personaId")] = None,
) -> Response:
    """Return an entity with its card, by any of its keys."""
    scope = door.person_scope(user_id, persona_id)
    async with door.tx() as tx:
        spoken, aliases = await store.list_mentions(tx, scope), await store.load_aliases(tx, scope)
    found = next((one for one in entity_overviews(spoken, aliases) if one.key == aliases.resolve(key)), None)
    if found is None:
        raise NotFound("entity")
    related = [
        (t.two if t.one == found.key else t.one, t.weight)
        for t in co_mentions(spoken, aliases)
        if found.key in (t.one, t.two)
    ]
    return door.reply(_entity_page(found, related))


_FACT_FIELDS = ("id", "content", "importance", "pinned", "origin", "claim_of")


def _entity_page(entity: EntityOverview, related: list[tuple[str, int]]) -> EntityPage:
    """Return the response of one entity: its card, its memories and up to 20 related entities."""
    card = entity.card
    return EntityPage(
        key=entity.key,
        type=entity.type,
        label=entity.label,
        aliases=list(entity.aliases),
        facts=list(card.facts),
        text=card.text,
        memories=[
            FactOut(**{name: getattr(one, name) for name in _FACT_FIELDS}, trust_level=one.trust)
            for one in entity.memories
        ],
        related=[RelatedOut(key=key, weight=weight) for key, weight in related[:20]],
        mentions=entity.mentions,
        last_mentioned_at=entity.last_mentioned_at,
    )


@router.post("/merge", responses=write_responses(MergeOut, also=(404,)))
async def merge_entities(body: MergeIn, door: Annotated[Door, needs(Grant.MEMORY_WRITE)]) -> Response:
    """Merge two keys so that they read as one entity; stored keys do not change."""
    scope = door.person_scope(body.user_id)

    async def merge_keys(tx: Tx) -> MergeResult:
        """Store that the two keys name one entity; return the merged entity."""
        return await merging.merge_entities(tx, scope, body.from_, body.into)

    return await door.write(merge_keys, MergeOut.from_merge)


@router.post("/split", responses=write_responses(SplitOut, also=(404,)))
async def split_entities(body: SplitIn, door: Annotated[Door, needs(Grant.MEMORY_WRITE)]) -> Response:
    """Undo a merge: both keys read as they did before."""
    scope = door.person_scope(body.user_id)

    async def split_keys(tx: Tx) -> AliasLink:
        """Remove the alias that made the keys one entity, and return it."""
        return await merging.split_entities(tx, scope, body.key, body.from_)

    return await door.write(split_keys, SplitOut.from_link)
