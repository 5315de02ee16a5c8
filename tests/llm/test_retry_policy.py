"""Waiting between tries stays inside its bounds."""

from hypothesis import given
from hypothesis import strategies as st

from mnemon.llm.vendor import RetryPolicy

seconds = st.floats(min_value=0, max_value=1000)
shares = st.floats(min_value=0, max_value=1, exclude_max=True)


@given(st.integers(1, 20), seconds, st.none() | seconds, shares)
def test_a_wait_never_goes_past_what_remains(tried: int, remaining: float, asked: float | None, jitter: float) -> None:
    wait = RetryPolicy().next_delay(tried=tried, remaining=remaining, asked=asked, jitter=jitter)
    assert wait is None or 0 <= wait < remaining


@given(st.integers(4, 50), seconds, shares)
def test_tries_are_counted(tried: int, remaining: float, jitter: float) -> None:
    assert RetryPolicy(tries=4).next_delay(tried=tried, remaining=remaining, asked=None, jitter=jitter) is None


@given(shares, shares)
def test_waits_grow(first: float, second: float) -> None:
    patience = RetryPolicy()
    earlier = patience.next_delay(tried=1, remaining=1000, asked=None, jitter=first)
    later = patience.next_delay(tried=2, remaining=1000, asked=None, jitter=second)
    assert earlier is not None
    assert later is not None
    assert earlier < later


@given(st.floats(min_value=0, max_value=10), shares)
def test_what_the_server_asks_for_is_honoured_exactly(asked: float, jitter: float) -> None:
    assert RetryPolicy().next_delay(tried=1, remaining=11, asked=asked, jitter=jitter) == asked
