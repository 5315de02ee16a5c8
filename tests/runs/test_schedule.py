"""Slots of a cron expression: each once, one catch-up, nothing invented."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.errors import Invalid
from mnemon.runs.schedule import check_cron, due_slot, next_slot

T0 = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOURLY = "0 * * * *"


@pytest.mark.parametrize("bad", ["", "hourly", "61 * * * *", "* * * *", "* * * * * *", "0 0 31 2 *", "@daily"])
def test_a_schedule_that_is_no_cron_is_refused_with_the_reason(bad: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_cron(bad)
    assert caught.value.faults[0].pointer == "/schedule"


@pytest.mark.parametrize(
    ("good", "following"),
    [
        (HOURLY, T0 + timedelta(hours=1)),
        ("*/5 9-17 * * MON-FRI", datetime(2026, 3, 2, 9, 0, tzinfo=UTC)),
        ("0 0 29 2 *", datetime(2028, 2, 29, tzinfo=UTC)),
    ],
)
def test_a_cron_expression_is_taken_and_means_what_it_says(good: str, following: datetime) -> None:
    check_cron(good)
    assert next_slot(good, T0) == following


def test_a_slot_that_is_not_due_yet_waits() -> None:
    found = due_slot(HOURLY, waiting_for=T0, now=T0 - timedelta(seconds=1))
    assert (found.slot, found.skipped, found.next_slot) == (None, 0, T0)


def test_a_slot_fires_at_its_time_and_the_next_is_an_hour_later() -> None:
    found = due_slot(HOURLY, waiting_for=T0, now=T0)
    assert (found.slot, found.skipped, found.next_slot) == (T0, 0, T0 + timedelta(hours=1))


def test_missed_slots_become_one_catch_up_for_the_latest() -> None:
    found = due_slot(HOURLY, waiting_for=T0, now=T0 + timedelta(hours=5, minutes=30))
    assert found.slot == T0 + timedelta(hours=5)
    assert found.skipped == 5
    assert found.next_slot == T0 + timedelta(hours=6)


def test_a_minutely_agent_that_was_away_for_a_year_still_catches_up_once() -> None:
    now = T0 + timedelta(days=365, seconds=30)
    found = due_slot("* * * * *", waiting_for=T0, now=now)
    assert found.slot == T0 + timedelta(days=365)
    assert found.skipped == 10_000
    assert found.next_slot == T0 + timedelta(days=365, minutes=1)


@pytest.mark.parametrize(("late_us", "slots"), [(-1, 19_999), (0, 20_000), (1, 20_000), (59_999_999, 20_000)])
def test_a_long_absence_ends_at_the_last_slot_that_is_due_and_never_at_one_to_come(late_us: int, slots: int) -> None:
    now = T0 + timedelta(minutes=20_000, microseconds=late_us)
    found = due_slot("* * * * *", waiting_for=T0, now=now)
    assert found.slot == T0 + timedelta(minutes=slots)
    assert found.next_slot == T0 + timedelta(minutes=slots + 1)


@given(st.lists(st.integers(min_value=1, max_value=7200), max_size=60))
def test_however_the_clock_moves_no_slot_fires_twice_or_out_of_order(steps: list[int]) -> None:
    waiting, now, fired = T0, T0 - timedelta(hours=1), []
    for step in steps:
        now += timedelta(seconds=step)
        found = due_slot("*/15 * * * *", waiting_for=waiting, now=now)
        if found.slot is not None:
            fired.append(found.slot)
            assert found.slot <= now
        assert found.next_slot is not None
        assert found.next_slot > now or found.next_slot == waiting
        waiting = found.next_slot
    assert fired == sorted(set(fired))


def test_slots_are_in_utc() -> None:
    assert next_slot("0 0 * * *", T0) == datetime(2026, 3, 2, tzinfo=UTC)
