"""What a tool result does to the expectations and to the understanding."""

from datetime import UTC, datetime
from itertools import count

import pytest

from agentstate.deltas import delta_from_result
from mnemon.agentstate.reducer import apply_delta
from mnemon.agentstate.state import AgentState, ExpectationStatus, StateExpectation
from mnemon.agentstate.verification import delta_from_intents, discrepancy_opening, summarize_result
from mnemon.turn import DependencyPatch, EntityPatch, Intent, ToolOutcome

NOW = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)
PENDING, CONFIRMED, FAILED = ExpectationStatus


class Session:
    """A state that plans and results are applied to."""

    def __init__(self) -> None:
        self.state = AgentState(session_id="ses")
        self._numbers = count(1)

    def new_id(self, prefix: str) -> str:
        return f"{prefix}_{next(self._numbers)}"

    def plan(self, *intents: Intent) -> None:
        self.state = apply_delta(self.state, delta_from_intents(intents), now=NOW, new_id=self.new_id).state

    def result(self, result: ToolOutcome) -> None:
        delta = delta_from_result(self.state, result, now=NOW, new_id=self.new_id)
        self.state = apply_delta(self.state, delta, now=NOW, new_id=self.new_id).state

    @property
    def statuses(self) -> list[ExpectationStatus]:
        return [expectation.status for expectation in self.state.expectations]


@pytest.fixture
def session() -> Session:
    return Session()


def two_tasks(**fields: object) -> Intent:
    return Intent(**{"action": "create_task", "expected_outcome": "two tasks exist", **fields})  # type: ignore[arg-type]


def test_an_expectation_begins_pending_with_an_id_of_the_server(session: Session) -> None:
    session.plan(two_tasks(expected_count=2, invariant="no task is deleted"))
    [expectation] = session.state.expectations
    assert expectation.id == "exp_1"
    assert expectation.status is PENDING
    assert expectation.last_checked_at is None
    assert expectation.invariant == "no task is deleted"


def test_a_match_confirms_and_stamps_the_time(session: Session) -> None:
    session.plan(two_tasks(expected_count=2))
    session.result(ToolOutcome(id="res_1", action="create_task", count=2))
    [expectation] = session.state.expectations
    assert expectation.status is CONFIRMED
    assert expectation.last_checked_at == NOW
    assert session.state.assumptions == ()


def test_a_mismatch_fails_and_says_what_was_expected_and_what_came(session: Session) -> None:
    session.plan(two_tasks(expected_count=2))
    session.result(ToolOutcome(id="res_1", action="create_task", count=1, ids=("t1",), output="quota exceeded"))
    [expectation] = session.state.expectations
    [assumption] = session.state.assumptions
    assert expectation.status is FAILED
    assert expectation.last_checked_at == NOW
    assert assumption.hypothesis == 'Expected "two tasks exist" but got "count 1; ids t1; output quota exceeded"'
    assert assumption.confidence == 0.7
    assert assumption.evidence == ("res_1",)


def test_nothing_shared_leaves_it_pending_and_unchecked(session: Session) -> None:
    session.plan(two_tasks(expected_count=2))
    session.result(ToolOutcome(id="res_1", action="create_task", types=("task",)))
    [expectation] = session.state.expectations
    assert expectation.status is PENDING
    assert expectation.last_checked_at is None
    assert session.state.assumptions == ()


def test_a_result_of_another_action_settles_nothing(session: Session) -> None:
    session.plan(two_tasks(expected_count=2))
    session.result(ToolOutcome(id="res_1", action="delete_task", count=2))
    assert session.statuses == [PENDING]


def test_several_pending_ones_are_settled_in_order_one_per_result(session: Session) -> None:
    session.plan(two_tasks(expected_ids=("t1",)), two_tasks(expected_ids=("t2",)))
    session.result(ToolOutcome(id="res_1", action="create_task", ids=("t1",)))
    assert session.statuses == [CONFIRMED, PENDING]
    session.result(ToolOutcome(id="res_2", action="create_task", ids=("t3",)))
    assert session.statuses == [CONFIRMED, FAILED]


