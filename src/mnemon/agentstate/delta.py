"""What someone proposes to change in an agent state, before the reducer has said what comes of it.

In every proposal None means "not given": an empty list, an empty text and 0 are values.
"""

from dataclasses import dataclass
from datetime import datetime

from mnemon.agentstate.state import Dependency, Entity, ExpectationStatus, Item, ItemKind, ItemStatus


@dataclass(frozen=True, kw_only=True)
class AssumptionProposal:
    """A new assumption, or evidence about one that is held."""

    id: str | None = None
    """Of an assumption that is held, or of a tentative hypothesis that has found evidence; None for a new one."""
    hypothesis: str | None = None
    confidence: float | None = None
    """Counts for a new assumption. For a held one only its direction does: lower, with new evidence, contradicts it."""
    evidence: tuple[str, ...] = ()
    contradicted_by: tuple[str, ...] = ()
    """Evidence that speaks against it."""


@dataclass(frozen=True, kw_only=True)
class ExpectationProposal:
    """A new expectation, or a change to one that is pending."""

    id: str | None = None
    action: str | None = None
    expected_outcome: str | None = None
    expected_ids: tuple[str, ...] | None = None
    expected_type: str | None = None
    expected_count: int | None = None
    invariant: str | None = None
    status: ExpectationStatus | None = None
    last_checked_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class TentativeProposal:
    """A new tentative hypothesis, or a new wording of one."""

    id: str | None = None
    hypothesis: str
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class AddItem:
    """A new item; its id is one that the document does not have."""

    item: Item


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
    """A change to the item with this id."""

    id: str
    patch: ItemPatch


@dataclass(frozen=True, kw_only=True)
class RemoveItem:
    """The item with this id goes."""

    id: str


ItemProposal = AddItem | UpdateItem | RemoveItem


@dataclass(frozen=True, kw_only=True)
class Delta:
    """Everything one source proposes at once."""

    entities: tuple[Entity, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    assumptions: tuple[AssumptionProposal, ...] = ()
    expectations: tuple[ExpectationProposal, ...] = ()
    tentative_hypotheses: tuple[TentativeProposal, ...] = ()
    items: tuple[ItemProposal, ...] = ()
    summarizes: bool = False
    """Whether it is the reflection's: then a change moves `lastSummarizedAt`."""
