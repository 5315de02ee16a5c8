"""Figures, dates and times as people and programs write them, spelled out as the gates read them.

"Half an hour" is 30 minutes, "94 quid" is 94 pounds, "every other Thursday" is every two weeks, "10 in the evening" is
22:00, and a program's "took_ms": 14 is 14 ms. The spelled-out text is a second source beside the text itself: it adds
ways to say the same figure, and takes none away.
"""

import re
from collections.abc import Callable
from datetime import datetime

from mnemon.evidence.numeral import UNIT_WORDS
from mnemon.untrusted_text import reads_outside_text_up_to

LONGEST_READ = 4_000
_NUMBER = r"\d{1,4}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_HOUR = r"1[0-2]|[1-9]|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_ORDINALS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
]
_UNITS = {
    "s": "seconds", "sec": "seconds", "secs": "seconds", "h": "hours", "hrs": "hours", "d": "days", "w": "weeks",
    "wk": "weeks", "mo": "months", "y": "years", "yr": "years", "min": "minutes", "mins": "minutes",
}  # fmt: skip
_KEY_UNITS = {
    "pct": "%", "percent": "%", "percentage": "%", "ms": " ms", "s": " seconds", "sec": " seconds",
    "seconds": " seconds", "min": " minutes", "minutes": " minutes", "h": " hours", "hours": " hours", "days": " days",
    "usd": " USD", "eur": " EUR", "gbp": " GBP", "chf": " CHF", "kb": " KB", "mb": " MB", "gb": " GB", "km": " km",
    "kg": " kg", "mm": " mm", "kmh": " km/h", "c": " °C",
}  # fmt: skip
_Rewrite = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]


def _make_rewrite(pattern: str, put: str | Callable[[re.Match[str]], str]) -> _Rewrite:
    """Return a rewriting rule: the compiled pattern, which ignores case, and its replacement."""
    return re.compile(pattern, re.IGNORECASE), put


def _parse_number(text: str) -> int:
    """Return the number that digits or a number word give."""
    return int(text) if text.isdigit() else UNIT_WORDS[text.lower()]


_FIGURES: tuple[_Rewrite, ...] = (
    _make_rewrite(r"\b(?:an|one) hour and a half\b", "90 minutes"),
    _make_rewrite(r"\bhalf an? hour\b|\bhalf hour\b", "30 minutes"),
    _make_rewrite(r"\b(?:three quarters of an hour)\b", "45 minutes"),
    _make_rewrite(r"\b(?:a )?quarter of an hour\b", "15 minutes"),
    _make_rewrite(r"\b(?:a|one) year and a half\b", "18 months"),
    _make_rewrite(r"\b(?:a |per |every |each )?fortnight(?:ly)?\b|\bbi-?weekly\b", "every two weeks, 14 days"),
    _make_rewrite(r"\b(?:a )?quarter of a million\b", "250,000"),
    _make_rewrite(r"\bhalf a million\b", "500,000"),
    _make_rewrite(r"\bhalf a dozen\b", "6"),
    _make_rewrite(r"\ba dozen\b", "12"),
    _make_rewrite(r"\ba (?:couple|pair) of\b", "2"),
    _make_rewrite(r"\btwice\b", "2 times"),
    _make_rewrite(r"\bonce\b|\bone\b|\ba single\b", "1"),
    _make_rewrite(r"\bquids?\b", "pounds"),
    _make_rewrite(
        r"\b(?:every|each) (?:other|second) (?:week|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?s?\b", "every two weeks"
    ),
    _make_rewrite(r"\b(?:every|each) (?:other|second) (day|month|year|night)\b", r"every two \1s"),
    _make_rewrite(r"\bthird (day|week|month|quarter|year)s? (?:running|in a row|straight)\b", r"three \1s"),
    _make_rewrite(r"\bsecond (day|week|month|quarter|year)s? (?:running|in a row|straight)\b", r"two \1s"),
    _make_rewrite(r"\b(\d+) over (\d+)\b", r"\1/\2"),
    _make_rewrite(rf"\b(\d+(?:\.\d+)?)({'|'.join(_UNITS)})\b", lambda found: f"{found[1]} {_UNITS[found[2].lower()]}"),
    _make_rewrite(r"\b(\d+)-(year|month|week|day)s?-old\b", r"\1, \1 \2s old"),
    _make_rewrite(r"@", " "),
)
_ELLIPSIS = re.compile(
    r"\b(?:from|to|was|were|be|at|under|over|than|below|above|so|and|own|na|it's)\s+(?P<n>\d{1,3}(?:\.\d+)?)"
    r"(?![.,]?\d|[\w:/%]|\s?(?:%|percent|million|k\b))",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"\d\s?(?P<unit>%|percent\b|million(?: dollars| euros| pounds)?\b|billion\b|k\b|minutes?\b|hours?\b|days?\b"
    r"|weeks?\b|km\b|kg\b|miles\b|ms\b)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]*(?:\.(?=\d)[^.!?\n]*)*[.!?\n]?")
