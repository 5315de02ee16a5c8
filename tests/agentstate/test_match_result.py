"""Every branch of the matcher: ids, type, count, what both carry, what they do not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.agentstate.state import StateExpectation
from mnemon.agentstate.verification import MatchVerdict, match_result
from mnemon.turn import EntityPatch, ToolOutcome

MATCH, MISMATCH, SKIP = MatchVerdict.MATCH, MatchVerdict.MISMATCH, MatchVerdict.SKIP

Wanted = tuple[tuple[str, ...] | None, str | None, int | None]
Came = tuple[tuple[str, ...] | None, tuple[str, ...] | None, int | None]
CASES: list[tuple[str, Wanted, Came, MatchVerdict]] = [
    # expected_ids, expected_type, expected_count | ids, types, count | verdict
    ("all ids are there", (("a", "b"), None, None), (("b", "c", "a"), None, None), MATCH),
    ("an id is missing", (("a", "b"), None, None), (("a",), None, None), MISMATCH),
    ("the result names no id at all", (("a",), None, None), ((), None, None), MISMATCH),
    ("an empty list of ids expects nothing", ((), None, None), (("a",), None, None), SKIP),
    ("an empty list of ids leaves the count to decide", ((), None, 1), (("a",), None, None), MATCH),
    ("ids are expected, the result has a count alone", (("a",), None, 1), (None, None, 1), MISMATCH),
    ("ids are expected, the result carries none", (("a",), None, None), (None, None, None), SKIP),
    ("no id is expected, the result carries none", ((), None, None), (None, None, None), SKIP),
    ("the type is there", (None, "task", None), (None, ("doc", "task"), None), MATCH),
    ("the type is not there", (None, "task", None), (None, ("doc",), None), MISMATCH),
    ("the result has no type at all", (None, "task", None), (None, (), None), MISMATCH),
    ("a type is expected, the result carries none", (None, "task", None), (None, None, None), SKIP),
    ("the count is equal", (None, None, 2), (None, None, 2), MATCH),
    ("the count is lower", (None, None, 2), (None, None, 1), MISMATCH),
    ("the count is higher", (None, None, 2), (None, None, 3), MISMATCH),
    ("zero is expected and came", (None, None, 0), (None, None, 0), MATCH),
    ("zero is expected and one came", (None, None, 0), (None, None, 1), MISMATCH),
    ("one is expected and zero came", (None, None, 1), (None, None, 0), MISMATCH),
    ("a count is expected, the result carries none", (None, None, 1), (None, None, None), SKIP),
    ("ids alone give the count", (None, None, 2), (("a", "b"), None, None), MATCH),
    ("an id that is named twice counts once", (None, None, 2), (("a", "a"), None, None), MISMATCH),
    ("a count that is given outweighs the ids", (None, None, 2), (("a", "b"), None, 3), MISMATCH),
    ("ids are not inferred from types", (("a",), None, None), (None, ("a",), None), MISMATCH),
    ("all three hold", (("a",), "task", 1), (("a",), ("task",), 1), MATCH),
    ("ids hold, the type does not", (("a",), "task", None), (("a",), ("doc",), None), MISMATCH),
    ("ids hold, the count does not", (("a",), None, 1), (("a",), None, 2), MISMATCH),
    ("the type holds, the count does not", (None, "task", 1), (None, ("task",), 0), MISMATCH),
    ("only the shared field decides: it holds", (None, "task", 1), (None, ("task",), None), MATCH),
    ("only the shared field decides: it fails", (None, "task", 1), (None, None, 2), MISMATCH),
    ("nothing structured is expected", (None, None, None), (("a",), ("task",), 1), SKIP),
    ("neither is structured", (None, None, None), (None, None, None), SKIP),
]


@pytest.mark.parametrize(("expected", "came", "verdict"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_verdict(expected: Wanted, came: Came, verdict: MatchVerdict) -> None:
    ids, type_, count = expected
    got_ids, got_types, got_count = came
    expectation = StateExpectation(
        id="exp", action="do", expected_outcome="words", expected_ids=ids, expected_type=type_, expected_count=count
    )
    result = ToolOutcome(id="res", action="do", ids=got_ids, types=got_types, count=got_count)
    assert match_result(expectation, result) is verdict


names = st.sampled_from("abc")
lists = st.none() | st.lists(names, max_size=3).map(tuple)
counts = st.none() | st.integers(0, 2)


@given(lists, st.none() | names, counts, lists, lists, counts)
def test_verdict_is_match_exactly_when_every_shared_field_holds(
    ids: tuple[str, ...] | None,
    type_: str | None,
    count: int | None,
    got_ids: tuple[str, ...] | None,
    got_types: tuple[str, ...] | None,
    got_count: int | None,
) -> None:
    amount = len(set(got_ids)) if got_count is None and got_ids is not None else got_count
    shared = []
    if ids and (got_ids is not None or got_types is not None or got_count is not None):
        shared.append(got_ids is not None and all(i in got_ids for i in ids))
    if type_ is not None and got_types is not None:
        shared.append(any(type_ == t for t in got_types))
    if count is not None and amount is not None:
        shared.append(count == amount)
    expectation = StateExpectation(
        id="e", action="do", expected_outcome="w", expected_ids=ids, expected_type=type_, expected_count=count
    )
    verdict = match_result(expectation, ToolOutcome(id="r", action="do", ids=got_ids, types=got_types, count=got_count))
    assert verdict is (SKIP if not shared else MATCH if False not in shared else MISMATCH)


@given(st.text(), st.one_of(st.none(), st.text(), st.lists(st.text())))
def test_words_are_never_compared(outcome: str, output: str | list[str] | None) -> None:
    expectation = StateExpectation(id="e", action="do", expected_outcome=outcome)
    assert match_result(expectation, ToolOutcome(id="r", action="do", count=1, output=output)) is SKIP


TASKS = (EntityPatch(id="t1", kind="task"), EntityPatch(id="t2", kind="task"))


@pytest.mark.parametrize(
    ("expected", "entities", "verdict"),
    [
        ({"expected_count": 2}, TASKS, MATCH),
        ({"expected_count": 1}, TASKS, MISMATCH),
        ({"expected_type": "task"}, TASKS, MATCH),
        ({"expected_type": "doc"}, TASKS, MISMATCH),
        ({"expected_ids": ("t2",)}, TASKS, MATCH),
        ({"expected_ids": ("t3",)}, TASKS, MISMATCH),
        ({"expected_type": "task", "expected_count": 2}, (*TASKS, EntityPatch(id="p", kind="project")), MATCH),
        ({"expected_count": 2}, (*TASKS, EntityPatch(id="p", kind="project")), MISMATCH),
        ({"expected_count": 2}, (*TASKS, TASKS[0]), MATCH),
    ],
)
def test_entities_alone_stand_for_ids_types_and_a_count(
    expected: dict[str, Any], entities: tuple[EntityPatch, ...], verdict: MatchVerdict
) -> None:
    expectation = StateExpectation(id="e", action="do", expected_outcome="words", **expected)
    assert match_result(expectation, ToolOutcome(id="r", action="do", entities=entities)) is verdict


@given(lists, st.none() | names, counts, lists, lists, counts)
def test_an_error_is_a_mismatch_whatever_else_the_result_says(
    ids: tuple[str, ...] | None,
    type_: str | None,
    count: int | None,
    got_ids: tuple[str, ...] | None,
    got_types: tuple[str, ...] | None,
    got_count: int | None,
) -> None:
    expectation = StateExpectation(
        id="e", action="do", expected_outcome="w", expected_ids=ids, expected_type=type_, expected_count=count
    )
    result = ToolOutcome(id="r", action="do", ids=got_ids, types=got_types, count=got_count, error="no quota")
    assert match_result(expectation, result) is MISMATCH
