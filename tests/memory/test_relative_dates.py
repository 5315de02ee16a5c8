"""What relative dates mean: in the person's time zone, at the time of the message, and as past once they are over."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.memory.relative_dates import dates_mark, resolve_dates, zone_called

MONDAY = datetime(2026, 5, 4, 15, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("The deadline is tomorrow", ("tomorrow: 2026-05-05",)),
        ("The exam is the day after tomorrow", ("the day after tomorrow: 2026-05-06",)),
        ("The rent is due on Friday", ("Friday: 2026-05-08",)),
        ("The rent is due next Friday", ("next Friday: 2026-05-08",)),
        ("We met on Friday", ("Friday: 2026-05-01",)),
        ("Rex died last week", ("last week: 2026-04-27/2026-05-03",)),
        ("The launch is next month", ("next month: 2026-06-01/2026-06-30",)),
        ("The lease ends in three weeks", ("in three weeks: 2026-05-25",)),
        ("Moved here two years ago", ("two years ago: 2024-05-04",)),
        ("The deadline is May 8", ("May 8: 2026-05-08",)),
        ("The deadline is May 8, 2027", ("May 8, 2027: 2027-05-08",)),
        ("Plays tennis every Friday", ()),
        ("Plays tennis on Fridays", ()),
        ("My birthday is May 8", ()),
        ("Lives in Austin", ()),
    ],
)
def test_a_phrase_means_days(text: str, dates: tuple[str, ...]) -> None:
    assert resolve_dates(text, MONDAY, UTC) == dates


@pytest.mark.parametrize(
    ("zone", "day"), [("Pacific/Auckland", "2026-05-06"), ("UTC+9", "2026-05-06"), ("America/New_York", "2026-05-05")]
)
def test_the_day_is_that_of_the_persons_zone(zone: str, day: str) -> None:
    place = zone_called(zone)
    assert place is not None
    assert resolve_dates("It is due tomorrow", MONDAY, place) == (f"tomorrow: {day}",)


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "Europe", "UTC+99", "a\0b"])
def test_what_is_no_zone_is_none(name: str) -> None:
    assert zone_called(name) is None


def test_a_day_that_is_over_reads_as_past() -> None:
    dates = resolve_dates("The deadline is tomorrow", MONDAY, UTC)
    assert dates_mark(dates, MONDAY + timedelta(days=1), UTC) == " (tomorrow: 2026-05-05)"
    assert dates_mark(dates, MONDAY + timedelta(days=2), UTC) == " (tomorrow: 2026-05-05, past)"
    named = resolve_dates("The deadline is May 8", MONDAY, UTC)
    assert dates_mark(named, MONDAY, UTC) == ""
    assert dates_mark(named, MONDAY + timedelta(days=9), UTC) == " (May 8: 2026-05-08, past)"


@given(st.text(max_size=300), st.datetimes(timezones=st.just(UTC)))
def test_no_text_and_no_time_fails(text: str, at: datetime) -> None:
    dates_mark(resolve_dates(text, at, UTC), at, UTC)
