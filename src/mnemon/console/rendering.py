"""Render templates, with the filters they use.

The filters show relative times with the exact one on hover, and numbers with units.
"""

from datetime import datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from mnemon.clock import format_time

_HOUR, _DAY = 3600, 86_400
_DURATION_UNITS = (
    (60, 1, "s"),
    (_HOUR, 60, "m"),
    (2 * _DAY, _HOUR, "h"),
    (14 * _DAY, _DAY, "d"),
    (70 * _DAY, 7 * _DAY, "w"),
    (730 * _DAY, 30.44 * _DAY, "mo"),
)
"""For each unit the seconds below which it is used, its length in seconds, and its symbol."""


@cache
def template_environment() -> Environment:
    """Return the Jinja environment: everything is escaped, and a missing value is an error, not empty text."""
    made = Environment(
        loader=PackageLoader("mnemon.console", "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        ago=relative_time,
        when=exact_time,
        number=format_number,
        percent=format_percent,
        many=count_with_noun,
        plain=spaced_name,
        span=format_duration,
    )
    return made


def render(template: str, values: dict[str, Any]) -> str:
    """Return the template filled with these values as HTML."""
    return template_environment().get_template(template).render({"visit": None, "notice": None, "at": None, **values})


def relative_time(at: datetime | None, now: datetime) -> Markup:
    """Return `2h ago`, or `in 5m` for the future, with the exact time on hover; `never` for None."""
    if at is None:
        return Markup('<span class="dim">never</span>')
    seconds = (now - at).total_seconds()
    short = format_duration(abs(seconds))
    words = f"{short} ago" if seconds >= 0 else f"in {short}"
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(
        format_time(at), "now" if short == "0s" else words
    )


def exact_time(at: datetime | None) -> Markup:
    """Return the time to the minute, a dash for None."""
    if at is None:
        return Markup('<span class="dim">–</span>')
    return Markup('<time datetime="{0}" title="{0}">{1:%Y-%m-%d %H:%M}</time>').format(format_time(at), at)


def format_duration(seconds: float) -> str:
    """Return a short duration such as `90m` or `3d`, in the unit that suits its length."""
    for most, size, unit in _DURATION_UNITS:
        if seconds < most:
            return f"{int(seconds / size)}{unit}"
    return f"{int(seconds / (365.25 * _DAY))}y"


def format_number(value: float) -> str:
    """Return the rounded number with thin spaces between groups: 12 345."""
    return f"{value:,.0f}".replace(",", "\u2009")


def count_with_noun(value: int, one: str, more: str) -> str:
    """Return the count with its noun: 1 memory, 2 memories."""
    return f"{format_number(value)} {one if value == 1 else more}"


def spaced_name(word: str) -> str:
    """Return an identifier as words: `take_profit` becomes take profit."""
    return word.replace("_", " ")


def format_percent(value: float) -> str:
    """Return a share from 0 to 1 as a whole percentage."""
    return f"{value * 100:.0f}\u2009%"
