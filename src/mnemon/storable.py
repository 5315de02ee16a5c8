"""Text and JSON that a database can hold: no NUL, no half of a surrogate pair, no infinity, no bottomless nesting.

What a model says is mended here; what a caller sends is refused (`as_sent`, `json_limits.py`).
"""

import sys
import unicodedata
from typing import Any

from mnemon.outside import reads_outside_text

DEEPEST = 100
"""Levels of lists and objects within each other. pydantic writes 255, Python's recursion ends near 300 of ours."""
_LARGEST = sys.float_info.max
"""About 1.8e308, for integers too: PostgreSQL gives 1e300 back as an integer of 301 digits."""


@reads_outside_text
def storable(text: str) -> str:
    """The text with NUL left out and lone surrogates replaced; nearly always the text itself."""
    if "\0" not in text and text.isascii():
        return text
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def storable_number(value: float) -> bool:
    """Whether the number is one, and within what a double holds."""
    return -_LARGEST <= value <= _LARGEST


def storable_json(value: Any, *, depth: int = 0) -> Any:
    """The same for every text within a JSON value; a number beyond the limits becomes null, what nests too deep `…`."""
    match value:
        case str():
            return storable(value)
        case list() | tuple() | dict() if depth == DEEPEST:
            return "…"
        case list() | tuple():
            return [storable_json(item, depth=depth + 1) for item in value]
        case dict():
            return {storable(str(name)): storable_json(item, depth=depth + 1) for name, item in value.items()}
        case int() | float() if not storable_number(value):
            return None
        case _:
            return value


@reads_outside_text
def as_sent(text: str) -> str:
    """The text, unless it has a character that no database text can hold; the error says which and what to do."""
    if "\0" in text:
        raise ValueError("has a NUL character; remove it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("has half a surrogate pair; send valid Unicode") from None
    return text


_SEPARATORS = frozenset("\u2028\u2029")


@reads_outside_text
def has_control_character(text: str) -> bool:
    """Whether the text has a control character or a line break, which no name has."""
    return any(unicodedata.category(sign) == "Cc" or sign in _SEPARATORS for sign in text)


def name_as_sent(text: str) -> str:
    """The same as `as_sent` for a name or an id, which has no control character and no line break either."""
    if has_control_character(as_sent(text)):
        raise ValueError("has a control character or a line break; remove it")
    return text
