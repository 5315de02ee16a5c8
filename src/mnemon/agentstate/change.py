"""The effects of a proposal: what the journal stores, the API shows and a replay folds.

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
    ItemKind,
    ItemStatus,
    StateEntity,
    StateExpectation,
    StateItem,
    TentativeHypothesis,
    Understanding,
    UtcTime,
)


@dataclass(frozen=True, kw_only=True)
class ItemAdded:
    """An item was added."""

    item: StateItem
    op: Literal["add"] = "add"


@dataclass(frozen=True, kw_only=True)
class ChangedItemFields:
    """The fields of an item that changed."""

    updated_at: Annotated[UtcTime, Field(alias="updatedAt")]
    kind: ItemKind | None = None
    title: str | None = None
    details: str | None = None
    status: ItemStatus | None = None
    related_entity_ids: Annotated[tuple[str, ...] | None, Field(alias="relatedEntityIds")] = None


@dataclass(frozen=True, kw_only=True)
class ItemUpdated:
    """Fields of an item changed."""

    id: str
    patch: ChangedItemFields
    op: Literal["update"] = "update"


@dataclass(frozen=True, kw_only=True)
class ItemRemoved:
    """An item was removed."""

    id: str
    op: Literal["remove"] = "remove"


ItemChange = ItemAdded | ItemUpdated | ItemRemoved


@dataclass(frozen=True, kw_only=True)
class RemovedRecords:
    """The records that left the document, by id."""

    entities: tuple[str, ...] | None = None
    dependencies: tuple[Dependency, ...] | None = None
    assumptions: tuple[str, ...] | None = None
    expectations: tuple[str, ...] | None = None
    tentative_hypotheses: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class SummarizedItem:
    """A settled item that was dropped to make room: this line in the journal is what remains of it."""

    id: str
    kind: ItemKind
    title: str
    status: ItemStatus


@dataclass(frozen=True, kw_only=True)
class StateChange:
    """The records that changed, as they are afterwards, and those that left. None where nothing changed."""

    current_understanding: Understanding | None = None
    assumptions: tuple[Assumption, ...] | None = None
    expectations: tuple[StateExpectation, ...] | None = None
    tentative_hypotheses: tuple[TentativeHypothesis, ...] | None = None
    agent_state_item_updates: tuple[ItemChange, ...] | None = None
    removed: RemovedRecords | None = None
    summarized: tuple[SummarizedItem, ...] | None = None
    last_summarized_at: Annotated[UtcTime | None, Field(alias="lastSummarizedAt")] = None

    @property
    def is_empty(self) -> bool:
        """Say whether this change of an agent state changes nothing."""
        return self == StateChange()


CHANGE_ADAPTER = TypeAdapter(StateChange)
"""Reads and writes a change as JSON."""

R = TypeVar("R", StateEntity, Dependency, Assumption, StateExpectation, TentativeHypothesis, StateItem)
RecordKey = Callable[[R], object]
"""Returns what identifies a record."""


def record_id(record: StateEntity | Assumption | StateExpectation | TentativeHypothesis | StateItem) -> str:
    """Return the id of an agent state's record (entity, assumption, expectation, hypothesis or item)."""
    return record.id


def dependency_key(dependency: Dependency) -> tuple[str, str, str | None]:
    """Return what identifies a dependency between entities: source, target and relation."""
    return dependency.key


def state_difference(before: AgentState, after: AgentState) -> StateChange:
    """Return the change that turns the agent state `before` into `after`."""
    understood_before, understood_after = before.current_understanding, after.current_understanding
    understanding = Understanding(
        entities=_changed_records(understood_before.entities, understood_after.entities, record_id),
        dependencies=_changed_records(understood_before.dependencies, understood_after.dependencies, dependency_key),
    )
    removed_dependencies = _removed_records(
        understood_before.dependencies, understood_after.dependencies, dependency_key
    )
    removed = RemovedRecords(
        entities=_ids_or_none(_removed_records(understood_before.entities, understood_after.entities, record_id)),
        dependencies=removed_dependencies or None,
        assumptions=_ids_or_none(_removed_records(before.assumptions, after.assumptions, record_id)),
        expectations=_ids_or_none(_removed_records(before.expectations, after.expectations, record_id)),
        tentative_hypotheses=_ids_or_none(
            _removed_records(before.tentative_hypotheses, after.tentative_hypotheses, record_id)
        ),
    )
    summarized = after.last_summarized_at != before.last_summarized_at
    return StateChange(
        current_understanding=None if understanding == Understanding() else understanding,
        assumptions=_changed_records(before.assumptions, after.assumptions, record_id) or None,
        expectations=_changed_records(before.expectations, after.expectations, record_id) or None,
        tentative_hypotheses=_changed_records(before.tentative_hypotheses, after.tentative_hypotheses, record_id)
        or None,
        agent_state_item_updates=_item_changes(before.items, after.items) or None,
        removed=None if removed == RemovedRecords() else removed,
        last_summarized_at=after.last_summarized_at if summarized else None,
    )


