"""What an action says on the page it leads to, carried there once by a cookie.

Anybody on the same host may have set the cookie, so it is read as text from outside: a notice has words, and its undo
is one of the console's own undoing forms or nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from json import dumps
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from mnemon.errors import Invalid
from mnemon.json_limits import parse_json

NOTICE = "mnemon_notice"
_LONGEST = 1_000
"""Characters of a notice; a cookie holds 4 KB."""


@dataclass(frozen=True, kw_only=True)
class Undoing:
    """A form of the console that undoes something: the only kind that a notice may lead to."""

    path: re.Pattern[str]
    query: str
    """What its query begins with; empty for a form that has none."""

    def fits(self, address: str) -> bool:
        """Whether the address is this form's on this server, and says nothing twice."""
        try:
            where = urlsplit(address)
        except ValueError:
            return False
        words = parse_qsl(where.query, keep_blank_values=True)
        queried = where.query.startswith(self.query) if self.query else not where.query
        elsewhere = where.scheme or where.netloc or where.fragment or address.startswith("//") or "\\" in address
        unique = len({name for name, _ in words}) == len(words)
        return not elsewhere and queried and unique and self.path.match(where.path) is not None


@dataclass(frozen=True, kw_only=True)
class Notice:
    """What was done, and the form that takes it back."""

    text: str
    undo: str | None
    """An address of one of the console's forms that undo something."""


def notice_cookie(text: str, undo: str | None) -> str:
    """The value of the cookie that carries the notice."""
    return quote(dumps({"text": text[:_LONGEST], "undo": undo}))


def read_notice(cookie: str | None, undoes: Sequence[Undoing]) -> Notice | None:
    """The notice of the cookie; None where it holds none of ours. An undo that leads elsewhere is left out."""
    if not cookie:
        return None
    try:
        value = parse_json(unquote(cookie))
    except Invalid:
        return None
    if not isinstance(value, dict) or not isinstance(text := value.get("text"), str) or not text.strip():
        return None
    undo = value.get("undo")
    allowed = isinstance(undo, str) and any(one.fits(undo) for one in undoes)
    return Notice(text=text[:_LONGEST], undo=undo if allowed else None)
