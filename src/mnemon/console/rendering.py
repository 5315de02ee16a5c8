"""Templates and the few filters they use: relative times with the exact one on hover, numbers with their units.

Compression for pages and their files; answers to programs go as they are.
"""

from datetime import datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

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
"""Up to how many seconds a unit is used, how many it has, and its sign."""


@cache
def template_environment() -> Environment:
    """Everything is escaped; a name a page forgot to give is an error, not an empty place."""
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
    """The page as HTML."""
    return template_environment().get_template(template).render({"visit": None, "notice": None, "at": None, **values})


def relative_time(at: datetime | None, now: datetime) -> Markup:
    """`2h ago` with the exact time on hover; `in 5m` for what lies ahead."""
    if at is None:
        return Markup('<span class="dim">never</span>')
    seconds = (now - at).total_seconds()
    short = format_duration(abs(seconds))
    words = f"{short} ago" if seconds >= 0 else f"in {short}"
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(
        format_time(at), "now" if short == "0s" else words
    )


def exact_time(at: datetime | None) -> Markup:
    """The exact time, to the minute."""
    if at is None:
        return Markup('<span class="dim">–</span>')
    return Markup('<time datetime="{0}" title="{0}">{1:%Y-%m-%d %H:%M}</time>').format(format_time(at), at)


def format_duration(seconds: float) -> str:
    """A duration in the largest unit that still tells days and weeks apart."""
    for most, size, unit in _DURATION_UNITS:
        if seconds < most:
            return f"{int(seconds / size)}{unit}"
    return f"{int(seconds / (365.25 * _DAY))}y"


def format_number(value: float) -> str:
    """With thin groups: 12 345."""
    return f"{value:,.0f}".replace(",", "\u2009")


def count_with_noun(value: int, one: str, more: str) -> str:
    """With its noun: 1 memory, 2 memories."""
    return f"{format_number(value)} {one if value == 1 else more}"


def spaced_name(word: str) -> str:
    """A name of the code's as one would say it: `take_profit` is take profit."""
    return word.replace("_", " ")


def format_percent(value: float) -> str:
    return f"{value * 100:.0f}\u2009%"


UNCOMPRESSED_PATHS = ("/api", "/v1", "/mcp", "/metrics", "/live", "/openapi.json")


class PageCompression:
    """Compresses what a browser loads."""

    def __init__(self, app: ASGIApp) -> None:
        self._plain = app
        self._squeezed = GZipMiddleware(app, minimum_size=800, compresslevel=6)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        programs = scope["type"] != "http" or scope["path"].startswith(UNCOMPRESSED_PATHS)
        await (self._plain if programs else self._squeezed)(scope, receive, send)
