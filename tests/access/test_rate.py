"""The rate limit by a clock the test moves: what is let through, what is refused, and how honest the wait is."""

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.access import rate
from mnemon.access.rate import RateLimit
from mnemon.errors import RateLimited

SECOND = 1_000_000_000
MINUTE = 60 * SECOND


class Ticks:
    """A clock that counts nanoseconds and moves only when it is told to."""

    def __init__(self, start: int = 0) -> None:
        self.now = start

    def __call__(self) -> int:
        return self.now


def may(limit: RateLimit, caller: str = "key_1", org: str = "acme") -> bool:
    """Whether one more request is let through."""
    try:
        limit.count_request(org, caller)
    except RateLimited:
        return False
    return True


def wait_of(limit: RateLimit, caller: str = "key_1") -> int:
    """The wait a refused request is told."""
    with pytest.raises(RateLimited) as caught:
        limit.count_request("acme", caller)
    return caught.value.retry_after


def test_a_full_bucket_serves_a_minutes_worth_at_once_and_no_more() -> None:
    limit = RateLimit(3, Ticks())
    assert [may(limit) for _ in range(5)] == [True, True, True, False, False]


def test_an_empty_bucket_fills_evenly_over_a_minute() -> None:
    ticks = Ticks()
    limit = RateLimit(3, ticks)
    for _ in range(3):
        assert may(limit)
    ticks.now = 20 * SECOND - 1
    assert not may(limit)
    ticks.now = 20 * SECOND
    assert [may(limit), may(limit)] == [True, False]
    ticks.now = 60 * SECOND
    assert [may(limit), may(limit), may(limit)] == [True, True, False]


def test_a_long_rest_saves_up_one_minutes_worth_only() -> None:
    ticks = Ticks()
    limit = RateLimit(2, ticks)
    assert may(limit)
    ticks.now = 60 * MINUTE
    assert [may(limit) for _ in range(3)] == [True, True, False]


def test_a_refused_request_costs_nothing() -> None:
    ticks = Ticks()
    limit = RateLimit(1, ticks)
    assert may(limit)
    for second in range(60):
        ticks.now = second * SECOND
        assert not may(limit)
    ticks.now = 60 * SECOND
    assert may(limit)


def test_callers_are_counted_apart_and_so_are_organizations() -> None:
    limit = RateLimit(1, Ticks())
    assert may(limit, "key_1")
    assert may(limit, "key_2")
    assert may(limit, "key_1", org="globex")
    assert not may(limit, "key_1")
    assert not may(limit, "key_2")


def test_no_limit_is_no_limit() -> None:
    limit = RateLimit(0, Ticks())
    assert all(may(limit) for _ in range(10_000))


def test_the_refusal_says_the_limit_and_the_wait() -> None:
    limit = RateLimit(4, Ticks())
    for _ in range(4):
        assert may(limit)
    with pytest.raises(RateLimited, match=r"More than 4 requests a minute with this key\. Wait 15 s and try again\."):
        limit.count_request("acme", "key_1")
    assert wait_of(limit) == 15


def test_the_wait_is_rounded_up_to_whole_seconds() -> None:
    ticks = Ticks()
    limit = RateLimit(50, ticks)  # one request is free every 1.2 s
    for _ in range(50):
        assert may(limit)
    assert wait_of(limit) == 2
    ticks.now = SECOND
    assert not may(limit)
    ticks.now = 2 * SECOND
    assert may(limit)


def test_only_the_callers_that_were_away_longest_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "_MAX_CALLERS", 2)
    limit = RateLimit(1, Ticks())
    assert may(limit, "key_1")
    assert may(limit, "key_2")
    assert not may(limit, "key_1")  # asking, even in vain, keeps its bucket
    assert may(limit, "key_3")
    assert not may(limit, "key_1")
    assert not may(limit, "key_3")
    assert may(limit, "key_2")


limits = st.integers(1, 500)
steps = st.lists(st.integers(0, 90 * SECOND), min_size=1, max_size=120)


def accepted_at(per_minute: int, pauses: Sequence[int], start: int) -> list[int]:
    """When requests were let through that came after these pauses."""
    ticks = Ticks(start)
    limit = RateLimit(per_minute, ticks)
    taken = []
    for pause in pauses:
        ticks.now += pause
        if may(limit):
            taken.append(ticks.now)
    return taken


@given(per_minute=st.integers(1, 20), pauses=steps, start=st.integers(0, 10**18))
def test_no_window_lets_more_through_than_a_full_bucket_and_what_it_gained(
    per_minute: int, pauses: list[int], start: int
) -> None:
    taken = accepted_at(per_minute, pauses, start)
    for first, begun in enumerate(taken):
        for last in range(first, len(taken)):
            gained = Fraction((taken[last] - begun) * per_minute, MINUTE)
            assert last - first + 1 <= per_minute + gained


@given(per_minute=limits, pauses=steps, start=st.integers(0, 10**18))
def test_waiting_as_long_as_told_always_suffices_and_a_second_less_never_does(
    per_minute: int, pauses: list[int], start: int
) -> None:
    ticks = Ticks(start)
    limit = RateLimit(per_minute, ticks)
    for pause in pauses:
        ticks.now += pause
        while may(limit):
            pass
        refused_at, wait = ticks.now, wait_of(limit)
        assert 1 <= wait <= 60
        ticks.now = refused_at + (wait - 1) * SECOND
        assert not may(limit)
        ticks.now = refused_at + wait * SECOND
        assert may(limit)


@given(per_minute=limits, pause=st.integers(0, 3 * MINUTE))
def test_an_emptied_bucket_has_gained_its_even_share_and_never_more_than_it_holds(per_minute: int, pause: int) -> None:
    ticks = Ticks()
    limit = RateLimit(per_minute, ticks)
    while may(limit):
        pass
    ticks.now = pause
    served = 0
    while may(limit):
        served += 1
    assert served == min(per_minute, pause * per_minute // MINUTE)
