"""Trades end by the first touch of a level, by expiry, or not at all; gaps are touches and ties go to the stop."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.runs.card import load_cards
from mnemon.runs.card_filling import fill_card
from mnemon.runs.resolution import Position, Price, initial_status, is_right, position_of, resolve_position
from mnemon.runs.run import ResolutionStatus

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
TRADE = load_cards()["trade-decision"]


def position(side: str, expires: int | None = None) -> Position:
    """A trade at 100: long aims at 110 and stops at 95, short aims at 90 and stops at 105."""
    return Position(
        symbol="X",
        side="long" if side == "long" else "short",
        take_profit=110 if side == "long" else 90,
        stop_loss=95 if side == "long" else 105,
        opened_at=T0,
        expires_at=T0 + timedelta(minutes=expires) if expires is not None else None,
    )


def at(minute: int, price: float, low: float | None = None, high: float | None = None) -> Price:
    return Price(symbol="X", price=price, at=T0 + timedelta(minutes=minute), low=low, high=high)


CASES = [
    ("long", [at(1, 100), at(2, 109.99)], None),
    ("long", [at(1, 110)], "take_profit"),
    ("long", [at(1, 95)], "stop_loss"),
    ("long", [at(1, 100), at(2, 130)], "take_profit"),
    ("long", [at(1, 100), at(2, 40)], "stop_loss"),
    ("long", [at(1, 40), at(2, 130)], "stop_loss"),
    ("long", [at(1, 130), at(2, 40)], "take_profit"),
    ("long", [at(2, 40), at(1, 130)], "take_profit"),
    ("long", [at(1, 130), at(1, 40)], "stop_loss"),
    ("long", [at(1, 100, low=90, high=120)], "stop_loss"),
    ("long", [at(1, 100, low=96, high=120)], "take_profit"),
    ("long", [at(-1, 40), at(1, 100)], None),
    ("short", [at(1, 100), at(2, 104.99)], None),
    ("short", [at(1, 90)], "take_profit"),
    ("short", [at(1, 105)], "stop_loss"),
    ("short", [at(1, 100), at(2, 40)], "take_profit"),
    ("short", [at(1, 100), at(2, 130)], "stop_loss"),
    ("short", [at(1, 130), at(2, 40)], "stop_loss"),
    ("short", [at(1, 40), at(1, 130)], "stop_loss"),
    ("short", [at(1, 100, low=80, high=120)], "stop_loss"),
]


@pytest.mark.parametrize(("side", "prices", "outcome"), CASES)
def test_the_first_touch_decides(side: str, prices: list[Price], outcome: str | None) -> None:
    ended = resolve_position(position(side), prices, now=T0 + timedelta(hours=1))
    assert (ended.outcome if ended else None) == outcome
    if ended:
        assert ended.status is ResolutionStatus.RESOLVED


def test_both_levels_in_one_bar_say_so() -> None:
    ended = resolve_position(position("long"), [at(1, 100, low=90, high=120)], now=T0)
    assert ended is not None
    assert "both levels" in ended.note


def test_past_its_expiry_a_trade_expires() -> None:
    assert resolve_position(position("long", expires=10), [], now=T0 + timedelta(minutes=10)) is None
    ended = resolve_position(position("long", expires=10), [], now=T0 + timedelta(minutes=11))
    assert ended is not None
    assert ended.status is ResolutionStatus.EXPIRED
    assert ended.at == T0 + timedelta(minutes=10)


def test_a_touch_after_the_expiry_does_not_count_and_one_before_it_does() -> None:
    late = resolve_position(position("long", expires=10), [at(11, 130)], now=T0 + timedelta(minutes=12))
    assert late is not None
    assert late.outcome == "expired"
    known_late = resolve_position(position("long", expires=10), [at(9, 130)], now=T0 + timedelta(minutes=12))
    assert known_late is not None
    assert known_late.outcome == "take_profit"


def test_another_market_changes_nothing() -> None:
    other = Price(symbol="Y", price=1, at=T0)
    assert resolve_position(position("long"), [other], now=T0) is None


def test_waiting_is_no_position() -> None:
    wait = fill_card(TRADE, {"symbol": "X", "action": "WAIT", "summary": "range", "confidence": 0.5})
    assert position_of(TRADE, wait, T0) is None
    assert initial_status(TRADE, wait) is None


def test_outcomes_judge_the_decision() -> None:
    assert is_right(TRADE, "take_profit") is True
    assert is_right(TRADE, "stop_loss") is False
    assert is_right(TRADE, "Win") is True
    assert is_right(TRADE, "exited") is None
    assert is_right(TRADE, "expired") is None


TICKS = st.lists(st.builds(at, st.integers(0, 20), st.floats(min_value=50, max_value=150)), max_size=12)


@given(TICKS, st.sampled_from(["long", "short"]))
def test_the_order_of_arrival_does_not_matter(prices: list[Price], side: str) -> None:
    forward = resolve_position(position(side), prices, now=T0)
    backward = resolve_position(position(side), prices[::-1], now=T0)
    assert (forward and (forward.outcome, forward.at)) == (backward and (backward.outcome, backward.at))


@given(TICKS, TICKS, st.sampled_from(["long", "short"]))
def test_later_prices_never_change_a_resolution(early: list[Price], late: list[Price], side: str) -> None:
    ended = resolve_position(position(side), early, now=T0)
    if ended is None:
        return
    after = [Price(symbol="X", price=price.price, at=price.at + timedelta(hours=1)) for price in late]
    again = resolve_position(position(side), [*early, *after], now=T0)
    assert again == ended
