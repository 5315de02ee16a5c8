"""Templates and the few filters they use: relative times with the exact one on hover, numbers with their units."""

from datetime import datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from mnemon.clock import iso

_HOUR, _DAY = 3600, 86_400
_STEPS = (
    (60, 1, "s"),
    (_HOUR, 60, "m"),
    (2 * _DAY, _HOUR, "h"),
    (14 * _DAY, _DAY, "d"),
    (70 * _DAY, 7 * _DAY, "w"),
    (730 * _DAY, 30.44 * _DAY, "mo"),
)
"""Up to how many seconds a unit is used, how many it has, and its sign."""


@cache
def environment() -> Environment:
    """Everything is escaped; a name a page forgot to give is an error, not an empty place."""
    made = Environment(
        loader=PackageLoader("mnemon.console", "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(ago=ago, when=when, number=number, percent=percent, many=many, plain=plain, span=span)
    return made


def render(template: str, values: dict[str, Any]) -> str:
    """The page as HTML."""
    return environment().get_template(template).render({"visit": None, "notice": None, "at": None, **values})


def ago(at: datetime | None, now: datetime) -> Markup:
    """`2h ago` with the exact time on hover; `in 5m` for what lies ahead."""
    if at is None:
        return Markup('<span class="dim">never</span>')
    seconds = (now - at).total_seconds()
    short = span(abs(seconds))
    words = f"{short} ago" if seconds >= 0 else f"in {short}"
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(iso(at), "now" if short == "0s" else words)


def when(at: datetime | None) -> Markup:
    """The exact time, to the minute."""
    if at is None:
        return Markup('<span class="dim">–</span>')
    return Markup('<time datetime="{0}" title="{0}">{1:%Y-%m-%d %H:%M}</time>').format(iso(at), at)


def span(seconds: float) -> str:
    """A duration in the largest unit that still tells days and weeks apart."""
    for most, size, unit in _STEPS:
        if seconds < most:
            return f"{int(seconds / size)}{unit}"
    return f"{int(seconds / (365.25 * _DAY))}y"


def number(value: float) -> str:
    """With thin groups: 12 345."""
    return f"{value:,.0f}".replace(",", "\u2009")


def many(value: int, one: str, more: str) -> str:
    """With its noun: 1 memory, 2 memories."""
    return f"{number(value)} {one if value == 1 else more}"


def plain(word: str) -> str:
    """A name of the code's as one would say it: `take_profit` is take profit."""
    return word.replace("_", " ")


def percent(value: float) -> str:
    return f"{value * 100:.0f}\u2009%"
