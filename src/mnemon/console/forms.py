"""A form on its page. One that was refused comes back as it was filled in, with what is wrong beside the field.

What an action says on the page it leads to, carried there once by a cookie.

Anybody on the same host may have set the cookie, so it is read as text from outside: a notice has words, and its undo
is one of the console's own undoing forms or nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from markupsafe import Markup

from mnemon.errors import FieldFault, Invalid, MnemonError
from mnemon.input_checks import parse_json

_EMPTY_MARKUP = Markup("")


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A form that was not taken: what was typed, and why not."""

    to: str
    """The path it was sent to."""
    typed: Mapping[str, str]
    says: str
    """Why, in words."""
    faults: Mapping[str, str]
    """By field, what is wrong with it."""


def form_refusal(to: str, typed: Mapping[str, str], error: MnemonError, field: str = "") -> Refusal:
    """The refusal that the error means; what names no field of its own is said beside `field`, where there is one."""
    faults: dict[str, str] = {}
    for one in error.faults:
        name = field_of(one.pointer)
        faults[name] = f"{faults[name]} {one.detail}" if name in faults else one.detail
    if not faults and field:
        faults[field] = error.detail
    return Refusal(to=to, typed=typed, says=error.detail, faults=faults)


def field_of(pointer: str) -> str:
    """The form's field that a pointer into an API's body means: `/cardType` is `card_type`, `/team/0` is `team`."""
    words = [word for word in re.split(r"[/?]", pointer) if word and not word.isdigit()]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", words[-1]).lower() if words else ""


def check_fields(**wrong: str) -> None:
    """Raises Invalid unless every field's words about what is wrong with it are empty."""
    faults = tuple(FieldFault(pointer=f"/{name}", detail=words) for name, words in wrong.items() if words)
    if faults:
        raise Invalid(" ".join(fault.detail for fault in faults), faults=faults)


class FormState:
    """One form of a page, fresh or refused."""

    def __init__(self, to: str, refused: Refusal | None) -> None:
        self._refused = refused if refused is not None and refused.to == to else None
        self._faults = self._refused.faults if self._refused is not None else {}

    def value(self, name: str, otherwise: object = "") -> str:
        """What stands in the field: what was typed, or what the page would show."""
        if self._refused is not None and name in self._refused.typed:
            return self._refused.typed[name]
        return "" if otherwise is None else str(otherwise)

    def ticked(self, name: str, otherwise: bool = False) -> bool:
        """Whether the box is ticked; one that was left empty is not among what a form sends."""
        return otherwise if self._refused is None else name in self._refused.typed

    def marks(self, name: str) -> Markup:
        """The field's attributes if something is wrong with it: the first such field of the page has the focus."""
        return Markup(' aria-invalid="true" autofocus') if name in self._faults else _EMPTY_MARKUP

    def fault(self, name: str) -> Markup:
        """What is wrong with the field, in words."""
        wrong = self._faults.get(name)
        return Markup('<span class="fault">{}</span>').format(wrong) if wrong else _EMPTY_MARKUP


NOTICE_COOKIE = "mnemon_notice"
_MAX_CHARS = 1_000
"""Characters of a notice; a cookie holds 4 KB."""


@dataclass(frozen=True, kw_only=True)
class UndoForm:
    """A form of the console that undoes something: the only kind that a notice may lead to."""

    path: re.Pattern[str]
    query: str
    """What its query begins with; empty for a form that has none."""

    def matches_address(self, address: str) -> bool:
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
    return quote(dumps({"text": text[:_MAX_CHARS], "undo": undo}))


def read_notice(cookie: str | None, undoes: Sequence[UndoForm]) -> Notice | None:
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
    allowed = isinstance(undo, str) and any(one.matches_address(undo) for one in undoes)
    return Notice(text=text[:_MAX_CHARS], undo=undo if allowed else None)