def test_one_that_cannot_be_compared_does_not_hold_up_the_next(session: Session) -> None:
    session.plan(two_tasks(), two_tasks(expected_count=2))
    session.result(ToolOutcome(id="res_1", action="create_task", count=2))
    assert session.statuses == [PENDING, CONFIRMED]


def test_a_settled_expectation_is_not_settled_again(session: Session) -> None:
    session.plan(two_tasks(expected_count=2))
    session.result(ToolOutcome(id="res_1", action="create_task", count=2))
    session.result(ToolOutcome(id="res_2", action="create_task", count=5))
    assert session.statuses == [CONFIRMED]
    assert session.state.assumptions == ()


def test_an_outcome_that_comes_true_later_contradicts_what_its_failure_made_us_assume(session: Session) -> None:
    session.plan(two_tasks(expected_count=2))
    session.result(ToolOutcome(id="res_1", action="create_task", count=1))
    session.plan(two_tasks(expected_count=2))
    session.result(ToolOutcome(id="res_2", action="create_task", count=2))
    [assumption] = session.state.assumptions
    assert assumption.contradicted_by == ("res_2",)
    assert round(assumption.confidence, 2) == 0.56


def test_entities_and_dependencies_of_a_result_are_understood_at_once(session: Session) -> None:
    patch = ToolOutcome(
        id="res_1",
        action="list",
        entities=(EntityPatch(id="t1", kind="task", name="Write"), EntityPatch(id="p1", kind="project")),
        dependencies=(DependencyPatch(source="t1", target="p1", rel="part_of"),),
    )
    session.result(patch)
    session.result(patch)
    assert [(e.id, e.kind, e.name) for e in session.state.current_understanding.entities] == [
        ("t1", "task", "Write"),
        ("p1", "project", None),
    ]
    assert [d.key for d in session.state.current_understanding.dependencies] == [("t1", "p1", "part_of")]


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (ToolOutcome(id="r", action="a", count=0, ids=(), types=()), "count 0; ids none; types none"),
        (ToolOutcome(id="r", action="a", output={"error": "no"}), 'output {"error": "no"}'),
        (ToolOutcome(id="r", action="a"), ""),
    ],
)
def test_a_result_is_summarized_in_a_line(result: ToolOutcome, line: str) -> None:
    assert summarize_result(result) == line


def test_a_very_long_outcome_still_makes_one_bounded_assumption(session: Session) -> None:
    session.plan(Intent(action="a", expected_outcome="x" * 20_000, expected_count=1))
    session.result(ToolOutcome(id="r", action="a", count=0, ids=tuple(f"id{i}" for i in range(5_000))))
    [assumption] = session.state.assumptions
    assert len(assumption.hypothesis) < 2_000


def test_an_outcome_that_comes_true_contradicts_only_what_its_own_failure_made_us_assume(session: Session) -> None:
    session.plan(two_tasks(expected_count=2), Intent(action="send", expected_outcome="it is sent", expected_count=1))
    session.result(ToolOutcome(id="res_1", action="create_task", count=1))
    session.result(ToolOutcome(id="res_2", action="send", count=0))
    session.plan(two_tasks(expected_count=2))
    session.result(ToolOutcome(id="res_3", action="create_task", count=2))
    assert [assumption.contradicted_by for assumption in session.state.assumptions] == [("res_3",), None]


@pytest.mark.parametrize(("length", "shown"), [(600, "x" * 600), (601, "x" * 599 + "…")])
def test_what_was_expected_is_quoted_up_to_six_hundred_characters(length: int, shown: str) -> None:
    expectation = StateExpectation(id="e", action="a", expected_outcome="x" * length)
    assert discrepancy_opening(expectation) == f'Expected "{shown}" but got "'


def test_an_output_is_shown_in_its_own_letters_up_to_two_hundred_characters() -> None:
    assert summarize_result(ToolOutcome(id="r", action="a", output={"wer": "Zoë"})) == 'output {"wer": "Zoë"}'
    assert summarize_result(ToolOutcome(id="r", action="a", output="ab  \n" * 300)) == f"output {('ab ' * 67)[:200]}"
