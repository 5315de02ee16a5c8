"""Apply a delta to a state: pure and total. Any delta applies to any state; what is not allowed is reported."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from mnemon.agentstate.assumption import apply_belief_proposals
from mnemon.agentstate.change import (
    StateChange,
    SummarizedItem,
    dependency_key,
    patch_item,
    record_names,
    state_difference,
)
from mnemon.agentstate.delta import AddItem, ExpectationProposal, ItemProposal, RemoveItem, StateDelta, UpdateItem
from mnemon.agentstate.state import (
    DEFAULT_LIMITS,
    AgentState,
    Dependency,
    ExpectationStatus,
    ItemStatus,
    StateEntity,
    StateExpectation,
    StateItem,
    StateLimits,
    Understanding,
    bound_state,
    is_closing,
    is_settling,
    to_utc_millis,
)
from mnemon.scope import NewId
from mnemon.section import Rejection


@dataclass(frozen=True, kw_only=True)
class AppliedDelta:
    """The result of applying a delta."""

    state: AgentState
    change: StateChange
    """Folds the earlier state into this one; empty when nothing changed."""
    reported: tuple[Rejection, ...] = ()
    """What was rejected, and why."""


def apply_delta(
    state: AgentState, delta: StateDelta, *, now: datetime, new_id: NewId, limits: StateLimits = DEFAULT_LIMITS
) -> AppliedDelta:
    """Return the agent state after the delta, cut to its limits, with the change and what was rejected."""
    # To the millisecond, so that the document equals itself after a round trip through JSON.
    now = to_utc_millis(now)
    reported: list[Rejection] = []
    beliefs = apply_belief_proposals(
        state, delta.tentative_hypotheses, delta.assumptions, cited=delta.cited, new_id=new_id, limits=limits
    )
    reported += beliefs.reported
    full = replace(
        state,
        current_understanding=_merge_understanding(state.current_understanding, delta.entities, delta.dependencies),
        assumptions=tuple(beliefs.assumptions.values()),
        tentative_hypotheses=tuple(beliefs.tentative.values()),
        expectations=_apply_expectations(state.expectations, delta.expectations, now, new_id, reported),
        items=_apply_items(state.items, delta.items, now, reported),
    )
    # Bounded once, after everything was applied, so that what one part settles makes room for another.
    after = bound_state(full, limits)
    reported += _overflow_rejections(state, full, after)
    summarized = _summarized_items(full.items, after.items)
    if summarized or (delta.summarizes and after != state):
        after = replace(after, last_summarized_at=now)
    change = state_difference(state, after)
    if summarized:
        change = replace(change, summarized=summarized)
    return AppliedDelta(state=after, change=change, reported=tuple(reported))


def _merge_understanding(
    understanding: Understanding, entities: Iterable[StateEntity], dependencies: Iterable[Dependency]
) -> Understanding:
    """Return the understanding with these entities and dependencies added or replaced; earlier names are kept."""
    known = {e.id: e for e in understanding.entities}
    for entity in entities:
        before = known.get(entity.id)
        name = entity.name if entity.name is not None or before is None else before.name
        known[entity.id] = replace(entity, name=name)
    related = {dependency_key(d): d for d in (*understanding.dependencies, *dependencies)}
    return Understanding(entities=tuple(known.values()), dependencies=tuple(related.values()))


def _apply_expectations(
    current: tuple[StateExpectation, ...],
    proposals: Iterable[ExpectationProposal],
    now: datetime,
    new_id: NewId,
    reported: list[Rejection],
) -> tuple[StateExpectation, ...]:
    """Return the expectations with new ones added and pending ones changed; settled ones do not change."""
    expectations = {e.id: e for e in current}
    # Complete proposals first: in a delta, a change to an expectation may precede the proposal that makes it.
    for proposal in sorted(proposals, key=lambda one: not _is_complete(one)):
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
            reported.append(
                Rejection(what=f"expectation {held.id}", why=f"it is {held.status} and can no longer change")
            )
        else:
            expectations[held.id] = changed
    return tuple(expectations.values())


def _is_complete(proposal: ExpectationProposal) -> bool:
    """Say whether the proposal names action and outcome, without which no expectation can be made."""
    return proposal.action is not None and proposal.expected_outcome is not None


def _new_expectation(proposal: ExpectationProposal, now: datetime, new_id: NewId) -> StateExpectation | None:
    """Return the expectation that the proposal makes; None if it lacks an action or an outcome."""
    if proposal.action is None or proposal.expected_outcome is None:
        return None
    blank = StateExpectation(
        id=proposal.id or new_id("exp"),
        action=proposal.action,
        expected_outcome=proposal.expected_outcome,
    )
    return _changed_expectation(blank, proposal, now)


def _changed_expectation(held: StateExpectation, proposal: ExpectationProposal, now: datetime) -> StateExpectation:
    """Return the pending expectation with the proposal's fields; settling it also sets the time of the check."""
    names = (
        "action", "expected_outcome", "expected_ids", "expected_type", "expected_count", "invariant", "status",
        "tool_call_id", "settled_by", "invariant_check",
    )  # fmt: skip
    given = {name: getattr(proposal, name) for name in names if getattr(proposal, name) is not None}
    changed = replace(held, **given)
    if not is_settling(held.status, changed.status):
        return changed
    return replace(changed, last_checked_at=to_utc_millis(proposal.last_checked_at or now))


