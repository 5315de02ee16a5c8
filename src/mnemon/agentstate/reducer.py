"""What a proposal makes of a state: pure and total. Any delta applies to any state; what it may not do is reported."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from mnemon.agentstate.assumption import reconsider
from mnemon.agentstate.bounds import LIMITS, Limits, bounded
from mnemon.agentstate.change import Change, Summarized, by_ends, difference, names, patched
from mnemon.agentstate.delta import AddItem, Delta, ExpectationProposal, ItemProposal, RemoveItem, UpdateItem
from mnemon.agentstate.state import (
    AgentState,
    Dependency,
    Entity,
    Expectation,
    ExpectationStatus,
    Item,
    ItemStatus,
    Understanding,
    closes,
    moment,
    settles,
)
from mnemon.ids import NewId
from mnemon.section import Rejection


@dataclass(frozen=True, kw_only=True)
class Applied:
    """What came of a proposal."""

    state: AgentState
    change: Change
    """Folds the earlier state into this one; empty when nothing changed."""
    reported: tuple[Rejection, ...] = ()
    """What could not be done, and why."""


def apply(state: AgentState, delta: Delta, *, now: datetime, new_id: NewId, limits: Limits = LIMITS) -> Applied:
    """The state after the delta, within its limits."""
    now = moment(now)
    reported: list[Rejection] = []
    beliefs = reconsider(state, delta.tentative_hypotheses, delta.assumptions, new_id=new_id, limits=limits)
    reported += beliefs.reported
    full = replace(
        state,
        current_understanding=_understood(state.current_understanding, delta.entities, delta.dependencies),
        assumptions=tuple(beliefs.assumptions.values()),
        tentative_hypotheses=tuple(beliefs.tentative.values()),
        expectations=_expected(state.expectations, delta.expectations, now, new_id, reported),
        items=_kept(state.items, delta.items, now, reported),
    )
    after = bounded(full, limits)
    reported += _refused(state, full, after)
    summarized = _summarized(full.items, after.items)
    if summarized or (delta.summarizes and after != state):
        after = replace(after, last_summarized_at=now)
    change = difference(state, after)
    if summarized:
        change = replace(change, summarized=summarized)
    return Applied(state=after, change=change, reported=tuple(reported))


def _understood(had: Understanding, entities: Iterable[Entity], dependencies: Iterable[Dependency]) -> Understanding:
    known = {e.id: e for e in had.entities}
    for entity in entities:
        before = known.get(entity.id)
        name = entity.name if entity.name is not None or before is None else before.name
        known[entity.id] = replace(entity, name=name)
    related = {by_ends(d): d for d in (*had.dependencies, *dependencies)}
    return Understanding(entities=tuple(known.values()), dependencies=tuple(related.values()))


def _expected(
    had: tuple[Expectation, ...],
    proposals: Iterable[ExpectationProposal],
    now: datetime,
    new_id: NewId,
    reported: list[Rejection],
) -> tuple[Expectation, ...]:
    expectations = {e.id: e for e in had}
    # A delta may report on an expectation before the proposal that makes it; the order in it means nothing.
    for proposal in sorted(proposals, key=lambda one: not _is_whole(one)):
        held = expectations.get(proposal.id) if proposal.id is not None else None
        if held is None:
            fresh = _new_expectation(proposal, now, new_id)
            if fresh is None:
                reported.append(
                    Rejection(what=f"expectation {proposal.id}", why="there is none with this id to change")
                )
            else:
                expectations[fresh.id] = fresh
            continue
        changed = _changed_expectation(held, proposal, now)
        if changed != held and held.status is not ExpectationStatus.PENDING:
            reported.append(Rejection(what=f"expectation {held.id}", why=f"it is {held.status} and stays so"))
        else:
            expectations[held.id] = changed
    return tuple(expectations.values())


def _is_whole(proposal: ExpectationProposal) -> bool:
    """Whether it says enough to make an expectation."""
    return proposal.action is not None and proposal.expected_outcome is not None


def _new_expectation(proposal: ExpectationProposal, now: datetime, new_id: NewId) -> Expectation | None:
    if proposal.action is None or proposal.expected_outcome is None:
        return None
    blank = Expectation(
        id=proposal.id or new_id("exp"),
        action=proposal.action,
        expected_outcome=proposal.expected_outcome,
    )
    return _changed_expectation(blank, proposal, now)


def _changed_expectation(held: Expectation, proposal: ExpectationProposal, now: datetime) -> Expectation:
    names = ("action", "expected_outcome", "expected_ids", "expected_type", "expected_count", "invariant", "status")
    given = {name: getattr(proposal, name) for name in names if getattr(proposal, name) is not None}
    changed = replace(held, **given)
    if not settles(held.status, changed.status):
        return changed
    return replace(changed, last_checked_at=moment(proposal.last_checked_at or now))


def _kept(
    had: tuple[Item, ...], proposals: Iterable[ItemProposal], now: datetime, reported: list[Rejection]
) -> tuple[Item, ...]:
    items = {item.id: item for item in had}
    removed: set[str] = set()
    for proposal in proposals:
        why = _why_not(items, removed, proposal)
        if why is not None:
            id_ = proposal.item.id if isinstance(proposal, AddItem) else proposal.id
            reported.append(Rejection(what=f"item {id_}", why=why))
            continue
        match proposal:
            case AddItem(item=item):
                items[item.id] = item
            case UpdateItem(id=id_, patch=patch):
                changed = patched(items[id_], patch)
                if changed != items[id_]:
                    items[id_] = replace(changed, updated_at=now)
            case RemoveItem(id=id_):
                del items[id_]
                removed.add(id_)
    return tuple(items.values())


def _why_not(items: dict[str, Item], removed: set[str], proposal: ItemProposal) -> str | None:
    match proposal:
        case AddItem(item=item) if item.id in items or item.id in removed:
            return "this id is taken; an item is added under a new one"
        case UpdateItem(id=id_) | RemoveItem(id=id_) if id_ not in items:
            return "there is none with this id"
        case UpdateItem(id=id_, patch=patch) if patch.status is not None:
            before = items[id_].status
            if patch.status is not before and not closes(before, patch.status):
                return f"it is {before} and stays so"
    return None


def _refused(before: AgentState, full: AgentState, after: AgentState) -> list[Rejection]:
    """What was new and found no room, in a document full of what matters more."""
    why = "the document is full; settle or remove something first"
    settled = {item.id for item in full.items if item.status is not ItemStatus.ACTIVE}
    held, offered, kept = names(before), names(full), names(after)
    return [
        Rejection(what=f"{noun} {id_}", why=why)
        for noun, id_ in offered
        if (noun, id_) not in held and (noun, id_) not in kept and not (noun == "item" and id_ in settled)
    ]


def _summarized(full: tuple[Item, ...], kept: tuple[Item, ...]) -> tuple[Summarized, ...]:
    """The settled items that made room."""
    left = {item.id for item in kept}
    return tuple(
        Summarized(id=item.id, kind=item.kind, title=item.title, status=item.status)
        for item in full
        if item.id not in left and item.status is not ItemStatus.ACTIVE
    )
