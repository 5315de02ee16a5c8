"""Dates and clock times of a text, and whether a quote supports those of a statement.

A quote supports a date that it names, or one that follows from it and the time it was said: "on Friday", "two weeks
ago", "next month". A statement may be less precise than its quote, never more precise.
"""

import calendar
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from mnemon.evidence.numeral import UNIT_WORDS
from mnemon.untrusted_text import reads_outside_text_up_to

LONGEST_READ = 4_000
_MONTHS = [name.lower() for name in calendar.month_name[1:]]
_MONTH = "|".join(rf"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS) + "|sept"
_DAYS = [name.lower() for name in calendar.day_name]
_COUNTS = {**UNIT_WORDS, "a": 1, "an": 1, "couple": 2}
_LATEST_SHORT_YEAR = 49
"""The last two digits of a year up to which '26 means this century."""
_SEASONS = {"spring": (3, 5), "summer": (6, 8), "autumn": (9, 11), "fall": (9, 11), "winter": (12, 2)}

_ISO = re.compile(r"\b(?P<y>(?:19|20)\d\d)-(?P<m>\d\d)(?:-(?P<d>\d\d))?\b")
_NUMERIC = re.compile(r"\b(?P<a>\d{1,2})[./](?P<b>\d{1,2})[./](?P<y>(?:19|20)\d\d)\b")
# "May" and "Mar" are words too, so a month is a capital or stands beside a number.
_DAY_MONTH = re.compile(
    rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+(?P<m>{_MONTH})\b\.?(?:,?\s+(?P<y>(?:19|20)\d\d))?", re.IGNORECASE
)
_MONTH_DAY = re.compile(
    rf"\b(?P<m>{_MONTH})\b\.?\s+(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s?(?:%|:))(?:,?\s+(?P<y>(?:19|20)\d\d))?",
    re.IGNORECASE,
)
_DAYS_MONTH = re.compile(
    rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s?(?:-|–|—|to|until|and|through)\s?(?:the\s)?(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"(?:\s+of)?\s+(?P<m>{_MONTH})\b\.?(?:,?\s+(?P<y>(?:19|20)\d\d))?",
    re.IGNORECASE,
)
_MONTH_DAYS = re.compile(
    rf"\b(?P<m>{_MONTH})\b\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s?(?:-|–|—|to|until|and)\s?(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?"
    r"\b(?!\s?(?:%|:))(?:,?\s+(?P<y>(?:19|20)\d\d))?",
    re.IGNORECASE,
)
_DAY_ALONE = re.compile(
    r"\bthe\s+(?P<d>\d{1,2})(?:st|nd|rd|th)\b(?!\s+(?:birthday|floor|century|time|place|anniversary|of))", re.IGNORECASE
)
_SHORT_YEAR = re.compile(r"(?<![\w'])'(?P<y2>\d\d)\b(?!s)")
_MONTH_YEAR = re.compile(rf"\b(?P<m>{_MONTH})\b\.?,?\s+(?:of\s+)?(?P<y>(?:19|20)\d\d)\b", re.IGNORECASE)
_MONTH_ALONE = re.compile(
    r"\b(?P<m>January|February|March|April|June|July|August|September|October|November|December"
    r"|(?<=in )May|(?<=last )May|(?<=next )May|(?<=since )May|(?<=of )May|(?<=this )May)\b"
)
_YEAR = re.compile(
    r"(?<![\d$€£.,#-])\b(?P<y>(?:19|20)\d\d)\b(?![.,]?\d|\s?(?:%|k\b|percent|dollars|euros|people|units))"
)
_WEEKDAY = re.compile(r"\b(?P<w>monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?\b", re.IGNORECASE)
_CLOCK = re.compile(
    r"\b(?P<h>[01]?\d|2[0-3])(?::(?P<n>[0-5]\d))?\s?(?P<half>[ap])\.?m\b\.?|\b(?P<h24>[01]?\d|2[0-3]):(?P<n24>[0-5]\d)\b"
    r"|\b(?P<word>noon|midnight)\b|\b(?P<oclock>1?\d|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\s+o'clock\b",
    re.IGNORECASE,
)
_RELATIVE_DAY = re.compile(
    r"\b(?P<day>the day after tomorrow|the day before yesterday|today|tonight|this (?:morning|afternoon|evening)"
    r"|tomorrow|yesterday|last night)\b",
    re.IGNORECASE,
)
_RELATIVE_SPAN = re.compile(
    r"\b(?P<which>last|next|this|past|coming)\s+(?P<unit>week|weekend|month|year|quarter|spring|summer|autumn|fall|winter"
    rf"|{'|'.join(_DAYS)}|{'|'.join(_MONTHS)})\b",
    re.IGNORECASE,
)
_AGO = re.compile(
    r"\b(?P<n>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|couple)\s+(?:of\s+)?"
    r"(?P<unit>day|week|month|year)s?\s+(?P<way>ago|from now|from today|back|later)\b",
    re.IGNORECASE,
)
_IN = re.compile(
    r"\bin\s+(?P<n>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\s+(?P<unit>day|week|month|year)s?\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class SaidDate:
    """A date as a text names it; what it leaves open is None."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class SaidTime:
    """A clock time as minutes of the day; without am or pm both halves are meant."""

    minutes: frozenset[int]
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class _Span:
    """The days that a relative expression means, and whether it means a single one."""

    first: date
    last: date


@reads_outside_text_up_to(LONGEST_READ)
def find_dates(text: str) -> list[SaidDate]:
    """Return the dates of the text, in order, without overlaps."""
    text = text[:LONGEST_READ]
    found: list[SaidDate] = []
    # One byte for each character, rather than comparing every date with every other.
    taken = bytearray(len(text))
    for one in _date_candidates(text):
        if not any(taken[one.start : one.end]):
            taken[one.start : one.end] = b"\x01" * (one.end - one.start)
            found.append(one)
    return sorted(found, key=lambda one: one.start)


def _date_candidates(text: str) -> Iterator[SaidDate]:
    """Yield what may be a date in the text, the most complete patterns first."""
    for pattern in (_DAYS_MONTH, _MONTH_DAYS):
        for match in pattern.finditer(text):
            year, month = int(match["y"]) if match["y"] else None, _month_number(match["m"])
            # The span of a range is halved, so that both its days are kept.
            middle = match.end("d")
            yield SaidDate(year=year, month=month, day=int(match["d"]), start=match.start(), end=middle)
            yield SaidDate(year=year, month=month, day=int(match["d2"]), start=middle, end=match.end())
    for match in _SHORT_YEAR.finditer(text.replace("’", "'")):
        short = int(match["y2"])
        century = 2000 if short <= _LATEST_SHORT_YEAR else 1900
        yield SaidDate(year=century + short, start=match.start(), end=match.end())
    for pattern in (_ISO, _DAY_MONTH, _MONTH_DAY, _MONTH_YEAR, _DAY_ALONE, _MONTH_ALONE, _YEAR, _WEEKDAY):
        for match in pattern.finditer(text):
            groups = match.groupdict()
            month = _month_number(groups.get("m"))
            day = int(groups["d"]) if groups.get("d") else None
            if (groups.get("m") and not month) or (day is not None and not 1 <= day <= 31):
                continue
            yield SaidDate(
                year=int(groups["y"]) if groups.get("y") else None,
                month=month,
                day=day,
                weekday=_DAYS.index(groups["w"].lower()) if groups.get("w") else None,
                start=match.start(),
                end=match.end(),
            )
    for match in _NUMERIC.finditer(text):
        for month, day in ((int(match["a"]), int(match["b"])), (int(match["b"]), int(match["a"]))):
            if 1 <= month <= 12 and 1 <= day <= 31:
                yield SaidDate(year=int(match["y"]), month=month, day=day, start=match.start(), end=match.end())
                break


def _month_number(text: str | None) -> int | None:
    """Return the month's number from its digits or name; None if it names no month."""
    if text is None:
        return None
    if text.isdigit():
        return int(text) if 1 <= int(text) <= 12 else None
    return next((number for number, name in enumerate(_MONTHS, 1) if name.startswith(text.lower()[:3])), None)


@reads_outside_text_up_to(LONGEST_READ)
def find_times(text: str) -> list[SaidTime]:
    """Return the clock times of the text, in order."""
    return [
        SaidTime(minutes=_minutes_meant(match), start=match.start(), end=match.end())
        for match in _CLOCK.finditer(text[:LONGEST_READ])
    ]


def date_spans(text: str) -> list[tuple[int, int]]:
    """Return where the dates and clock times of the text begin and end."""
    return [*((one.start, one.end) for one in find_dates(text)), *((one.start, one.end) for one in find_times(text))]


def covered_places(length: int, spans: Iterable[tuple[int, int]]) -> bytearray:
    """Return a byte for each character of a text of this length: 1 where one of the spans covers it."""
    covered = bytearray(length)
    for start, end in spans:
        covered[start:end] = b"\x01" * (min(end, length) - start)
    return covered


def _minutes_meant(match: re.Match[str]) -> frozenset[int]:
    """Return the times of day, in minutes after midnight, that a matched clock time may mean."""
    if match["word"]:
        return frozenset({720 if match["word"].lower() == "noon" else 0})
    if match["h24"]:
        hour, minute = int(match["h24"]), int(match["n24"])
        # "at 3:30" leaves open which half of the day is meant.
        return frozenset({hour * 60 + minute} | ({(hour + 12) * 60 + minute} if 0 < hour < 12 else set()))
    if match["oclock"]:
        hour = int(match["oclock"]) if match["oclock"].isdigit() else _COUNTS[match["oclock"].lower()]
        return frozenset({hour % 12 * 60, (hour % 12 + 12) * 60})
    hour = int(match["h"]) % 12 + (12 if match["half"].lower() == "p" else 0)
    return frozenset({hour * 60 + int(match["n"] or 0)})


@reads_outside_text_up_to(LONGEST_READ)
def date_fault(statement: str, sources: Sequence[tuple[str, datetime]]) -> str | None:
    """Return why the sources, said at the given times, do not support a date or time of the statement; else None."""
    claimed = find_dates(statement)
    times = find_times(statement)
    if not claimed and not times:
        return None
    said = [(one, at.date()) for text, at in sources for one in find_dates(text)]
    spans = [span for text, at in sources for span in _relative_spans(text, at.date())]
    for one in claimed:
        if not any(_is_supported_date(one, other, at) for other, at in said) and not any(
            _is_within(one, span) for span in spans
        ):
            return f"“{statement[one.start : one.end]}” is no date that the quoted words give"
    minutes = [other.minutes for text, _ in sources for other in find_times(text)]
    for time in times:
        if not any(time.minutes & other for other in minutes):
            return f"“{statement[time.start : time.end]}” is no time that the quoted words give"
    return None


def _is_supported_date(claimed: SaidDate, said: SaidDate, at: date) -> bool:
    """Say whether a claimed date follows from a said one, possibly completed by when it was said."""
    if claimed.weekday is not None:
        return claimed.weekday == said.weekday or claimed.weekday in {day.weekday() for day in _days_meant(said, at)}
    for part in ("year", "month", "day"):
        want, has = getattr(claimed, part), getattr(said, part)
        if want is not None and has is not None and want != has:
            return False
    missing = [
        part for part in ("year", "month", "day") if getattr(claimed, part) is not None and getattr(said, part) is None
    ]
    if not missing:
        return any(getattr(claimed, part) is not None for part in ("year", "month", "day"))
    return any(_has_parts(day, claimed) for day in _days_meant(said, at)) if _is_completable(missing, said) else False


def _is_completable(missing: Sequence[str], said: SaidDate) -> bool:
    """Say whether the missing parts of a said date follow from when it was said, such as the year of a month."""
    return said.weekday is not None or missing == ["year"] or (said.day is not None and said.month is None)


def _days_meant(said: SaidDate, at: date) -> list[date]:
    """Return the days that a said date may mean, close to when it was said."""
    if said.weekday is not None:
        near = (at + timedelta(days=offset) for offset in range(-7, 9))
        return [day for day in near if day.weekday() == said.weekday]
    if said.month is None and said.day is not None:
        near = (at + timedelta(days=offset) for offset in range(-31, 46))
        return [day for day in near if day.day == said.day]
    if said.month is None:
        return []
    years = [said.year] if said.year else [at.year - 1, at.year, at.year + 1]
    return [day for year in years if (day := _make_date(year, said.month, said.day or 1))]


def _make_date(year: int, month: int, day: int) -> date | None:
    """Return the date with these parts; None if there is no such date."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _has_parts(day: date, claimed: SaidDate) -> bool:
    """Say whether a day has the year, month and day of the claimed date, where these are given."""
    return all(
        want is None or want == has
        for want, has in ((claimed.year, day.year), (claimed.month, day.month), (claimed.day, day.day))
    )


def _is_within(claimed: SaidDate, span: _Span) -> bool:
    """Say whether every day of the span has the claimed parts, so that the claim is not more precise."""
    if claimed.weekday is not None:
        return span.first == span.last and span.first.weekday() == claimed.weekday
    return _has_parts(span.first, claimed) and _has_parts(span.last, claimed)


def _relative_spans(text: str, at: date) -> Iterator[_Span]:
    """Yield the spans of days that relative expressions in the text mean."""
    text = text[:LONGEST_READ]
    for match in _RELATIVE_DAY.finditer(text):
        day = at + timedelta(days=_DAY_OFFSETS.get(match["day"].lower(), 0))
        yield _Span(first=day, last=day)
    for match in _RELATIVE_SPAN.finditer(text):
        yield from _named_spans(match["which"].lower(), match["unit"].lower(), at)
    for match in _AGO.finditer(text):
        count = _parse_count(match["n"])
        yield from _offset_spans(count if match["way"].lower() not in {"ago", "back"} else -count, match["unit"], at)
    for match in _IN.finditer(text):
        yield from _offset_spans(_parse_count(match["n"]), match["unit"], at)


_DAY_OFFSETS = {
    "tomorrow": 1,
    "yesterday": -1,
    "last night": -1,
    "the day after tomorrow": 2,
    "the day before yesterday": -2,
}


def _parse_count(text: str) -> int:
    """Return the number that digits or a number word give."""
    return int(text) if text.isdigit() else _COUNTS[text.lower()]


def _named_spans(which: str, unit: str, at: date) -> Iterator[_Span]:
    """Yield the spans that "last week", "next March" or "this summer" may mean."""
    step = {"last": -1, "past": -1, "this": 0}.get(which, 1)
    if unit in _DAYS:
        days = [at + timedelta(days=offset) for offset in range(-14, 15)]
        chosen = [
            day for day in days if day.weekday() == _DAYS.index(unit) and (step == 0 or (day - at).days * step > 0)
        ]
        yield from (_Span(first=day, last=day) for day in chosen)
    elif unit in _MONTHS:
        month = _MONTHS.index(unit) + 1
        for year in (at.year + step, at.year):
            yield _month_span(year, month)
    elif unit in {"week", "weekend"}:
        monday = at - timedelta(days=at.weekday()) + timedelta(weeks=step)
        yield _Span(first=monday, last=monday + timedelta(days=6))
    elif unit == "month":
        yield _month_span(at.year, at.month + step)
    elif unit == "quarter":
        first = (at.month - 1) // 3 * 3 + 1 + 3 * step
        yield _Span(first=_month_span(at.year, first).first, last=_month_span(at.year, first + 2).last)
    elif unit == "year":
        yield _Span(first=date(at.year + step, 1, 1), last=date(at.year + step, 12, 31))
    else:
        first, last = _SEASONS[unit]
        for year in {at.year + step, at.year}:
            yield _Span(first=_month_span(year, first).first, last=_month_span(year, last + 12 * (last < first)).last)


def _offset_spans(count: int, unit: str, at: date) -> Iterator[_Span]:
    """Yield the day, month or year so many units away; for weeks, the whole week too."""
    unit = unit.lower()
    if unit == "day" or unit == "week":
        day = at + timedelta(days=count * (7 if unit == "week" else 1))
        yield _Span(first=day, last=day)
    elif unit == "month":
        yield _month_span(at.year, at.month + count)
    else:
        if 1 <= at.year + count <= 9998:
            yield _Span(first=date(at.year + count, 1, 1), last=date(at.year + count, 12, 31))


def _month_span(year: int, month: int) -> _Span:
    """Return the days of a month; a month before January or after December lies in another year."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    following = date(year + month // 12, month % 12 + 1, 1)
    return _Span(first=date(year, month, 1), last=following - timedelta(days=1))


_AHEAD = re.compile(
    r"\b(?:will|won't|going to|plan(?:s|ned)?|next|coming|upcoming|until|by|due|before)\b", re.IGNORECASE
)


@reads_outside_text_up_to(LONGEST_READ)
def past_day_said(text: str, at: datetime) -> date | None:
    """Return the one day, not after it was said, that the text names or means: "April 12", "yesterday", "on Friday".

    None when it names none, several, or only a longer time.
    """
    text, today = text[:LONGEST_READ], at.date()
    days = {span.first for span in _relative_spans(text, today) if span.first == span.last}
    # "last Friday" may mean two days, of which the later is meant as a rule.
    days = {max((day for day in days if day <= today), default=today)} if days else set()
    for said in find_dates(text) if not days else ():
        if said.weekday is not None and _AHEAD.search(text):
            continue
        if said.day is not None or said.weekday is not None:
            meant = [day for day in _days_meant(said, today) if day <= today]
            days |= {max(meant)} if meant else set()
    return next(iter(days)) if len(days) == 1 else None
