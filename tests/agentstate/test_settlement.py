"""Which result settles which expectation: links first, then what fits, and at most one each."""

from collections import Counter
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from mnemon.agentstate.settlement import settle_results, verdict_json
from mnemon.agentstate.state import ExpectationStatus, StateExpectation
from mnemon.agentstate.verification import delta_from_calls, result_key
from mnemon.turn import ToolOutcome

PENDING, CONFIRMED, FAILED = ExpectationStatus
names = st.sampled_from("abcd")


def wants(id_: str, **fields: object) -> StateExpectation:
    return StateExpectation(**{"id": id_, "action": "make", "expected_outcome": id_, **fields})  # type: ignore[arg-type]


def came(id_: str, **fields: object) -> ToolOutcome:
    return ToolOutcome(**{"id": id_, "action": "make", **fields})  # type: ignore[arg-type]


def settled(expectations: list[StateExpectation], *results: ToolOutcome) -> dict[str, tuple[str, ExpectationStatus]]:
    """The expectations that were settled, each with the result and how."""
    return {
        one.expectation.id: (one.result.id, one.status)
        for one in settle_results(expectations, results)
        if one.expectation is not None and one.status is not None
    }


def test_parallel_results_are_matched_whatever_their_order() -> None:
    expectations = [wants("x", expected_ids=("a",)), wants("y", expected_ids=("b",)), wants("z", expected_count=3)]
    results = [came("ra", ids=("a",)), came("rb", ids=("b",)), came("rc", count=3)]
    for order in permutations(results):
        assert settled(expectations, *order) == {
            "x": ("ra", CONFIRMED), "y": ("rb", CONFIRMED), "z": ("rc", CONFIRMED),
        }  # fmt: skip


def test_an_expectation_that_many_results_fit_leaves_each_the_one_it_needs() -> None:
    expectations = [wants("loose", expected_type="task"), wants("strict", expected_ids=("a",))]
    results = [came("ra", ids=("a",), types=("task",)), came("rb", ids=("b",), types=("task",))]
    for order in permutations(results):
        assert settled(expectations, *order) == {"loose": ("rb", CONFIRMED), "strict": ("ra", CONFIRMED)}


def test_of_several_the_one_that_came_wrong_is_failed() -> None:
    expectations = [wants("x", expected_ids=("a",)), wants("y", expected_ids=("b",))]
    wrong, right = came("wrong", ids=("c",)), came("right", ids=("a",))
    for order in permutations([wrong, right]):
        assert settled(expectations, *order) == {"x": ("right", CONFIRMED), "y": ("wrong", FAILED)}


def test_a_link_outweighs_what_fits() -> None:
    expectations = [wants("x", expected_ids=("a",)), wants("y", expected_ids=("b",), tool_call_id="call_y")]
    results = came("ra", ids=("a",), tool_call_id="call_y"), came("rb", ids=("b",), expectation_id="x")
    assert settled(expectations, *results) == {"x": ("rb", FAILED), "y": ("ra", FAILED)}


def test_a_result_under_the_calls_id_is_linked_too() -> None:
    expectations = [wants("x", expected_count=1), wants("y", expected_count=2, tool_call_id="call_y")]
    assert settled(expectations, came("call_y", count=1)) == {"y": ("call_y", FAILED)}


def test_a_link_to_what_is_not_pending_settles_nothing_else() -> None:
    done = wants("done", status=CONFIRMED, tool_call_id="call_1", settled_by="r0")
    expectations = [done, wants("x", expected_count=1)]
    assert settled(expectations, came("r1", count=1, expectation_id="done")) == {}
    assert settled(expectations, came("r1", count=1, tool_call_id="call_1")) == {}
    [told] = settle_results(expectations, [came("r1", count=1, expectation_id="gone")])
    assert verdict_json(told) == {"expectation": None, "note": "gone is not pending in this session."}


def test_a_call_numbered_anew_is_not_taken_for_the_earlier_one() -> None:
    done = wants("done", status=CONFIRMED, tool_call_id="call_1", settled_by="trn_1/0/call_1")
    result = came("call_1", key="trn_2/0/call_1", tool_call_id="call_1", count=1)
    assert settled([done, wants("x", expected_count=1)], result) == {"x": ("call_1", CONFIRMED)}


def test_a_linked_result_with_nothing_to_compare_leaves_it_pending_and_says_so() -> None:
    [told] = settle_results([wants("x", expected_count=1)], [came("r", output="done", expectation_id="x")])
    assert told.status is None
    assert "x, which stays pending" in verdict_json(told)["note"]


