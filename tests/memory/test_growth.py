from hypothesis import given
from hypothesis import strategies as st

from mnemon.memory.growth import GROWS_AFTER_SESSIONS, grown


def test_three_sessions_are_enough() -> None:
    assert [grown(1, sessions=count) for count in (2, 3, 4)] == [1, 2, 2]


def test_a_fact_that_comes_up_in_enough_sessions_becomes_significant() -> None:
    assert grown(1, sessions=GROWS_AFTER_SESSIONS - 1) == 1
    assert grown(1, sessions=GROWS_AFTER_SESSIONS) == 2


@given(st.integers(0, 3), st.integers(0, 1000))
def test_use_alone_never_makes_a_fact_critical_nor_less_important(importance: int, sessions: int) -> None:
    after = grown(importance, sessions=sessions)
    assert importance <= after <= max(importance, 2)
    assert grown(after, sessions=sessions) == after
