"""Sessions end after thirty minutes of silence, and which message belongs where depends on its time alone."""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from mnemon.sessions.boundary import (
    BeginSession,
    ContinueSession,
    SessionBoundary,
    ending_by_request,
    has_ended,
    place_message,
)
from mnemon.sessions.session import EndedBy, Session

START = datetime(2026, 5, 1, 9, tzinfo=UTC)
RULES = SessionBoundary()


def session(name: str, start: int, last: int, ended: int | None = None) -> Session:
    at = [START + timedelta(minutes=minute) for minute in (start, last)]
    return Session(
        id=name,
        persona_id=None,
        started_at=at[0],
        last_activity_at=at[1],
        ended_at=None if ended is None else START + timedelta(minutes=ended),
        ended_by=None if ended is None else EndedBy.REQUEST,
        turn_count=1,
        resumed_from=None,
    )


def minute(number: float) -> datetime:
    return START + timedelta(minutes=number)


def test_a_message_within_thirty_minutes_continues_the_session() -> None:
    running = session("s1", 0, 5)
    assert place_message(minute(34.9), [running], RULES) == ContinueSession(session=running)


def test_a_message_after_thirty_minutes_begins_a_session_that_takes_up_the_last() -> None:
    assert place_message(minute(35), [session("s1", 0, 5)], RULES) == BeginSession(resumed_from="s1", carries_from="s1")


def test_after_six_hours_nothing_is_taken_up() -> None:
    ended_at = 30
    assert place_message(minute(ended_at + 360), [session("s1", 0, 0)], RULES) == BeginSession(
        resumed_from="s1", carries_from="s1"
    )
    assert place_message(minute(ended_at + 360.1), [session("s1", 0, 0)], RULES) == BeginSession(resumed_from=None)


def test_a_closed_session_takes_no_later_message() -> None:
    assert place_message(minute(6), [session("s1", 0, 5, ended=6)], RULES) == BeginSession(
        resumed_from="s1", carries_from="s1"
    )


def test_a_named_session_that_ended_long_ago_is_taken_up_all_the_same() -> None:
    old = session("s1", 0, 5)
    assert place_message(minute(100_000), [], RULES, named=old) == BeginSession(resumed_from="s1")
    assert place_message(minute(6), [], RULES, named=old) == ContinueSession(session=old)


def test_a_message_loaded_late_goes_into_the_session_of_its_time() -> None:
    early, late = session("s1", 0, 5), session("s2", 600, 610)
    assert place_message(minute(10), [early, late], RULES) == ContinueSession(session=early)
    assert place_message(minute(300), [early, late], RULES) == BeginSession(resumed_from="s1", carries_from="s1")


def test_closing_a_session_that_went_stale_before_says_when_it_really_ended() -> None:
    assert ending_by_request(session("s1", 0, 5), minute(90), RULES) == (minute(35), EndedBy.IDLE)
    assert ending_by_request(session("s1", 0, 5), minute(20), RULES) == (minute(20), EndedBy.REQUEST)


def test_a_session_ends_at_the_very_minute() -> None:
    running = session("s1", 0, 5)
    assert [has_ended(running, minute(at), RULES) for at in (34.9, 35, 35.1)] == [False, True, True]
    assert ending_by_request(running, minute(35), RULES) == (minute(35), EndedBy.IDLE)
    assert place_message(minute(35), [], RULES, named=running) == BeginSession(resumed_from="s1", carries_from="s1")


def test_a_message_loaded_late_may_lead_a_session_by_less_than_thirty_minutes() -> None:
    running = session("s1", 100, 110)
    assert place_message(minute(70.1), [running], RULES) == ContinueSession(session=running)
    assert place_message(minute(70), [running], RULES) == BeginSession(resumed_from=None)


def test_of_several_sessions_the_newest_is_meant() -> None:
    older, newer = session("s1", 0, 10), session("s2", 5, 12)
    for known in ([older, newer], [newer, older]):
        assert place_message(minute(11), known, RULES) == ContinueSession(session=newer)
        assert place_message(minute(100), known, RULES) == BeginSession(resumed_from="s2", carries_from="s2")
    twin = session("s3", 5, 12)
    assert place_message(minute(11), [twin, newer], RULES) == ContinueSession(session=twin)


def played(minutes: Sequence[int]) -> list[Session]:
    known: list[Session] = []
    for number, at in enumerate(minutes):
        placed = place_message(minute(at), known, RULES)
        if isinstance(placed, ContinueSession):
            old = placed.session
            known.remove(old)
            begin = min(old.started_at, minute(at))
            known.append(
                session(
                    old.id,
                    int((begin - START).total_seconds() // 60),
                    max(at, int((old.last_activity_at - START).total_seconds() // 60)),
                )
            )
        else:
            known.append(session(f"s{number}", at, at))
    return known


@given(st.lists(st.integers(min_value=0, max_value=3000), max_size=30).map(sorted))
def test_in_order_sessions_are_the_stretches_without_a_long_silence(minutes: list[int]) -> None:
    gaps = sum(1 for before, after in itertools.pairwise(minutes) if after - before >= 30)
    assert len(played(minutes)) == (gaps + 1 if minutes else 0)


@given(st.permutations(list(range(0, 30, 3))))
def test_messages_of_one_half_hour_make_one_session_in_any_order(minutes: list[int]) -> None:
    assert len(played(minutes)) == 1


@given(st.integers(min_value=0, max_value=10_000))
def test_a_session_is_over_from_thirty_minutes_on(after: int) -> None:
    assert has_ended(session("s1", 0, 0), minute(after), RULES) == (after >= 30)
