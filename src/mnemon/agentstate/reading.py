"""From a proposal's JSON to a delta."""

from datetime import datetime

from mnemon.agentstate.delta import (
    AddItem,
    AssumptionProposal,
    Delta,
    ExpectationProposal,
    ItemPatch,
    ItemProposal,
    RemoveItem,
    TentativeProposal,
    UpdateItem,
)
from mnemon.agentstate.proposal import (
    AddsItem,
    AgentStateDeltas,
    AgentStatePatch,
    ProposedAssumption,
    ProposedExpectation,
    RemovesItem,
    Sifting,
    UpdatesItem,
)
from mnemon.agentstate.state import Dependency, Entity, Item, moment
from mnemon.ids import NewId
from mnemon.section import Rejection


def delta_of(deltas: AgentStateDeltas | AgentStatePatch, *, now: datetime, new_id: NewId) -> Delta:
    """The delta these propose, new items with an id and times of their own."""
    updates = [deltas.agent_state_updates] if deltas.agent_state_updates else []
    if isinstance(deltas, AgentStatePatch):
        updates.append(deltas)
    understood = [u.current_understanding for u in updates if u.current_understanding]
    return Delta(
        entities=tuple(Entity(id=e.id, kind=e.kind, name=e.name) for u in understood for e in u.entities or ()),
        dependencies=tuple(
            Dependency(source=d.source, target=d.target, rel=d.rel) for u in understood for d in u.dependencies or ()
        ),
        assumptions=tuple(_assumption(a) for u in updates for a in u.assumptions or ()),
        expectations=tuple(_expectation(e) for u in updates for e in u.expectations or ()),
        tentative_hypotheses=tuple(
            TentativeProposal(id=t.id, hypothesis=t.hypothesis, reason=t.reason)
            for u in updates
            for t in u.tentative_hypotheses or ()
        ),
        items=tuple(_item_proposal(i, now, new_id) for i in deltas.agent_state_item_updates or ()),
    )


def _assumption(proposed: ProposedAssumption) -> AssumptionProposal:
    return AssumptionProposal(
        id=proposed.id,
        hypothesis=proposed.hypothesis,
        confidence=proposed.confidence,
        evidence=tuple(proposed.evidence or ()),
        contradicted_by=tuple(proposed.contradicted_by or ()),
    )


def _expectation(proposed: ProposedExpectation) -> ExpectationProposal:
    ids = proposed.expected_ids
    return ExpectationProposal(
        id=proposed.id,
        action=proposed.action,
        expected_outcome=proposed.expected_outcome,
        expected_ids=None if ids is None else tuple(ids),
        expected_type=proposed.expected_type,
        expected_count=proposed.expected_count,
        invariant=proposed.invariant,
        status=proposed.status,
        last_checked_at=proposed.last_checked_at,
    )


def _item_proposal(update: AddsItem | UpdatesItem | RemovesItem, now: datetime, new_id: NewId) -> ItemProposal:
    match update:
        case AddsItem(item=item):
            created = item.createdAt or moment(now)
            return AddItem(
                item=Item(
                    id=item.id or new_id("itm"),
                    kind=item.kind,
                    title=item.title,
                    details=item.details,
                    status=item.status,
                    related_entity_ids=_maybe_tuple(item.relatedEntityIds),
                    created_at=created,
                    updated_at=item.updatedAt or created,
                )
            )
        case UpdatesItem(id=id_, patch=patch):
            return UpdateItem(
                id=id_,
                patch=ItemPatch(
                    kind=patch.kind,
                    title=patch.title,
                    details=patch.details,
                    status=patch.status,
                    related_entity_ids=_maybe_tuple(patch.relatedEntityIds),
                ),
            )
        case RemovesItem(id=id_):
            return RemoveItem(id=id_)


def _maybe_tuple(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)


def unreadable(deltas: AgentStateDeltas) -> tuple[Rejection, ...]:
    """Every member of the answer that could not be read, and why."""
    update = deltas.agent_state_updates
    parts: tuple[Sifting | None, ...] = (deltas, update, update.current_understanding if update else None)
    return tuple(rejection for part in parts if part is not None for rejection in part.unreadable)