def test_an_error_fails_its_expectation_even_without_anything_to_compare() -> None:
    assert settled([wants("x"), wants("y")], came("r", error="quota exceeded", expectation_id="y")) == {
        "y": ("r", FAILED)
    }
    assert settled([wants("x"), wants("y")], came("r", error="quota exceeded")) == {"x": ("r", FAILED)}
    assert settled([wants("x", action="other")], came("r", error="quota exceeded")) == {}


def test_an_error_among_parallel_results_fails_the_one_that_no_other_result_fits() -> None:
    expectations = [wants("x", expected_ids=("a",)), wants("y", expected_ids=("b",))]
    for order in permutations([came("bad", error="timeout"), came("good", ids=("a",))]):
        assert settled(expectations, *order) == {"x": ("good", CONFIRMED), "y": ("bad", FAILED)}


def test_one_result_sent_twice_settles_one() -> None:
    expectations = [wants("x", expected_count=1), wants("y", expected_count=1)]
    assert settled(expectations, came("r", count=1), came("r", count=1)) == {"x": ("r", CONFIRMED)}
    later = [wants("x", status=CONFIRMED, settled_by="r"), wants("y", expected_count=1)]
    assert settled(later, came("r", count=1)) == {}
    assert settled(later, came("r", key="trn_2/0/r", count=1)) == {"y": ("r", CONFIRMED)}


expectations_ = st.lists(
    st.builds(
        StateExpectation,
        id=st.just(""),
        action=st.sampled_from(["make", "list"]),
        expected_outcome=st.just("w"),
        expected_ids=st.none() | st.lists(names, max_size=2).map(tuple),
        expected_count=st.none() | st.integers(0, 2),
        tool_call_id=st.none() | st.sampled_from(["c1", "c2"]),
        status=st.sampled_from([PENDING, PENDING, CONFIRMED]),
    ),
    max_size=5,
).map(lambda some: [wants(f"x{place}", **{**vars(one), "id": f"x{place}"}) for place, one in enumerate(some)])
results_ = st.lists(
    st.builds(
        ToolOutcome,
        id=st.sampled_from(["r1", "r2", "r3", "r4"]),
        action=st.sampled_from(["make", "list"]),
        ids=st.none() | st.lists(names, max_size=2).map(tuple),
        count=st.none() | st.integers(0, 2),
        error=st.none() | st.just("no"),
        expectation_id=st.none() | st.sampled_from(["x0", "x1", "x9"]),
        tool_call_id=st.none() | st.sampled_from(["c1", "c2", "c3"]),
    ),
    max_size=5,
)


@given(expectations_, results_)
def test_each_is_settled_once_at_most_and_only_while_pending(
    expectations: list[StateExpectation], results: list[ToolOutcome]
) -> None:
    made = settle_results(expectations, results)
    assert [one.result.id for one in made] == [result.id for result in results]
    done = [one for one in made if one.status is not None and one.expectation is not None]
    assert max(Counter(one.expectation.id for one in done if one.expectation).values(), default=0) <= 1
    assert max(Counter(result_key(one.result) for one in done).values(), default=0) <= 1
    for one in done:
        assert one.expectation is not None
        assert one.expectation.status is PENDING
        if one.result.expectation_id is not None:
            assert one.expectation.id == one.result.expectation_id
        elif one.expectation.tool_call_id is None:
            assert one.expectation.action == one.result.action


@given(st.lists(st.tuples(names, st.integers(0, 2)), min_size=1, max_size=5), st.randoms())
def test_results_that_all_fit_fail_none_in_any_order(wanted: list[tuple[str, int]], chance: "object") -> None:
    expectations = [wants(f"x{n}", expected_ids=(id_,), expected_count=count) for n, (id_, count) in enumerate(wanted)]
    results = [came(f"r{n}", ids=(id_,), count=count) for n, (id_, count) in enumerate(wanted)]
    chance.shuffle(results)  # type: ignore[attr-defined]
    statuses = [one.status for one in settle_results(expectations, results)]
    assert statuses == [CONFIRMED] * len(wanted)


def test_calls_are_linked_to_the_latest_expectations_of_their_action_in_order() -> None:
    expectations = [wants("old"), wants("x"), wants("y"), wants("other", action="list")]
    linked = delta_from_calls(expectations, [("c1", "make"), ("c2", "make"), ("c3", "search")]).expectations
    assert [(one.id, one.tool_call_id) for one in linked] == [("x", "c1"), ("y", "c2")]


def test_an_action_called_more_often_than_expected_stays_unlinked() -> None:
    assert delta_from_calls([wants("x")], [("c1", "make"), ("c2", "make")]).expectations == ()
