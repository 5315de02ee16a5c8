"""L7 as the planner reads it: what went wrong first, then what is open, then the rest."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from mnemon.agentstate.layer import agent_state_entries, outstanding_failures
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
    TentativeHypothesis,
    Understanding,
)

FAILED = ExpectationStatus.FAILED
NOW = datetime(2026, 4, 12, 15, 22, tzinfo=UTC)


def item(id_: str, kind: ItemKind, status: ItemStatus = ItemStatus.ACTIVE) -> StateItem:
    return StateItem(id=id_, kind=kind, title=f"title of {id_}", status=status, created_at=NOW, updated_at=NOW)


STATE = AgentState(
    session_id="ses",
    current_understanding=Understanding(
        entities=(StateEntity(id="t1", kind="task", name="Write"), StateEntity(id="t2", kind="task")),
        dependencies=(Dependency(source="t1", target="t2", rel="blocks"),),
    ),
    assumptions=(
        Assumption(id="h1", hypothesis="It is slow", confidence=0.4),
        Assumption(id="h2", hypothesis="It is full", confidence=0.9),
        Assumption(id="h3", hypothesis='Expected "two tasks" but got "count 1"', confidence=0.7),
    ),
    expectations=(
        StateExpectation(id="x1", action="read", expected_outcome="one page", expected_ids=("t2",)),
        StateExpectation(id="x2", action="add", expected_outcome="two tasks", expected_count=2, status=FAILED),
        StateExpectation(id="x3", action="add", expected_outcome="done", status=ExpectationStatus.CONFIRMED),
    ),
    tentative_hypotheses=(TentativeHypothesis(id="g", hypothesis="It may be late", reason="no reply"),),
    items=(
        item("i1", ItemKind.TASK),
        item("i2", ItemKind.QUESTION),
        item("i3", ItemKind.QUESTION, ItemStatus.RESOLVED),
    ),
)


def test_the_order_is_failures_questions_then_the_rest() -> None:
    assert [entry.text for entry in agent_state_entries(STATE)] == [
        'FAILED expectation of add: two tasks [count 2]. Assumed (0.70): Expected "two tasks" but got "count 1"',
        "Open question: title of i2",
        "Expected of read: one page [ids t2]",
        "Open task: title of i1",
        "Assumed (0.90): It is full",
        "Assumed (0.40): It is slow",
        "Possibly: It may be late (no reply)",
        "Known: task t2",
        "Known: task t1 “Write”",
        "Known: t1 blocks t2",
    ]


def test_values_fall_with_the_place_so_that_the_end_goes_first() -> None:
    values = [entry.value for entry in agent_state_entries(STATE)]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == len(values)


def failed(action: str, minute: int) -> StateExpectation:
    at = NOW + timedelta(minutes=minute)
    outcome = f"{action} at {minute}"
    return StateExpectation(
        id=f"{action}{minute}", action=action, expected_outcome=outcome, status=FAILED, last_checked_at=at
    )


def test_a_failure_is_retired_by_a_later_success_of_its_action() -> None:
    won = replace(failed("deploy", 5), id="won", status=ExpectationStatus.CONFIRMED)
    earlier_success = replace(failed("scan", 1), id="early", status=ExpectationStatus.CONFIRMED)
    held = (failed("deploy", 1), won, failed("deploy", 7), earlier_success, failed("scan", 3), failed("mail", 2))
    state = AgentState(session_id="ses", expectations=held)
    assert [e.id for e in outstanding_failures(state)] == ["deploy7", "scan3", "mail2"]


def test_a_success_of_the_same_moment_retires_nothing_since_two_calls_may_run_beside_each_other() -> None:
    won = replace(failed("deploy", 5), id="won", status=ExpectationStatus.CONFIRMED)
    state = AgentState(session_id="ses", expectations=(failed("deploy", 5), won))
    assert [e.id for e in outstanding_failures(state)] == ["deploy5"]


def test_twelve_stale_failures_do_not_push_out_an_open_task() -> None:
    failures = tuple(failed(f"step{number}", number) for number in range(12))
    entries = agent_state_entries(AgentState(session_id="ses", expectations=failures, items=STATE.items))
    ranked = [entry.text for entry in sorted(entries, key=lambda entry: (not entry.urgent, -entry.value))]
    assert [text.split(":")[0] for text in ranked[:5]] == [
        "FAILED expectation of step11",
        "FAILED expectation of step10",
        "FAILED expectation of step9",
        "Open question",
        "Open task",
    ]


def test_what_bears_on_the_message_is_worth_more_than_the_rest_of_its_kind() -> None:
    items = tuple(replace(item(f"i{n}", ItemKind.TASK), title=title) for n, title in enumerate(TITLES))
    entries = agent_state_entries(AgentState(session_id="ses", items=items), "How far is the invoice export?")
    best = max(entries, key=lambda entry: entry.value)
    assert best.text == "Open task: Export the invoices"
    newest = agent_state_entries(AgentState(session_id="ses", items=items))[0]
    assert newest.text == "Open task: Order lunch"


TITLES = ("Book a room", "Export the invoices", "Call Pat", "Order lunch")


def test_every_line_names_its_sources() -> None:
    assert agent_state_entries(STATE)[0].sources == ("x2", "h3")
    assert all(entry.sources for entry in agent_state_entries(STATE))


def test_an_empty_state_has_no_lines() -> None:
    assert agent_state_entries(AgentState(session_id="ses")) == ()
