"""Entities: who and what a person's memories speak of; their graph, what may be one, merging and splitting."""

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.graph import drawn
from mnemon.console.shell import Shown, Went, action, page
from mnemon.console.visit import Visit
from mnemon.console.whom import scope_of, whom
from mnemon.errors import NotFound
from mnemon.memory.entities import store
from mnemon.memory.entities.merge import merge as merge_entities
from mnemon.memory.entities.merge import open_proposals
from mnemon.memory.entities.merge import split as split_entities
from mnemon.memory.entities.overview import EntityOverview, Tie, overviews, ties
from mnemon.memory.entities.store import Spoken

router = APIRouter()
SIZE = 60
VIEWS = ("cards", "graph", "suggestions", "merges")


@page(router, "/entities", "entities.html", grant=Grant.MEMORY_READ)
async def entities(visit: Visit) -> Shown:
    """The person's entities as cards or as a graph, pairs that may be one, or the log of merges."""
    view = visit.asked("view") if visit.asked("view") in VIEWS else "cards"
    words, kind, number = visit.asked("q").lower(), visit.asked("type"), visit.number("page", 1, most=1000)
    async with visit.tx() as tx:
        chosen = await whom(visit, tx)
        scope = scope_of(visit, chosen) if chosen.user else visit.person("")
        spoken, aliases = await store.spoken_of(tx, scope), await store.load_aliases(tx, scope)
        apart = await store.kept_apart(tx, scope)
        log = await store.merges(tx, scope, most=100) if view == "merges" else []
    every = sorted(overviews(spoken, aliases), key=lambda one: (-one.mentions, one.key))
    found = [one for one in every if words in f"{one.label} {one.key}".lower() and kind in ("", one.type.value)]
    start = (number - 1) * SIZE
    data: dict[str, Any] = {
        "view": view,
        "views": VIEWS,
        "q": visit.asked("q"),
        "type": kind,
        "types": sorted({one.type.value for one in every}),
        "whom": chosen,
        "total": len(every),
        "found": [_card(one) for one in found[start : start + SIZE]] if view == "cards" else [],
        "page": number,
        "more": len(found) > start + SIZE,
        "graph": None,
        "suggestions": [],
        "merges": log,
        "now": tx.now,
    }
    if view == "graph":
        data["graph"] = await asyncio.to_thread(_graph, spoken, aliases, every, chosen.user)
    if view == "suggestions":
        data["suggestions"] = (await asyncio.to_thread(open_proposals, spoken, aliases, apart))[:SIZE]
    return Shown(title="Entities", data=data)


def _graph(spoken: Sequence[Spoken], aliases: Any, every: Sequence[EntityOverview], user: str) -> Any:
    entities = [(one.key, one.label, one.type.value, one.mentions) for one in every]
    return drawn(entities, _pairs(ties(spoken, aliases)), hub=user)


def _pairs(found: Sequence[Tie]) -> list[tuple[str, str, int]]:
    return [(tie.one, tie.two, tie.weight) for tie in found]


def _card(one: EntityOverview) -> dict[str, Any]:
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
async def entity(visit: Visit, key: str) -> Shown:
    """One entity under any of its keys."""
    async with visit.tx() as tx:
        chosen = await whom(visit, tx)
        scope = scope_of(visit, chosen) if chosen.user else visit.person("")
        spoken, aliases = await store.spoken_of(tx, scope), await store.load_aliases(tx, scope)
    every = overviews(spoken, aliases)
    found = next((one for one in every if one.key == aliases.resolve(key)), None)
    if found is None:
        raise NotFound("entity")
    labels = {one.key: one.label for one in every}
    near = [tie for tie in ties(spoken, aliases) if found.key in (tie.one, tie.two)][:20]
    related = [(tie.two if tie.one == found.key else tie.one, tie.weight) for tie in near]
    data = {
        "entity": _card(found),
        "memories": found.memories[::-1],
        "related": [{"key": other, "label": labels.get(other, other), "weight": weight} for other, weight in related],
        "others": sorted(one.key for one in every if one.key != found.key)[:500],
        "whom": chosen,
        "now": tx.now,
    }
    return Shown(title=found.label, data=data)


@action(router, "/entities/merge", grant=Grant.MEMORY_WRITE, field="from")
async def merge(visit: Visit, form: dict[str, str]) -> Went:
    """Two keys read as one entity."""
    user, source, into = form.get("user", ""), form.get("from", "").strip(), form.get("into", "").strip()
    async with visit.tx() as tx:
        done = await merge_entities(tx, visit.person(user), source, into)
        visit.note(tx, "merge entities", visit.person(user).user)
    to = form.get("back") or f"/entities/{quote(done.key, safe=':')}?user={quote(user)}"
    undo = f"/entities/split?user={quote(user)}&key={quote(done.key)}&from={quote(source)}" if done.changed else None
    return Went(to=to, notice=f"{source} reads as {done.key} now.", undo=undo)


@action(router, "/entities/split", grant=Grant.MEMORY_WRITE, undoes="user=")
async def split(visit: Visit, form: dict[str, str]) -> Went:
    """A merge is undone exactly."""
    user = form.get("user") or visit.asked("user")
    key, source = form.get("key") or visit.asked("key"), form.get("from") or visit.asked("from")
    async with visit.tx() as tx:
        link = await split_entities(tx, visit.person(user), key, source)
        visit.note(tx, "split entities", visit.person(user).user)
    to = f"/entities/{quote(link.target, safe=':')}?user={quote(user)}"
    return Went(to=to, notice=f"{link.alias} stands for itself again.")
