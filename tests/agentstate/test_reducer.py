"""What a delta may do to a state, what it may not, and how that is told."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.deltas import deltas
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
from mnemon.agentstate.reducer import AppliedDelta, apply_delta
from mnemon.agentstate.state import (
    AgentState,
    Assumption,
    Dependency,
    ExpectationStatus,
    ItemKind,
    ItemStatus,
    StateEntity,
    StateExpectation,
    StateItem,
    StateLimits,
    TentativeHypothesis,
    Understanding,
)

NOW = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
EMPTY = AgentState(session_id="ses")


def change(state: AgentState, limits: StateLimits | None = None, **delta: object) -> AppliedDelta:
    numbers = count(1)
    return apply_delta(
        state,
        StateDelta(**delta),  # type: ignore[arg-type]
        now=LATER,
        new_id=lambda prefix: f"{prefix}_{next(numbers)}",
        limits=limits or StateLimits(),
    )


def item(id_: str, status: ItemStatus = ItemStatus.ACTIVE, at: datetime = NOW, **fields: Any) -> StateItem:
    made = StateItem(id=id_, kind=ItemKind.TASK, title=f"do {id_}", status=status, created_at=at, updated_at=at)
    return replace(made, **fields)


def holding(*items: StateItem) -> AgentState:
    return replace(EMPTY, items=items)


def whys(applied: AppliedDelta) -> list[tuple[str, str]]:
    return [(rejection.what, rejection.why) for rejection in applied.reported]


@pytest.mark.parametrize("status", [ItemStatus.RESOLVED, ItemStatus.DISCARDED])
def test_an_active_item_can_be_closed(status: ItemStatus) -> None:
    applied = change(holding(item("a")), items=(UpdateItem(id="a", patch=ItemPatch(status=status)),))
    assert applied.state.items == (item("a", status, updated_at=LATER),)
    assert applied.reported == ()


@pytest.mark.parametrize("before", [ItemStatus.RESOLVED, ItemStatus.DISCARDED])
@pytest.mark.parametrize("after", list(ItemStatus))
def test_a_closed_item_keeps_its_status(before: ItemStatus, after: ItemStatus) -> None:
    applied = change(holding(item("a", before)), items=(UpdateItem(id="a", patch=ItemPatch(status=after)),))
    assert applied.state.items == (item("a", before),)
    assert whys(applied) == ([] if before is after else [("item a", f"it is {before} and can no longer change")])


def test_a_refused_update_changes_nothing_else_of_the_item() -> None:
    patch = ItemPatch(title="new", status=ItemStatus.ACTIVE)
    applied = change(holding(item("a", ItemStatus.RESOLVED)), items=(UpdateItem(id="a", patch=patch),))
    assert applied.change.is_empty


def test_unknown_ids_are_reported_not_guessed() -> None:
    applied = change(holding(item("a")), items=(UpdateItem(id="b", patch=ItemPatch(title="x")), RemoveItem(id="c")))
    assert applied.change.is_empty
    assert whys(applied) == [("item b", "there is none with this id"), ("item c", "there is none with this id")]


def test_the_rest_of_a_delta_applies_when_a_part_is_refused() -> None:
    applied = change(
        EMPTY, items=(RemoveItem(id="b"), AddItem(item=item("a"))), entities=(StateEntity(id="e", kind="k"),)
    )
    assert [i.id for i in applied.state.items] == ["a"]
    assert len(applied.state.current_understanding.entities) == 1


def test_a_taken_id_is_not_overwritten_nor_used_again_in_the_same_delta() -> None:
    fresh = item("a", title="other")
    assert change(holding(item("a")), items=(AddItem(item=fresh),)).state.items == (item("a"),)
    applied = change(holding(item("a")), items=(RemoveItem(id="a"), AddItem(item=fresh)))
    assert applied.state.items == ()
    assert len(applied.reported) == 1


def test_entities_merge_by_id_and_keep_a_name_that_is_not_given_again() -> None:
    first = change(EMPTY, entities=(StateEntity(id="e", kind="task", name="Write"), StateEntity(id="f", kind="doc")))
    second = change(first.state, entities=(StateEntity(id="e", kind="epic"),))
    assert second.state.current_understanding.entities == (
        StateEntity(id="e", kind="epic", name="Write"),
        StateEntity(id="f", kind="doc"),
    )


def test_dependencies_are_told_apart_by_all_three_fields() -> None:
    blocks, plain = Dependency(source="a", target="b", rel="blocks"), Dependency(source="a", target="b")
    applied = change(EMPTY, dependencies=(blocks, plain, blocks))
    assert applied.state.current_understanding.dependencies == (blocks, plain)
    assert change(applied.state, dependencies=(plain, blocks)).change.is_empty


def test_a_new_assumption_has_the_confidence_it_came_with() -> None:
    applied = change(EMPTY, assumptions=(AssumptionProposal(id="h", hypothesis="It rains", confidence=0.83),))
    assert applied.state.assumptions == (Assumption(id="h", hypothesis="It rains", confidence=0.83),)


def held(confidence: float = 0.8) -> AgentState:
    return replace(
        EMPTY, assumptions=(Assumption(id="h", hypothesis="It rains", confidence=confidence, evidence=("m1",)),)
    )


@pytest.mark.parametrize(
    ("proposal", "confidence"),
    [
        (AssumptionProposal(id="h", confidence=0.95, evidence=("m2",)), 0.80),
        (AssumptionProposal(id="h", confidence=0.1), 0.80),
        (AssumptionProposal(id="h", confidence=0.1, evidence=("m1",)), 0.80),
        (AssumptionProposal(id="h", evidence=("m2",)), 0.80),
        (AssumptionProposal(id="h", confidence=0.1, evidence=("m2",)), 0.69),
        (AssumptionProposal(id="h", contradicted_by=("m2",)), 0.69),
        (AssumptionProposal(id="h", contradicted_by=("m2", "m2")), 0.69),
        (AssumptionProposal(id="h", contradicted_by=("m2", "m3")), 0.55),
        (AssumptionProposal(hypothesis="it  RAINS", contradicted_by=("m2",)), 0.69),
    ],
)
def test_confidence_moves_by_contradiction_and_the_rule_alone(proposal: AssumptionProposal, confidence: float) -> None:
    [assumption] = change(held(), assumptions=(proposal,)).state.assumptions
    assert round(assumption.confidence, 2) == confidence


def test_the_same_piece_contradicts_once() -> None:
    proposal = AssumptionProposal(id="h", contradicted_by=("m2",))
    once = change(held(), assumptions=(proposal,))
    assert change(once.state, assumptions=(proposal,)).change.is_empty
    assert once.state.assumptions[0].evidence == ("m1", "m2")


def test_repeating_the_number_that_is_shown_is_no_contradiction() -> None:
    lowered = change(held(), assumptions=(AssumptionProposal(id="h", contradicted_by=("m2",)),)).state
    again = change(lowered, assumptions=(AssumptionProposal(id="h", confidence=0.69, evidence=("m3",)),))
    assert again.state.assumptions[0].confidence == lowered.assumptions[0].confidence
    assert again.reported == ()


def test_a_number_without_evidence_is_reported() -> None:
    applied = change(held(), assumptions=(AssumptionProposal(id="h", confidence=0.2),))
    [(what, why)] = whys(applied)
    assert what == "confidence 0.2 of assumption h"
    assert "contradiction" in why


@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_contradiction_works_at_the_ends_of_the_scale(confidence: float) -> None:
    [assumption] = change(
        held(confidence), assumptions=(AssumptionProposal(id="h", contradicted_by=("x",)),)
    ).state.assumptions
    assert 0 <= assumption.confidence < 1


GUESS = replace(EMPTY, tentative_hypotheses=(TentativeHypothesis(id="t", hypothesis="It may snow", reason="cold"),))


@pytest.mark.parametrize(
    "proposal",
    [
        AssumptionProposal(id="t", confidence=0.6, evidence=("m1",)),
        AssumptionProposal(hypothesis="it may snow", confidence=0.6, evidence=("m1",)),
    ],
)
def test_a_tentative_hypothesis_with_evidence_becomes_an_assumption(proposal: AssumptionProposal) -> None:
    applied = change(GUESS, assumptions=(proposal,))
    assert applied.state.tentative_hypotheses == ()
    [assumption] = applied.state.assumptions
    assert (assumption.id, assumption.confidence, assumption.evidence) == ("t", 0.6, ("m1",))
    assert applied.change.removed is not None
    assert applied.change.removed.tentative_hypotheses == ("t",)


def test_without_evidence_it_stays_tentative() -> None:
    applied = change(GUESS, assumptions=(AssumptionProposal(id="t", confidence=0.9),))
    assert applied.change.is_empty
    assert "evidence" in whys(applied)[0][1]


def test_an_assumption_does_not_become_tentative_again() -> None:
    applied = change(held(), tentative_hypotheses=(TentativeProposal(id="h", hypothesis="It rains"),))
    assert applied.change.is_empty
    assert whys(applied) == [("tentative hypothesis h", "it is an assumption already")]


def test_an_expectation_is_settled_once() -> None:
    pending = replace(EMPTY, expectations=(StateExpectation(id="x", action="a", expected_outcome="o"),))
    failed = change(pending, expectations=(ExpectationProposal(id="x", status=ExpectationStatus.FAILED),))
    assert failed.state.expectations[0].last_checked_at == LATER
    again = change(failed.state, expectations=(ExpectationProposal(id="x", status=ExpectationStatus.CONFIRMED),))
    assert again.change.is_empty
    assert whys(again) == [("expectation x", "it is failed and can no longer change")]
    reopened = change(failed.state, expectations=(ExpectationProposal(id="x", status=ExpectationStatus.PENDING),))
    assert reopened.change.is_empty


def test_a_change_to_an_unknown_expectation_is_reported() -> None:
    applied = change(EMPTY, expectations=(ExpectationProposal(id="x", status=ExpectationStatus.FAILED),))
    assert applied.change.is_empty
    assert len(applied.reported) == 1


def test_last_summarized_moves_only_with_a_change_by_the_reflection() -> None:
    entity = (StateEntity(id="e", kind="k"),)
    assert change(EMPTY, entities=entity).state.last_summarized_at is None
    assert change(EMPTY, summarizes=True).change.is_empty
    assert change(EMPTY, entities=entity, summarizes=True).state.last_summarized_at == LATER


def test_the_oldest_closed_items_are_summarized_into_the_journal() -> None:
    state = holding(
        item("old", ItemStatus.RESOLVED, NOW - timedelta(days=2)),
        item("open", at=NOW - timedelta(days=9)),
        item("older", ItemStatus.DISCARDED, NOW - timedelta(days=3)),
    )
    applied = change(state, StateLimits(items=3), items=(AddItem(item=item("new")),))
    assert [i.id for i in applied.state.items] == ["old", "open", "new"]
    assert applied.state.last_summarized_at == LATER
    [line] = applied.change.summarized or ()
    assert (line.id, line.title, line.status) == ("older", "do older", ItemStatus.DISCARDED)


def test_a_document_full_of_open_items_takes_no_more_and_says_so() -> None:
    applied = change(holding(item("a"), item("b")), StateLimits(items=2), items=(AddItem(item=item("c")),))
    assert applied.change.is_empty
    assert whys(applied) == [("item c", "the document is full; settle or remove something first")]


def test_what_is_taken_is_not_reported_nor_is_what_comes_settled_to_a_full_document() -> None:
    applied = change(holding(item("a"), item("b")), StateLimits(items=3), items=(AddItem(item=item("c")),))
    assert (len(applied.state.items), applied.reported) == (3, ())
    done = AddItem(item=item("d", ItemStatus.RESOLVED))
    settled = change(holding(item("a"), item("b")), StateLimits(items=2), items=(done,))
    assert [line.id for line in settled.change.summarized or ()] == ["d"]
    assert settled.reported == ()


def test_an_expectation_needs_an_action_and_an_outcome() -> None:
    for proposal in (ExpectationProposal(action="a"), ExpectationProposal(expected_outcome="o")):
        applied = change(EMPTY, expectations=(proposal,))
        assert applied.change.is_empty
        assert whys(applied) == [("expectation None", "there is none with this id to change")]


def test_an_entity_that_something_open_names_is_never_dropped() -> None:
    state = replace(
        EMPTY,
        current_understanding=Understanding(entities=tuple(StateEntity(id=e, kind="k") for e in "abcd")),
        items=(item("i", related_entity_ids=("a",)), item("j", ItemStatus.RESOLVED, related_entity_ids=("d",))),
        expectations=(StateExpectation(id="x", action="a", expected_outcome="o", expected_ids=("b",)),),
    )
    applied = change(state, StateLimits(entities=3), entities=(StateEntity(id="z", kind="k"),))
    assert [e.id for e in applied.state.current_understanding.entities] == ["a", "b", "z"]


def test_a_dropped_entity_takes_its_dependencies_along() -> None:
    state = replace(
        EMPTY,
        current_understanding=Understanding(
            entities=(StateEntity(id="a", kind="k"),), dependencies=(Dependency(source="a", target="q"),)
        ),
    )
    applied = change(state, StateLimits(entities=1), entities=(StateEntity(id="b", kind="k"),))
    assert applied.state.current_understanding == Understanding(entities=(StateEntity(id="b", kind="k"),))


def test_the_least_sure_assumption_makes_room() -> None:
    state = replace(
        EMPTY,
        assumptions=tuple(Assumption(id=f"h{n}", hypothesis=str(n), confidence=n / 10) for n in (9, 2, 5)),
    )
    applied = change(state, StateLimits(assumptions=3), assumptions=(AssumptionProposal(id="new", hypothesis="x"),))
    assert [a.id for a in applied.state.assumptions] == ["h9", "h5", "new"]


def test_confirmed_expectations_make_room_before_failed_and_pending_ones() -> None:
    statuses = [ExpectationStatus.PENDING, ExpectationStatus.FAILED, ExpectationStatus.CONFIRMED]
    state = replace(
        EMPTY,
        expectations=tuple(StateExpectation(id=s, action="a", expected_outcome="o", status=s) for s in statuses),
    )
    new = (ExpectationProposal(id="new", action="a", expected_outcome="o"),)
    applied = change(state, StateLimits(expectations=3), expectations=new)
    assert [x.id for x in applied.state.expectations] == ["pending", "failed", "new"]
    applied = change(state, StateLimits(expectations=2), expectations=new)
    assert [x.id for x in applied.state.expectations] == ["pending", "new"]


@pytest.mark.parametrize("more", [{}, {"action": "a"}, {"expected_outcome": "o"}])
def test_a_report_that_comes_before_its_expectation_in_the_same_delta_counts(more: dict[str, str]) -> None:
    report = ExpectationProposal(id="x", status=ExpectationStatus.CONFIRMED, **more)  # type: ignore[arg-type]
    made = ExpectationProposal(id="x", action="a", expected_outcome="o")
    applied = change(EMPTY, expectations=(report, made))
    assert [x.status for x in applied.state.expectations] == [ExpectationStatus.CONFIRMED]
    assert applied.reported == ()


@given(st.lists(deltas, max_size=4), deltas)
def test_the_same_delta_twice_changes_only_what_has_no_name(before: list[StateDelta], delta: StateDelta) -> None:
    numbers = count(1)
    state = EMPTY
    for earlier in (*before, delta):
        state = apply_delta(state, earlier, now=NOW, new_id=lambda prefix: f"{prefix}_{next(numbers)}").state
    again = apply_delta(state, delta, now=NOW, new_id=lambda prefix: f"{prefix}_{next(numbers)}").state
    assert again.current_understanding == state.current_understanding
    named = {x.id for x in state.expectations}
    assert tuple(x for x in again.expectations if x.id in named) == state.expectations