def _apply_items(
    current: tuple[StateItem, ...], proposals: Iterable[ItemProposal], now: datetime, reported: list[Rejection]
) -> tuple[StateItem, ...]:
    """Return the items after these proposals; rejections go into `reported`."""
    items = {item.id: item for item in current}
    removed: set[str] = set()
    for proposal in proposals:
        why = _item_fault(items, removed, proposal)
        if why is not None:
            id_ = proposal.item.id if isinstance(proposal, AddItem) else proposal.id
            reported.append(Rejection(what=f"item {id_}", why=why))
            continue
        match proposal:
            case AddItem(item=item):
                items[item.id] = item
            case UpdateItem(id=id_, patch=patch):
                changed = patch_item(items[id_], patch)
                if changed != items[id_]:
                    items[id_] = replace(changed, updated_at=now)
            case RemoveItem(id=id_):
                del items[id_]
                removed.add(id_)
    return tuple(items.values())


def _item_fault(items: dict[str, StateItem], removed: set[str], proposal: ItemProposal) -> str | None:
    """Return why an item may not be added, changed or removed as proposed; None if it may."""
    match proposal:
        # An id removed in this delta stays taken: the journal would record both as one update, which clears no field.
        case AddItem(item=item) if item.id in items or item.id in removed:
            return "this id is taken; an item is added under a new one"
        case UpdateItem(id=id_) | RemoveItem(id=id_) if id_ not in items:
            return "there is none with this id"
        case UpdateItem(id=id_, patch=patch) if patch.status is not None:
            before = items[id_].status
            if patch.status is not before and not is_closing(before, patch.status):
                return f"it is {before} and can no longer change"
    return None


def _overflow_rejections(before: AgentState, full: AgentState, after: AgentState) -> list[Rejection]:
    """Return a rejection for each new record that did not fit within the agent state's limits."""
    why = "the document is full; settle or remove something first"
    settled = {item.id for item in full.items if item.status is not ItemStatus.ACTIVE}
    names_before, names_offered, names_kept = record_names(before), record_names(full), record_names(after)
    return [
        Rejection(what=f"{noun} {id_}", why=why)
        for noun, id_ in names_offered
        if (noun, id_) not in names_before and (noun, id_) not in names_kept and not (noun == "item" and id_ in settled)
    ]


def _summarized_items(full: tuple[StateItem, ...], kept: tuple[StateItem, ...]) -> tuple[SummarizedItem, ...]:
    """Return one summary per settled item that was dropped to keep the state within its limits."""
    left = {item.id for item in kept}
    return tuple(
        SummarizedItem(id=item.id, kind=item.kind, title=item.title, status=item.status)
        for item in full
        if item.id not in left and item.status is not ItemStatus.ACTIVE
    )
