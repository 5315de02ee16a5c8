"""Which invariants can be checked, and what a result makes of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.agentstate.invariant import (
    LONGEST_INVARIANT,
    ComparableResult,
    InvariantCheck,
    check_invariant,
    is_checkable,
    parse_invariant,
)
from mnemon.agentstate.state import StateExpectation
from mnemon.agentstate.verification import MatchVerdict, compare_result
from mnemon.turn import ToolOutcome

HELD, BROKEN, UNCHECKED = InvariantCheck


def result(ids: set[str] | None = None, count: int | None = None, output: Any = None) -> ComparableResult:
    return ComparableResult(ids=None if ids is None else frozenset(ids), count=count, output=output)


@pytest.mark.parametrize(
    ("invariant", "given_", "check"),
    [
        ("count >= 2", result(count=2), HELD),
        ("count ≥ 2", result(count=1), BROKEN),
        ("Count > 2", result(count=2), BROKEN),
        ("count < 2", result(count=1), HELD),
        ("count ≤ 2", result(count=3), BROKEN),
        ("count = 2", result(count=2), HELD),
        ("count==2", result(count=3), BROKEN),
        ("count != 0", result(count=0), BROKEN),
        ("count >= 2", result(ids={"a"}), UNCHECKED),
        ("status = done", result(output={"status": "done"}), HELD),
        ('status == "all done"', result(output={"status": "all done"}), HELD),
        ("status = done", result(output={"status": "open"}), BROKEN),
        ("output.job.state = 'ok'", result(output={"job": {"state": "ok"}}), HELD),
        ("dry_run = false", result(output={"dry_run": False}), HELD),
        ("dry_run = 0", result(output={"dry_run": False}), BROKEN),
        ("left != 0", result(output={"left": 3}), HELD),
        ("left = 3", result(output={"left": "3"}), BROKEN),
        ("status = done", result(output="done"), UNCHECKED),
        ("status = done", result(output={}), UNCHECKED),
        ("a.b = 1", result(output={"a": [1]}), UNCHECKED),
        ("ids subset of [t1, t2]", result(ids={"t1"}), HELD),
        ("ids ⊆ t1, t2", result(ids={"t3"}), BROKEN),
        ("ids in ['t1', \"t2\"]", result(ids={"t1", "t2"}), HELD),
        ("ids in t1", result(ids=set()), HELD),
        ("ids in t1", result(count=1), UNCHECKED),
        ("count >= 1 and status = done", result(count=1, output={"status": "done"}), HELD),
        ("count >= 1; status = done", result(count=1, output={"status": "open"}), BROKEN),
        ("count >= 1; status = done", result(count=0), BROKEN),
        ("count >= 1; status = done", result(count=1), UNCHECKED),
        ("no task is deleted", result(ids={"t1"}, count=1, output={}), UNCHECKED),
        ("count >= 1 and nobody is told", result(count=0), UNCHECKED),
        ("status = done and dusted", result(output={"status": "done"}), UNCHECKED),
        ("total = the sum of the lines", result(output={"total": 1}), UNCHECKED),
        (None, result(count=1), UNCHECKED),
    ],
)
def test_an_invariant_is_checked(invariant: str | None, given_: ComparableResult, check: InvariantCheck) -> None:
    assert check_invariant(invariant, given_) is check


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_counts_compare_as_numbers_do(wanted: int, came: int) -> None:
    for operator, holds in (("<", came < wanted), (">=", came >= wanted), ("=", came == wanted)):
        check = check_invariant(f"count {operator} {wanted}", result(count=came))
        assert check is (HELD if holds else BROKEN)


@given(st.text(max_size=400))
def test_any_text_is_read_or_left_as_free_text(text: str) -> None:
    assert is_checkable(text) is bool(parse_invariant(text))
    assert check_invariant(text, result()) is UNCHECKED


def test_a_long_text_is_free_text() -> None:
    assert not is_checkable("count = 1 and " * LONGEST_INVARIANT + "count = 1")


def test_a_broken_invariant_fails_an_expectation_that_holds_otherwise_and_a_held_one_alone_confirms() -> None:
    expectation = StateExpectation(
        id="e", action="do", expected_outcome="w", expected_count=2, invariant="ids subset of t1, t2"
    )
    broken = compare_result(expectation, ToolOutcome(id="r", action="do", ids=("t1", "t9")))
    assert (broken.verdict, broken.invariant) == (MatchVerdict.MISMATCH, BROKEN)
    alone = StateExpectation(id="e", action="do", expected_outcome="w", invariant="count >= 1")
    held = compare_result(alone, ToolOutcome(id="r", action="do", count=4))
    assert (held.verdict, held.invariant) == (MatchVerdict.MATCH, HELD)


def test_free_text_decides_nothing() -> None:
    expectation = StateExpectation(id="e", action="do", expected_outcome="w", invariant="nothing else changes")
    free = compare_result(expectation, ToolOutcome(id="r", action="do", count=4))
    assert (free.verdict, free.invariant) == (MatchVerdict.SKIP, UNCHECKED)