_FIELD = re.compile(r"[\"']?(?P<key>[A-Za-z][\w-]{0,40})[\"']?\s*[:=]\s*[\"']?(?P<value>-?\d[\d.,]{0,20})\b")
_CURRENCY = re.compile(r"currency[\"']?\s*[:=]\s*[\"']?(?P<code>[A-Z]{3})\b")


@reads_outside_text_up_to(LONGEST_READ)
def spell_figures(text: str) -> str:
    """Return the text with colloquial figures, and those of a program's fields, spelled out with their units."""
    text = text[:LONGEST_READ]
    for pattern, put in _FIGURES:
        text = pattern.sub(put, text)
    code = _CURRENCY.search(text)
    fields = [_field_figure(match, code["code"] if code else "") for match in _FIELD.finditer(text)]
    return "\n".join([text, *filter(None, fields), *_shared_units(text)])


def _field_figure(match: re.Match[str], currency: str) -> str:
    """Return a record's value with the unit that its field's name, or the record's currency, gives it."""
    unit = _KEY_UNITS.get(re.split(r"[_-]", match["key"].lower())[-1])
    value = match["value"].rstrip(".,").lstrip("-")
    return " ".join(filter(None, (value + unit if unit else "", f"{value} {currency}." if currency else "")))


def _shared_units(text: str) -> list[str]:
    """Return the figures of a sentence that lack a unit, with the one its other figures have: "11%, it was 7"."""
    found = []
    for sentence in _SENTENCE.finditer(text):
        units = {match["unit"].lower() for match in _MEASURE.finditer(sentence[0])}
        if len(units) == 1:
            unit = units.pop()
            found += [f"{match['n']} {unit}." for match in _ELLIPSIS.finditer(sentence[0])]
    return found


_AFTER_NOON = r"in the (?:evening|afternoon)|at night|tonight|this (?:evening|afternoon)"
_DATES: tuple[_Rewrite, ...] = (
    _make_rewrite(r"((?:19|20)\d\d-\d\d-\d\d)T(\d\d:\d\d)", r"\1 \2 "),
    _make_rewrite(
        rf"\b(in|since|until|till|by|from|last|next|this|of|early|late|mid|for|and|to|before|after)"
        rf" ({'|'.join(_MONTHS)})\b",
        lambda found: f"{found[1]} {found[2].capitalize()}",
    ),
    _make_rewrite(
        r"(?-i:\b(Mon|Tue|Tues|Wed|Thu|Thur|Thurs|Fri|Sat|Sun)\b)\.?",
        lambda found: next(day for day in _DAYS if day.startswith(found[1].lower()[:3])).capitalize(),
    ),
    _make_rewrite(
        rf"\bon the ({'|'.join(_ORDINALS)})\b(?! \w+day)",
        lambda found: f"on the {_ORDINALS.index(found[1].lower()) + 1}th",
    ),
    _make_rewrite(rf"\bhalf (?:past )?({_HOUR})\b", lambda found: f"{_parse_number(found[1])}:30"),
    _make_rewrite(rf"\b(?:a )?quarter past ({_HOUR})\b", lambda found: f"{_parse_number(found[1])}:15"),
    _make_rewrite(rf"\b(?:a )?quarter to ({_HOUR})\b", lambda found: f"{(_parse_number(found[1]) - 2) % 12 + 1}:45"),
    _make_rewrite(rf"\b({_HOUR})(?:\s?o'clock)? (?:{_AFTER_NOON})\b", lambda found: f"{_parse_number(found[1])} pm"),
    _make_rewrite(
        rf"\b({_HOUR})(?:\s?o'clock)? (?:in the|this) morning\b", lambda found: f"{_parse_number(found[1])} am"
    ),
    _make_rewrite(
        rf"\b(at|around|by|about|until|till|from|after|before|to|and) ({_HOUR})\b"
        rf"(?!\s?(?:[ap]\.?m\b|:|%|[a-z]{{3,}}s\b|o'clock|/|\.\d|percent|k\b|million))",
        lambda found: f"{found[1]} {_parse_number(found[2])} o'clock",
    ),
)
_DAY_OF_MONTH = re.compile(r"\bthe (\d{1,2})(?:st|nd|rd|th)? of (this|next|last) month\b", re.IGNORECASE)


@reads_outside_text_up_to(LONGEST_READ)
def spell_dates(text: str, at: datetime) -> str:
    """Return the text with casual dates and times spelled out, relative to when it was said."""
    text = text[:LONGEST_READ]
    for pattern, put in _DATES:
        text = pattern.sub(put, text)

    def month_day(found: re.Match[str]) -> str:
        """Return "5 March 2024" for a match such as "5 this month"."""
        month = at.month - 1 + {"this": 0, "next": 1, "last": -1}[found[2].lower()]
        return f"{found[1]} {_MONTHS[month % 12].capitalize()} {at.year + month // 12}"

    return _DAY_OF_MONTH.sub(month_day, text)
