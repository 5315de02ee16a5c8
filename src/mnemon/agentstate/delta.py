"""Proposed changes to an agent state, before the reducer decides their effect, and how JSON becomes one.

In every proposal None means "not given": an empty list, an empty text and 0 are values.
"""

from dataclasses import dataclass
from datetime import datetime

from mnemon.agentstate.cited_evidence import CitedEvidence
from mnemon.agentstate.invariant import InvariantCheck
from mnemon.agentstate.proposal import (
    AgentStateDeltas,
    AgentStatePatch,
    LenientProposal,
    ProposedAddItem,
    ProposedAssumption,
    ProposedExpectation,
    ProposedRemoveItem,
    ProposedUpdateItem,
)
from mnemon.agentstate.state import (
    Dependency,
    ExpectationStatus,
    ItemKind,
    ItemStatus,
    StateEntity,
    StateItem,
    to_utc_millis,
)
from mnemon.scope import NewId
from mnemon.section import Rejection


@dataclass(frozen=True, kw_only=True)
class AssumptionProposal:
    """A new assumption, or evidence about one that is held."""

    id: str | None = None
    """The id of a held assumption, or of a tentative hypothesis that has found evidence; None for a new one."""
    hypothesis: str | None = None
    confidence: float | None = None
    """For a new assumption: its confidence; from a model, at most what its evidence gives. For a held one only its
    direction counts: lower, with new evidence, contradicts it.
    """
    evidence: tuple[str, ...] = ()
    contradicted_by: tuple[str, ...] = ()
    """Evidence against it."""


@dataclass(frozen=True, kw_only=True)
class ExpectationProposal:
    """A new expectation, or a change to a pending one."""

    id: str | None = None
    action: str | None = None
    expected_outcome: str | None = None
    expected_ids: tuple[str, ...] | None = None
    expected_type: str | None = None
    expected_count: int | None = None
    invariant: str | None = None
    status: ExpectationStatus | None = None
    last_checked_at: datetime | None = None
    tool_call_id: str | None = None
    settled_by: str | None = None
    invariant_check: InvariantCheck | None = None


@dataclass(frozen=True, kw_only=True)
class TentativeProposal:
    """A new tentative hypothesis, or a new wording of one."""

    id: str | None = None
    hypothesis: str
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class AddItem:
    """Adds an item, under an id that the document does not have."""

    item: StateItem


@dataclass(frozen=True, kw_only=True)
class ItemPatch:
    """The fields of an item that change."""

    kind: ItemKind | None = None
    title: str | None = None
    details: str | None = None
    status: ItemStatus | None = None
    related_entity_ids: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class UpdateItem:
    """Changes the item with this id."""

    id: str
    patch: ItemPatch


@dataclass(frozen=True, kw_only=True)
class RemoveItem:
    """Removes the item with this id."""

    id: str


ItemProposal = AddItem | UpdateItem | RemoveItem


@dataclass(frozen=True, kw_only=True)
class StateDelta:
    """Everything that one source proposes at once."""

    entities: tuple[StateEntity, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    assumptions: tuple[AssumptionProposal, ...] = ()
    expectations: tuple[ExpectationProposal, ...] = ()
    tentative_hypotheses: tuple[TentativeProposal, ...] = ()
    items: tuple[ItemProposal, ...] = ()
    summarizes: bool = False
    """Whether it comes from the reflection: then a change updates `lastSummarizedAt`."""
    cited: CitedEvidence | None = None
    """What a model's proposals may cite; None for a plan, a tool result and an application, which answer for theirs."""

    @property
    def claim_size(self) -> int:
        """Return how many characters have to be compared to apply the delta's claims."""
        assumed = sum(len(one.hypothesis or "") for one in self.assumptions)
        guessed = sum(len(one.hypothesis) for one in self.tentative_hypotheses)
        cited = self.cited.size if self.cited and (self.assumptions or self.tentative_hypotheses) else 0
        return assumed + guessed + cited


def delta_from_proposal(deltas: AgentStateDeltas | AgentStatePatch, *, now: datetime, new_id: NewId) -> StateDelta:
    """Return the delta that a parsed JSON proposal asks for; new items get an id and times."""
    updates = [deltas.agent_state_updates] if deltas.agent_state_updates else []
    if isinstance(deltas, AgentStatePatch):
        # A PATCH may carry the update's fields at its top level, under `agent_state_updates`, or both.
        updates.append(deltas)
    understood = [u.current_understanding for u in updates if u.current_understanding]
    return StateDelta(
        entities=tuple(StateEntity(id=e.id, kind=e.kind, name=e.name) for u in understood for e in u.entities or ()),
        dependencies=tuple(
            Dependency(source=d.source, target=d.target, rel=d.rel) for u in understood for d in u.dependencies or ()
        ),
        assumptions=tuple(_assumption_proposal(a) for u in updates for a in u.assumptions or ()),
        expectations=tuple(_expectation_proposal(e) for u in updates for e in u.expectations or ()),
        tentative_hypotheses=tuple(
            TentativeProposal(id=t.id, hypothesis=t.hypothesis, reason=t.reason)
            for u in updates
            for t in u.tentative_hypotheses or ()
        ),
        items=tuple(_item_proposal(i, now, new_id) for i in deltas.agent_state_item_updates or ()),
    )


def _assumption_proposal(proposed: ProposedAssumption) -> AssumptionProposal:
    """Return a parsed assumption in the reducer's form, missing evidence as empty."""
    return AssumptionProposal(
        id=proposed.id,
        hypothesis=proposed.hypothesis,
        confidence=proposed.confidence,
        evidence=tuple(proposed.evidence or ()),
        contradicted_by=tuple(proposed.contradicted_by or ()),
    )


def _expectation_proposal(proposed: ProposedExpectation) -> ExpectationProposal:
    """Return a parsed expectation in the reducer's form; missing ids stay None, which differs from empty."""
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


def _item_proposal(
    update: ProposedAddItem | ProposedUpdateItem | ProposedRemoveItem, now: datetime, new_id: NewId
) -> ItemProposal:
    """Return a parsed addition, change or removal of an item in the reducer's form; a new item gets an id and times."""
    match update:
        case ProposedAddItem(item=item):
            # To the millisecond, like every time in the document, so that it equals itself after a round trip through
            # JSON.
            created = item.createdAt or to_utc_millis(now)
            return AddItem(
                item=StateItem(
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
        case ProposedUpdateItem(id=id_, patch=patch):
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
        case ProposedRemoveItem(id=id_):
            return RemoveItem(id=id_)


def _maybe_tuple(values: list[str] | None) -> tuple[str, ...] | None:
    """Return the list as a tuple; None stays None, which means that the field is not changed."""
    return None if values is None else tuple(values)


def list_unreadable(deltas: AgentStateDeltas) -> tuple[Rejection, ...]:
    """Return the members of a model's answer that could not be parsed, each with the reason."""
    update = deltas.agent_state_updates
    parts: tuple[LenientProposal | None, ...] = (deltas, update, update.current_understanding if update else None)
    return tuple(rejection for part in parts if part is not None for rejection in part.unreadable_members)
