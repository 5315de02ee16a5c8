"""Forms and notices.

A refused form is shown again as it was filled in, with each error beside its field. A notice is what an action says on
the page it redirects to, carried there once by a cookie. Other programs on the same host can set that cookie, so it is
read as untrusted: its undo must be one of the console's own undo actions.
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
    """A form that was refused: what was typed, and why."""

    to: str
    """The path that it was sent to."""
    typed: Mapping[str, str]
    says: str
    """Why, as a sentence."""
    faults: Mapping[str, str]
    """What is wrong, by field."""


def form_refusal(to: str, typed: Mapping[str, str], error: MnemonError, field: str = "") -> Refusal:
    """Return a form's refusal: what was typed and why it failed; an error without a field is shown beside `field`."""
    faults: dict[str, str] = {}
    for one in error.faults:
        name = field_of(one.pointer)
        faults[name] = f"{faults[name]} {one.detail}" if name in faults else one.detail
    if not faults and field:
        faults[field] = error.detail
    return Refusal(to=to, typed=typed, says=error.detail, faults=faults)


def field_of(pointer: str) -> str:
    """Return the form field for a JSON pointer into an API body: `card_type` for `/cardType`, `team` for `/team/0`."""
    words = [word for word in re.split(r"[/?]", pointer) if word and not word.isdigit()]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", words[-1]).lower() if words else ""


def check_fields(**wrong: str) -> None:
    """Raise Invalid with these form fields' faults; an empty text is no fault."""
    faults = tuple(FieldFault(pointer=f"/{name}", detail=words) for name, words in wrong.items() if words)
    if faults:
        raise Invalid(" ".join(fault.detail for fault in faults), faults=faults)


class FormState:
    """One form of a page, new or refused; templates ask it for values and errors."""

    def __init__(self, to: str, refused: Refusal | None) -> None:
        """Keep the refused form's values if it was sent to this address; else keep none."""
        self._refused = refused if refused is not None and refused.to == to else None
        self._faults = self._refused.faults if self._refused is not None else {}

    def value(self, name: str, otherwise: object = "") -> str:
        """Return a form field's value: what was typed if the form was refused, else the page's own."""
        if self._refused is not None and name in self._refused.typed:
            return self._refused.typed[name]
        return "" if otherwise is None else str(otherwise)

    def ticked(self, name: str, otherwise: bool = False) -> bool:
        """Say whether a form's checkbox is ticked; browsers send no unticked ones."""
        return otherwise if self._refused is None else name in self._refused.typed

    def marks(self, name: str) -> Markup:
        """Return the HTML attributes of a form field with an error; the first such field gets the focus."""
        return Markup(' aria-invalid="true" autofocus') if name in self._faults else _EMPTY_MARKUP

    def fault(self, name: str) -> Markup:
        """Return a form field's error as HTML, empty if it has none."""
        wrong = self._faults.get(name)
        return Markup('<span class="fault">{}</span>').format(wrong) if wrong else _EMPTY_MARKUP


NOTICE_COOKIE = "mnemon_notice"
_MAX_CHARS = 1_000
"""Maximum length of a notice; a cookie holds 4 KB."""


@dataclass(frozen=True, kw_only=True)
class UndoForm:
    """An action of the console that undoes something; a notice may link to no other kind."""

    path: re.Pattern[str]
    query: str
    """What its query begins with; empty for an action without a query."""

    def matches_address(self, address: str) -> bool:
        """Say whether the address is this undo action's on this server, without repeated query parameters."""
        try:
            where = urlsplit(address)
        except ValueError:
            return False
        words = parse_qsl(where.query, keep_blank_values=True)
        queried = where.query.startswith(self.query) if self.query else not where.query
        # Browsers read `//host` and a backslash as the beginning of another host.
        elsewhere = where.scheme or where.netloc or where.fragment or address.startswith("//") or "\\" in address
        unique = len({name for name, _ in words}) == len(words)
        return not elsewhere and queried and unique and self.path.match(where.path) is not None


@dataclass(frozen=True, kw_only=True)
class Notice:
    """What an action did, and the action that undoes it."""

    text: str
    undo: str | None
    """The address of an undo action; None when there is none."""


def notice_cookie(text: str, undo: str | None) -> str:
    """Return the cookie value that carries a notice and its undo address to the next page."""
    return quote(dumps({"text": text[:_MAX_CHARS], "undo": undo}))


def read_notice(cookie: str | None, undoes: Sequence[UndoForm]) -> Notice | None:
    """Return the notice in the cookie, None when it holds none; drop an undo that is not one of `undoes`."""
    if not cookie:
        return None
    try:
        value = parse_json(unquote(cookie))
    except Invalid:
        return None
    if not isinstance(value, dict) or not isinstance(text := value.get("text"), str) or not text.strip():
        return None
    undo = value.get("undo")
    # An undo is posted with the session's token, so a forged one could do anything that a form can.
    allowed = isinstance(undo, str) and any(one.matches_address(undo) for one in undoes)
    return Notice(text=text[:_MAX_CHARS], undo=undo if allowed else None)
