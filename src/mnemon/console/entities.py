"""Pages of entities: the people and things a person's memories are about, their graph, merging and splitting."""

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.entity_graph import draw_graph
from mnemon.console.page_request import PageRequest, load_person_filter, scope_of
from mnemon.console.pages import ActionRedirect, PageContent, action, page
from mnemon.errors import NotFound
from mnemon.memory.entities import store
from mnemon.memory.entities.merge import merge_entities, open_proposals, split_entities
from mnemon.memory.entities.overview import CoMention, EntityOverview, co_mentions, entity_overviews
from mnemon.memory.entities.store import EntityMention

router = APIRouter()
PAGE_SIZE = 60
VIEWS = ("cards", "graph", "suggestions", "merges")


@page(router, "/entities", "entities.html", grant=Grant.MEMORY_READ)
async def entities(visit: PageRequest) -> PageContent:
    """Show the page of a person's entities as cards or graph, of pairs that may be the same, or of merges."""
    view = visit.asked("view") if visit.asked("view") in VIEWS else "cards"
    words, kind, number = visit.asked("q").lower(), visit.asked("type"), visit.query_number("page", 1, most=1000)
    async with visit.tx() as tx:
        chosen = await load_person_filter(visit, tx)
        scope = scope_of(visit, chosen) if chosen.user else visit.person_scope("")
        spoken, aliases = await store.list_mentions(tx, scope), await store.load_aliases(tx, scope)
        apart = await store.pairs_kept_apart(tx, scope)
        log = await store.list_merges(tx, scope, most=100) if view == "merges" else []
    every = sorted(entity_overviews(spoken, aliases), key=lambda one: (-one.mentions, one.key))
    found = [one for one in every if words in f"{one.label} {one.key}".lower() and kind in ("", one.type.value)]
    start = (number - 1) * PAGE_SIZE
    data: dict[str, Any] = {
        "view": view,
        "views": VIEWS,
        "q": visit.asked("q"),
        "type": kind,
        "types": sorted({one.type.value for one in every}),
        "whom": chosen,
        "total": len(every),
        "found": [_entity_card(one) for one in found[start : start + PAGE_SIZE]] if view == "cards" else [],
        "page": number,
        "more": len(found) > start + PAGE_SIZE,
        "graph": None,
        "suggestions": [],
        "merges": log,
        "now": tx.now,
    }
    # Both compare entities with each other: computed in a thread, so that other requests are not held up.
    if view == "graph":
        data["graph"] = await asyncio.to_thread(_entity_graph, spoken, aliases, every, chosen.user)
    if view == "suggestions":
        data["suggestions"] = (await asyncio.to_thread(open_proposals, spoken, aliases, apart))[:PAGE_SIZE]
    return PageContent(title="Entities", data=data)


def _entity_graph(spoken: Sequence[EntityMention], aliases: Any, every: Sequence[EntityOverview], user: str) -> Any:
    """Return the drawing of the person's entities, linked where one memory mentions both."""
    entities = [(one.key, one.label, one.type.value, one.mentions) for one in every]
    return draw_graph(entities, _tie_pairs(co_mentions(spoken, aliases)), hub=user)


def _tie_pairs(found: Sequence[CoMention]) -> list[tuple[str, str, int]]:
    """Return the co-mentions as (key, key, weight), as the drawing takes them."""
    return [(tie.one, tie.two, tie.weight) for tie in found]


def _entity_card(one: EntityOverview) -> dict[str, Any]:
    """Return what an entity's card shows; its two latest memories where it has no weighty facts."""
    return {
        "key": one.key,
        "type": one.type.value,
        "label": one.label,
        "aliases": list(one.aliases),
        "facts": list(one.card.facts) or [memory.line for memory in one.memories[-2:]],
        "weighty": bool(one.card.facts),
        "memories": len(one.memories),
        "mentions": one.mentions,
        "last_mentioned_at": one.last_mentioned_at,
    }


@page(router, "/entities/{key}", "entity.html", grant=Grant.MEMORY_READ)
async def entity(visit: PageRequest, key: str) -> PageContent:
    """Show the page of one entity, found by any of its keys."""
    async with visit.tx() as tx:
        chosen = await load_person_filter(visit, tx)
        scope = scope_of(visit, chosen) if chosen.user else visit.person_scope("")
        spoken, aliases = await store.list_mentions(tx, scope), await store.load_aliases(tx, scope)
    every = entity_overviews(spoken, aliases)
    found = next((one for one in every if one.key == aliases.resolve(key)), None)
    if found is None:
        raise NotFound("entity")
    labels = {one.key: one.label for one in every}
    near = [tie for tie in co_mentions(spoken, aliases) if found.key in (tie.one, tie.two)][:20]
    related = [(tie.two if tie.one == found.key else tie.one, tie.weight) for tie in near]
    data = {
        "entity": _entity_card(found),
        "memories": found.memories[::-1],
        "related": [{"key": other, "label": labels.get(other, other), "weight": weight} for other, weight in related],
        "others": sorted(one.key for one in every if one.key != found.key)[:500],
        "whom": chosen,
        "now": tx.now,
    }
    return PageContent(title=found.label, data=data)


@action(router, "/entities/merge", grant=Grant.MEMORY_WRITE, field="from")
async def merge(visit: PageRequest, form: dict[str, str]) -> ActionRedirect:
    """Merge the two entity keys of the form, so that they are shown as one entity."""
    user, source, into = form.get("user", ""), form.get("from", "").strip(), form.get("into", "").strip()
    async with visit.tx() as tx:
        done = await merge_entities(tx, visit.person_scope(user), source, into)
        visit.audit_write(tx, "merge entities", visit.person_scope(user).user)
    to = form.get("back") or f"/entities/{quote(done.key, safe=':')}?user={quote(user)}"
    # A merge that was there before is not offered for undoing: somebody else made it.
    undo = f"/entities/split?user={quote(user)}&key={quote(done.key)}&from={quote(source)}" if done.changed else None
    return ActionRedirect(to=to, notice=f"{source} is merged into {done.key}.", undo=undo)


@action(router, "/entities/split", grant=Grant.MEMORY_WRITE, undoes="user=")
async def split(visit: PageRequest, form: dict[str, str]) -> ActionRedirect:
    """Undo the merge of two entity keys exactly."""
    user = form.get("user") or visit.asked("user")
    key, source = form.get("key") or visit.asked("key"), form.get("from") or visit.asked("from")
    async with visit.tx() as tx:
        link = await split_entities(tx, visit.person_scope(user), key, source)
        visit.audit_write(tx, "split entities", visit.person_scope(user).user)
    to = f"/entities/{quote(link.target, safe=':')}?user={quote(user)}"
    return ActionRedirect(to=to, notice=f"{link.alias} is a separate entity again.")
