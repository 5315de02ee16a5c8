"""What a proposal came to: the effects that the journal keeps, the wire shows and a replay folds.

Effects, not proposals, so that folding the journal gives the same document after the rules have changed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Annotated, Literal, TypeVar

from pydantic import Field, TypeAdapter

from mnemon.agentstate.delta import ItemPatch
from mnemon.agentstate.state import (
    AgentState,
    Assumption,
    Dependency,
    Entity,
    Expectation,
    Item,
    ItemKind,
    ItemStatus,
    TentativeHypothesis,
    Time,
    Understanding,
)


@dataclass(frozen=True, kw_only=True)
class ItemAdded:
    item: Item
    op: Literal["add"] = "add"


@dataclass(frozen=True, kw_only=True)
class ChangedFields:
    """The fields of an item that changed."""

    updated_at: Annotated[Time, Field(alias="updatedAt")]
    kind: ItemKind | None = None
    title: str | None = None
    details: str | None = None
    status: ItemStatus | None = None
    related_entity_ids: Annotated[tuple[str, ...] | None, Field(alias="relatedEntityIds")] = None


@dataclass(frozen=True, kw_only=True)
class ItemUpdated:
    id: str
    patch: ChangedFields
    op: Literal["update"] = "update"


@dataclass(frozen=True, kw_only=True)
class ItemRemoved:
    id: str
    op: Literal["remove"] = "remove"


ItemChange = ItemAdded | ItemUpdated | ItemRemoved


@dataclass(frozen=True, kw_only=True)
class Removed:
    """What left the document, by id."""

    entities: tuple[str, ...] | None = None
    dependencies: tuple[Dependency, ...] | None = None
    assumptions: tuple[str, ...] | None = None
    expectations: tuple[str, ...] | None = None
    tentative_hypotheses: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Summarized:
    """A settled item that made room: this line in the journal is what remains of it."""

    id: str
    kind: ItemKind
    title: str
    status: ItemStatus


@dataclass(frozen=True, kw_only=True)
class Change:
    """Records as they stand afterwards, and what left. None where nothing changed."""

    current_understanding: Understanding | None = None
    assumptions: tuple[Assumption, ...] | None = None
    expectations: tuple[Expectation, ...] | None = None
    tentative_hypotheses: tuple[TentativeHypothesis, ...] | None = None
    agent_state_item_updates: tuple[ItemChange, ...] | None = None
    removed: Removed | None = None
    summarized: tuple[Summarized, ...] | None = None
    last_summarized_at: Annotated[Time | None, Field(alias="lastSummarizedAt")] = None

    @property
    def empty(self) -> bool:
        return self == Change()


CHANGE = TypeAdapter(Change)
"""Reads and writes a change as JSON."""

R = TypeVar("R", Entity, Dependency, Assumption, Expectation, TentativeHypothesis, Item)
Key = Callable[[R], object]


def by_id(record: Entity | Assumption | Expectation | TentativeHypothesis | Item) -> str:
    return record.id


def by_ends(dependency: Dependency) -> tuple[str, str, str | None]:
    return dependency.key


def difference(before: AgentState, after: AgentState) -> Change:
    """The change that folds the first into the second."""
    was, is_ = before.current_understanding, after.current_understanding
    understanding = Understanding(
        entities=_put(was.entities, is_.entities, by_id),
        dependencies=_put(was.dependencies, is_.dependencies, by_ends),
    )
    gone = _gone(was.dependencies, is_.dependencies, by_ends)
    removed = Removed(
        entities=_ids(_gone(was.entities, is_.entities, by_id)),
        dependencies=gone or None,
        assumptions=_ids(_gone(before.assumptions, after.assumptions, by_id)),
        expectations=_ids(_gone(before.expectations, after.expectations, by_id)),
        tentative_hypotheses=_ids(_gone(before.tentative_hypotheses, after.tentative_hypotheses, by_id)),
    )
    moved = after.last_summarized_at != before.last_summarized_at
    return Change(
        current_understanding=None if understanding == Understanding() else understanding,
        assumptions=_put(before.assumptions, after.assumptions, by_id) or None,
        expectations=_put(before.expectations, after.expectations, by_id) or None,
        tentative_hypotheses=_put(before.tentative_hypotheses, after.tentative_hypotheses, by_id) or None,
        agent_state_item_updates=_item_changes(before.items, after.items) or None,
        removed=None if removed == Removed() else removed,
        last_summarized_at=after.last_summarized_at if moved else None,
    )


def fold(state: AgentState, change: Change) -> AgentState:
    """The state after a change, whatever the two are: what is unknown to the state is passed over."""
    put = change.current_understanding or Understanding()
    gone = change.removed or Removed()
    had = state.current_understanding
    return replace(
        state,
        current_understanding=Understanding(
            entities=_merged(had.entities, put.entities, gone.entities, by_id),
            dependencies=_merged(had.dependencies, put.dependencies, (d.key for d in gone.dependencies or ()), by_ends),
        ),
        assumptions=_merged(state.assumptions, change.assumptions, gone.assumptions, by_id),
        expectations=_merged(state.expectations, change.expectations, gone.expectations, by_id),
        tentative_hypotheses=_merged(
            state.tentative_hypotheses, change.tentative_hypotheses, gone.tentative_hypotheses, by_id
        ),
        items=_folded_items(state.items, change.agent_state_item_updates or ()),
        last_summarized_at=change.last_summarized_at or state.last_summarized_at,
    )


def patched(item: Item, patch: ItemPatch | ChangedFields) -> Item:
    """The item with the given fields of the patch in place."""
    given = {f.name: getattr(patch, f.name) for f in fields(patch) if getattr(patch, f.name) is not None}
    return replace(item, **given)


def names(state: AgentState) -> dict[tuple[str, str], None]:
    """What the state holds, each as a noun and an id, in order."""
    understanding = state.current_understanding
    held = [
        *(("entity", e.id) for e in understanding.entities),
        *(("dependency", " ".join((d.source, d.rel or "→", d.target))) for d in understanding.dependencies),
        *(("assumption", a.id) for a in state.assumptions),
        *(("expectation", e.id) for e in state.expectations),
        *(("tentative hypothesis", t.id) for t in state.tentative_hypotheses),
        *(("item", i.id) for i in state.items),
    ]
    return dict.fromkeys(held)


def tally(before: AgentState, after: AgentState) -> tuple[int, int]:
    """How many records are new, and how many changed or left."""
    had, has = names(before).keys(), names(after).keys()
    change = difference(before, after)
    understood = change.current_understanding or Understanding()
    put = (
        understood.entities,
        understood.dependencies,
        change.assumptions or (),
        change.expectations or (),
        change.tentative_hypotheses or (),
        tuple(c for c in change.agent_state_item_updates or () if not isinstance(c, ItemRemoved)),
    )
    added, left = len(has - had), len(had - has)
    return added, sum(map(len, put)) - added + left


def _put(before: tuple[R, ...], after: tuple[R, ...], key: Key[R]) -> tuple[R, ...]:
    had = {key(record): record for record in before}
    return tuple(record for record in after if had.get(key(record)) != record)


def _gone(before: tuple[R, ...], after: tuple[R, ...], key: Key[R]) -> tuple[R, ...]:
    kept = {key(record) for record in after}
    return tuple(record for record in before if key(record) not in kept)


def _ids(records: Iterable[Entity | Assumption | Expectation | TentativeHypothesis]) -> tuple[str, ...] | None:
    return tuple(record.id for record in records) or None


def _merged(had: tuple[R, ...], put: tuple[R, ...] | None, gone: Iterable[object] | None, key: Key[R]) -> tuple[R, ...]:
    records = {key(record): record for record in had}
    records.update((key(record), record) for record in put or ())
    for name in gone or ():
        records.pop(name, None)
    return tuple(records.values())


def _item_changes(before: tuple[Item, ...], after: tuple[Item, ...]) -> tuple[ItemChange, ...]:
    had = {item.id: item for item in before}
    gone = [ItemRemoved(id=item.id) for item in _gone(before, after, by_id)]
    put = [
        ItemUpdated(id=item.id, patch=_changed(had[item.id], item)) if item.id in had else ItemAdded(item=item)
        for item in _put(before, after, by_id)
    ]
    return (*gone, *put)


def _changed(before: Item, after: Item) -> ChangedFields:
    names = ("kind", "title", "details", "status", "related_entity_ids")
    values = {name: getattr(after, name) for name in names if getattr(after, name) != getattr(before, name)}
    return ChangedFields(updated_at=after.updated_at, **values)


def _folded_items(had: tuple[Item, ...], changes: tuple[ItemChange, ...]) -> tuple[Item, ...]:
    items = {item.id: item for item in had}
    for change in changes:
        match change:
            case ItemAdded(item=item):
                items[item.id] = item
            case ItemUpdated(id=id_, patch=patch) if id_ in items:
                items[id_] = patched(items[id_], patch)
            case ItemUpdated():
                pass
            case ItemRemoved(id=id_):
                items.pop(id_, None)
    return tuple(items.values())
