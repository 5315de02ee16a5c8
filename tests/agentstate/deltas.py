"""Strategies: any well-formed delta, intent and tool result, over few ids, so that they meet each other."""

from datetime import UTC, datetime

from hypothesis import strategies as st

from mnemon.agentstate.delta import (
    AddItem,
    AssumptionProposal,
    ExpectationProposal,
    ItemPatch,
    RemoveItem,
    StateDelta,
    TentativeProposal,
    UpdateItem,
)
from mnemon.agentstate.settlement import settle_results
from mnemon.agentstate.state import (
    AgentState,
    Dependency,
    ExpectationStatus,
    ItemKind,
    ItemStatus,
    StateEntity,
    StateItem,
)
from mnemon.agentstate.verification import delta_from_settlement
from mnemon.scope import NewId
from mnemon.turn import DependencyPatch, EntityPatch, Intent, ToolOutcome


def delta_from_result(state: AgentState, result: ToolOutcome, *, now: datetime, new_id: NewId) -> StateDelta:
    """The delta of a result that comes alone."""
    [settlement] = settle_results(state.expectations, (result,))
    return delta_from_settlement(state, settlement, now=now, new_id=new_id)


NOW = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)


def few(strategy: st.SearchStrategy, most: int = 3) -> st.SearchStrategy:
    return st.lists(strategy, max_size=most).map(tuple)


entity_ids = st.sampled_from(["e1", "e2", "e3", "e4", "e5", "e6"])
evidence = few(st.sampled_from(["res_1", "res_2", "msg_1", "msg_2"]), 2)
actions = st.sampled_from(["create", "delete"])
names = st.sampled_from(["A", "B", ""])
shares = st.none() | st.sampled_from([0.0, 0.1, 0.5, 0.56, 0.7, 0.9, 1.0])

entities = st.builds(StateEntity, id=entity_ids, kind=st.sampled_from(["task", "doc"]), name=st.none() | names)
dependencies = st.builds(Dependency, source=entity_ids, target=entity_ids, rel=st.none() | st.just("blocks"))
assumptions = st.builds(
    AssumptionProposal,
    id=st.none() | st.sampled_from(["h1", "h2", "h3", "h4"]),
    hypothesis=st.none() | st.sampled_from(["It rains", "it  RAINS", "It is cold", "It is late"]),
    confidence=shares,
    evidence=evidence,
    contradicted_by=evidence,
)
tentative = st.builds(
    TentativeProposal,
    id=st.none() | st.sampled_from(["h1", "h2", "h3", "h4"]),
    hypothesis=st.sampled_from(["It rains", "It is cold", "It is late"]),
    reason=st.none() | names,
)
expectations = st.builds(
    ExpectationProposal,
    id=st.none() | st.sampled_from(["x1", "x2", "x3"]),
    action=st.none() | actions,
    expected_outcome=st.none() | st.sampled_from(["done", "gone"]),
    expected_ids=st.none() | few(entity_ids, 2),
    expected_type=st.none() | st.just("task"),
    expected_count=st.none() | st.integers(0, 2),
    status=st.sampled_from([None, None, *ExpectationStatus]),
)
items = st.one_of(
    st.builds(
        AddItem,
        item=st.builds(
            StateItem,
            id=st.sampled_from(["i1", "i2", "i3", "i4"]),
            kind=st.sampled_from(ItemKind),
            title=names,
            status=st.sampled_from(ItemStatus),
            related_entity_ids=st.none() | few(entity_ids, 2),
            created_at=st.just(NOW),
            updated_at=st.just(NOW),
        ),
    ),
    st.builds(
        UpdateItem,
        id=st.sampled_from(["i1", "i2", "i3", "i4", "i5"]),
        patch=st.builds(
            ItemPatch,
            title=st.none() | names,
            details=st.none() | names,
            status=st.sampled_from([None, ItemStatus.ACTIVE, ItemStatus.DISCARDED, ItemStatus.RESOLVED]),
            related_entity_ids=st.none() | few(entity_ids, 2),
        ),
    ),
    st.builds(RemoveItem, id=st.sampled_from(["i1", "i2", "i3", "i4", "i5"])),
)
deltas = st.one_of(
    st.builds(StateDelta, entities=few(entities), dependencies=few(dependencies)),
    st.builds(StateDelta, assumptions=few(assumptions, 2), tentative_hypotheses=few(tentative, 2)),
    st.builds(StateDelta, expectations=few(expectations, 2), entities=few(entities, 1)),
    st.builds(StateDelta, items=few(items), entities=few(entities, 1), summarizes=st.booleans()),
)
intents = st.builds(
    Intent,
    action=actions,
    expected_outcome=st.sampled_from(["done", "gone"]),
    expected_ids=st.none() | few(entity_ids, 2),
    expected_count=st.none() | st.integers(0, 2),
)
results = st.builds(
    ToolOutcome,
    id=st.sampled_from(["res_1", "res_2", "res_3"]),
    action=actions,
    ids=st.none() | few(entity_ids),
    types=st.none() | few(st.sampled_from(["task", "doc"]), 1),
    count=st.none() | st.integers(0, 2),
    entities=few(st.builds(EntityPatch, id=entity_ids, kind=st.just("task"), name=st.none() | names), 2),
    dependencies=few(st.builds(DependencyPatch, source=entity_ids, target=entity_ids), 2),
)