def fold_change(state: AgentState, change: StateChange) -> AgentState:
    """Return the agent state after a journaled change; changes of records it does not have are ignored."""
    put = change.current_understanding or Understanding()
    removed = change.removed or RemovedRecords()
    understood = state.current_understanding
    return replace(
        state,
        current_understanding=Understanding(
            entities=_merge_records(understood.entities, put.entities, removed.entities, record_id),
            dependencies=_merge_records(
                understood.dependencies, put.dependencies, (d.key for d in removed.dependencies or ()), dependency_key
            ),
        ),
        assumptions=_merge_records(state.assumptions, change.assumptions, removed.assumptions, record_id),
        expectations=_merge_records(state.expectations, change.expectations, removed.expectations, record_id),
        tentative_hypotheses=_merge_records(
            state.tentative_hypotheses, change.tentative_hypotheses, removed.tentative_hypotheses, record_id
        ),
        items=_fold_items(state.items, change.agent_state_item_updates or ()),
        last_summarized_at=change.last_summarized_at or state.last_summarized_at,
    )


def patch_item(item: StateItem, patch: ItemPatch | ChangedItemFields) -> StateItem:
    """Return the agent state's item with the fields that the patch sets."""
    given = {f.name: getattr(patch, f.name) for f in fields(patch) if getattr(patch, f.name) is not None}
    return replace(item, **given)


def record_names(state: AgentState) -> dict[tuple[str, str], None]:
    """Return every record of the agent state as (noun, id), in order; the dict serves as an ordered set."""
    understanding = state.current_understanding
    names = [
        *(("entity", e.id) for e in understanding.entities),
        *(("dependency", " ".join((d.source, d.rel or "→", d.target))) for d in understanding.dependencies),
        *(("assumption", a.id) for a in state.assumptions),
        *(("expectation", e.id) for e in state.expectations),
        *(("tentative hypothesis", t.id) for t in state.tentative_hypotheses),
        *(("item", i.id) for i in state.items),
    ]
    return dict.fromkeys(names)


def count_changes(before: AgentState, after: AgentState) -> tuple[int, int]:
    """Return how many records of `after` are new, and how many changed or disappeared since `before`."""
    names_before, names_after = record_names(before).keys(), record_names(after).keys()
    change = state_difference(before, after)
    understood = change.current_understanding or Understanding()
    put = (
        understood.entities,
        understood.dependencies,
        change.assumptions or (),
        change.expectations or (),
        change.tentative_hypotheses or (),
        tuple(c for c in change.agent_state_item_updates or () if not isinstance(c, ItemRemoved)),
    )
    added, removed = len(names_after - names_before), len(names_before - names_after)
    return added, sum(map(len, put)) - added + removed


def _changed_records(before: tuple[R, ...], after: tuple[R, ...], key: RecordKey[R]) -> tuple[R, ...]:
    """Return the records of `after` that are new or differ from those of `before`."""
    known = {key(record): record for record in before}
    return tuple(record for record in after if known.get(key(record)) != record)


def _removed_records(before: tuple[R, ...], after: tuple[R, ...], key: RecordKey[R]) -> tuple[R, ...]:
    """Return the agent state records of `before` that `after` does not have."""
    kept = {key(record) for record in after}
    return tuple(record for record in before if key(record) not in kept)


def _ids_or_none(
    records: Iterable[StateEntity | Assumption | StateExpectation | TentativeHypothesis],
) -> tuple[str, ...] | None:
    """Return the ids of these records; None for no records, which means "unchanged" in a StateChange."""
    return tuple(record.id for record in records) or None


def _merge_records(
    current: tuple[R, ...], put: tuple[R, ...] | None, removed: Iterable[object] | None, key: RecordKey[R]
) -> tuple[R, ...]:
    """Return the records with `put` added or replaced in place and `removed` left out."""
    # A dict keeps the position of a record that is replaced, so that folding gives the order that the reducer gave.
    records = {key(record): record for record in current}
    records.update((key(record), record) for record in put or ())
    for name in removed or ():
        records.pop(name, None)
    return tuple(records.values())


def _item_changes(before: tuple[StateItem, ...], after: tuple[StateItem, ...]) -> tuple[ItemChange, ...]:
    """Return how the item lists differ: removals first, then additions and updates."""
    known = {item.id: item for item in before}
    removed = [ItemRemoved(id=item.id) for item in _removed_records(before, after, record_id)]
    put = [
        ItemUpdated(id=item.id, patch=_changed_fields(known[item.id], item))
        if item.id in known
        else ItemAdded(item=item)
        for item in _changed_records(before, after, record_id)
    ]
    return (*removed, *put)


# None means "unchanged" in a patch, so that a field once set cannot be cleared.
def _changed_fields(before: StateItem, after: StateItem) -> ChangedItemFields:
    """Return the fields of an item that differ, with their new values and the new time of change."""
    names = ("kind", "title", "details", "status", "related_entity_ids")
    values = {name: getattr(after, name) for name in names if getattr(after, name) != getattr(before, name)}
    return ChangedItemFields(updated_at=after.updated_at, **values)


def _fold_items(current: tuple[StateItem, ...], changes: tuple[ItemChange, ...]) -> tuple[StateItem, ...]:
    """Return the items after these additions, updates and removals, in order."""
    items = {item.id: item for item in current}
    for change in changes:
        match change:
            case ItemAdded(item=item):
                items[item.id] = item
            case ItemUpdated(id=id_, patch=patch) if id_ in items:
                items[id_] = patch_item(items[id_], patch)
            # A redacted journal may lack the entry that added the item.
            case ItemUpdated():
                pass
            case ItemRemoved(id=id_):
                items.pop(id_, None)
    return tuple(items.values())
