from hypothesis import given
from hypothesis import strategies as st

from mnemon.memory.importance import SESSIONS_UNTIL_SIGNIFICANT, importance_after_use


def test_three_sessions_are_enough() -> None:
    assert [importance_after_use(1, sessions=count) for count in (2, 3, 4)] == [1, 2, 2]


def test_a_fact_that_comes_up_in_enough_sessions_becomes_significant() -> None:
    assert importance_after_use(1, sessions=SESSIONS_UNTIL_SIGNIFICANT - 1) == 1
    assert importance_after_use(1, sessions=SESSIONS_UNTIL_SIGNIFICANT) == 2


@given(st.integers(0, 3), st.integers(0, 1000))
def test_use_alone_never_makes_a_fact_critical_nor_less_important(importance: int, sessions: int) -> None:
    after = importance_after_use(importance, sessions=sessions)
    assert importance <= after <= max(importance, 2)
    assert importance_after_use(after, sessions=sessions) == after
