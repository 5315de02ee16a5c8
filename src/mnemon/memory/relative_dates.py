"""Dates in a fact that depend on when it was said: "tomorrow" is a day, which is kept beside the words.

A phrase is resolved against the time of the message in the person's own time zone, once, when the fact is stored. It is
shown as `The deadline is tomorrow (tomorrow: 2026-05-05)`, and as past once the day is over.
"""

import calendar
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from mnemon.evidence.said_dates import find_dates
from mnemon.untrusted_text import reads_outside_text_up_to

LONGEST_DATED = 300
"""Characters of a fact in which dates are looked for."""
MOST_DATES = 4
_DAY_OFFSETS = {
    "the day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "this morning": 0,
    "this afternoon": 0, "this evening": 0, "tomorrow": 1, "the day after tomorrow": 2,
}  # fmt: skip
_WEEKDAYS = [name.lower() for name in calendar.day_name]
_COUNTS = {"a": 1, "an": 1} | {
    word: number
    for number, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)  # noqa: SIM905
}
_COUNT = rf"\d{{1,3}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))}"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_PHRASE = re.compile(
    rf"\b(?:(?P<day>{'|'.join(sorted(_DAY_OFFSETS, key=len, reverse=True))})"
    rf"|(?P<which>last|next|this|coming)\s+(?P<span>week|weekend|month|year|{'|'.join(_WEEKDAYS)})"
    rf"|in\s+(?P<ahead>{_COUNT})\s+{_UNIT}"
    rf"|(?P<back>{_COUNT})\s+{_UNIT.replace('unit', 'unit2')}\s+(?P<way>ago|from now)"
    rf"|(?<!every )(?<!each )(?P<weekday>{'|'.join(_WEEKDAYS)}))\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:was|were|had|did|went|met|got|came|took|bought|saw|\w{3,}ed)\b", re.IGNORECASE)
_DUE = re.compile(r"\b(?:deadline|due|launch(?:es)?|expires?|ends?|starts?|begins?|until)\b", re.IGNORECASE)
_OFFSET = re.compile(r"^(?:utc|gmt)\s?(?P<sign>[+-])(?P<hours>\d{1,2})(?::?(?P<minutes>\d\d))?$", re.IGNORECASE)


class DefaultTimeZone:
    """The time zone of people who have told none; the setting `time_zone`."""

    def __init__(self, name: str = "UTC") -> None:
        """Use the zone of this name."""
        self.zone = zone_called(name) or UTC


def zone_called(name: str) -> tzinfo | None:
    """Return the time zone of this name, such as `Europe/Berlin` or `UTC+2`; None if there is none."""
    text = name.strip()
    if match := _OFFSET.match(text):
        offset = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"] or 0))
        return timezone(-offset if match["sign"] == "-" else offset) if offset < timedelta(hours=24) else None
    try:
        return ZoneInfo(text)
    except (ValueError, OSError, KeyError):
        # ValueError: no name of a zone. OSError: a directory of zones. KeyError: an unknown one.
        return None


@reads_outside_text_up_to(LONGEST_DATED)
def resolve_dates(text: str, said_at: datetime, zone: tzinfo) -> tuple[str, ...]:
    """Return the days that a fact's relative dates mean, each as `tomorrow: 2026-05-05`; of a week, its first and last.

    A date without a year is one of these only where something is due or begins.
    """
    text = text[:LONGEST_DATED]
    today = said_at.astimezone(zone).date()
    is_due = _DUE.search(text) is not None
    is_past = not is_due and _PAST.search(text) is not None
    found = []
    for match in _PHRASE.finditer(text):
        span = _meant_span(match, today, is_past=is_past)
        if span is not None:
            first, last = span
            found.append(f"{match[0]}: {first}" if first == last else f"{match[0]}: {first}/{last}")
    if not found and is_due:
        found = [f"{text[one.start : one.end]}: {day}" for one in find_dates(text) if (day := _due_day(one, today))]
    return tuple(found[:MOST_DATES])


def has_dates(text: str) -> bool:
    """Say whether a fact may have dates that depend on when it was said."""
    return _PHRASE.search(text[:LONGEST_DATED]) is not None or _DUE.search(text[:LONGEST_DATED]) is not None


def _meant_span(match: re.Match[str], today: date, *, is_past: bool) -> tuple[date, date] | None:
    """Return the first and the last day that a phrase means; None beyond the calendar."""
    try:
        if match["day"]:
            day = today + timedelta(days=_DAY_OFFSETS[" ".join(match["day"].lower().split())])
            return day, day
        if match["weekday"]:
            day = _nearest_weekday(today, match["weekday"], -1 if is_past else 1)
            return day, day
        if match["which"]:
            return _named_span(match["which"].lower(), match["span"].lower(), today)
        count = match["ahead"] or match["back"]
        steps = int(count) if count.isdigit() else _COUNTS[count.lower()]
        back = match["way"] is not None and match["way"].lower() == "ago"
        day = _shifted(today, (match["unit"] or match["unit2"]).lower(), -steps if back else steps)
    except (OverflowError, ValueError):
        return None
    return day, day


def _nearest_weekday(today: date, name: str, step: int) -> date:
    """Return the next day of this name after today, or the last one before it."""
    days = (today + timedelta(days=step * number) for number in range(1, 8))
    return next(day for day in days if day.weekday() == _WEEKDAYS.index(name.lower()))


def _named_span(which: str, unit: str, today: date) -> tuple[date, date]:
    """Return the days of "next week", "this month", "last year" or "next Friday"."""
    step = {"last": -1, "this": 0}.get(which, 1)
    if unit in _WEEKDAYS:
        day = _nearest_weekday(today, unit, -1 if step < 0 else 1)
        return day, day
    if unit in ("week", "weekend"):
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
        return (monday + timedelta(days=5) if unit == "weekend" else monday), monday + timedelta(days=6)
    if unit == "month":
        first = _shifted(today.replace(day=1), "month", step)
        return first, first.replace(day=calendar.monthrange(first.year, first.month)[1])
    return date(today.year + step, 1, 1), date(today.year + step, 12, 31)


def _shifted(day: date, unit: str, steps: int) -> date:
    """Return the day so many days, weeks, months or years later; the last of the month if that is shorter."""
    if unit in ("day", "week"):
        return day + timedelta(days=steps * (7 if unit == "week" else 1))
    months = day.year * 12 + day.month - 1 + steps * (12 if unit == "year" else 1)
    year, month = months // 12, months % 12 + 1
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def _due_day(said: object, today: date) -> date | None:
    """Return the day of a date with a day and a month, of this year if none is named; None for any other."""
    year, month, day = (getattr(said, part) for part in ("year", "month", "day"))
    if month is None or day is None:
        return None
    try:
        return date(year or today.year, month, day)
    except ValueError:
        return None


def dates_mark(dates: Sequence[str] | None, now: datetime, zone: tzinfo) -> str:
    """Return what stands behind a fact with dates: the days they mean, and that they are past; empty without any."""
    shown = list(_shown_dates(dates or (), now.astimezone(zone).date()))
    return f" ({'; '.join(shown)})" if shown else ""


def _shown_dates(dates: Sequence[str], today: date) -> Iterator[str]:
    """Yield each date that says more than its words."""
    for one in dates:
        words, _, days = one.rpartition(": ")
        is_past = date.fromisoformat(days.rpartition("/")[2]) < today
        if is_past:
            yield f"{words}: {days}, past"
        elif _PHRASE.search(words):
            yield one
