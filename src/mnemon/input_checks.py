"""JSON from outside: how deep it may nest and which numbers it may hold, the same at every door.

What is nested deeper than this ends in a RecursionError somewhere between the door and the database, and what Python
reads as infinity no database takes. So both are refused where JSON comes in, before anybody looks at the value.

Text and JSON that a database can hold: no NUL, no half of a surrogate pair, no infinity, no bottomless nesting.

What a model says is mended here; what a caller sends is refused (`check_text`, `input_checks.py`).

What does not fit a shape, in words that whoever sent it can mend it by: a model, most of the time.
"""

import json
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from mnemon.errors import Invalid, Malformed
from mnemon.untrusted_text import reads_outside_text

MAX_JSON_DEPTH = 100
"""Levels of lists and objects within each other. pydantic writes 255, Python's recursion ends near 300 of ours."""
_MAX_NUMBER = sys.float_info.max
"""About 1.8e308, for integers too: PostgreSQL gives 1e300 back as an integer of 301 digits."""


@reads_outside_text
def storable_text(text: str) -> str:
    """The text with NUL left out and lone surrogates replaced; nearly always the text itself."""
    if "\0" not in text and text.isascii():
        return text
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def is_storable_number(value: float) -> bool:
    """Whether the number is one, and within what a double holds."""
    return -_MAX_NUMBER <= value <= _MAX_NUMBER


def storable_json(value: Any, *, depth: int = 0) -> Any:
    """The same for every text within a JSON value; a number beyond the limits becomes null, what nests too deep `…`."""
    match value:
        case str():
            return storable_text(value)
        case list() | tuple() | dict() if depth == MAX_JSON_DEPTH:
            return "…"
        case list() | tuple():
            return [storable_json(item, depth=depth + 1) for item in value]
        case dict():
            return {storable_text(str(name)): storable_json(item, depth=depth + 1) for name, item in value.items()}
        case int() | float() if not is_storable_number(value):
            return None
        case _:
            return value


@reads_outside_text
def check_text(text: str) -> str:
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


def check_name(text: str) -> str:
    """The same as `check_text` for a name or an id, which has no control character and no line break either."""
    if has_control_character(check_text(text)):
        raise ValueError("has a control character or a line break; remove it")
    return text


LIMITS_TEXT = f"Any JSON of at most {MAX_JSON_DEPTH} levels of lists and objects, with no number beyond 1.8e308."
"""For descriptions of fields that take any JSON."""


class UnusableJson(Invalid, ValueError):
    """JSON that is well-formed and still beyond the limits; a ValueError, so that a validator may raise it."""

    code = "json_out_of_bounds"


@reads_outside_text
def parse_json(raw: bytes | str) -> Any:
    """Give the value, or raise Malformed for what is no JSON and UnusableJson for what is beyond the limits."""
    try:
        value = json.loads(raw, parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep_error() from None
    except ValueError as error:
        if "integer string conversion" in str(error):  # Python reads no integer of more than 4,300 digits
            raise _too_large_error() from None
        raise Malformed("The body is not JSON. Send valid JSON.", code="malformed_json") from None
    return check_json(value)


def check_json(value: Any) -> Any:
    """Give the value back, or raise UnusableJson where it nests too deep or holds a number that cannot be stored."""
    for one in _walk_values(value):
        if isinstance(one, int | float) and not is_storable_number(one):
            raise _too_large_error()
    return value


def check_json_texts(value: Any) -> Any:
    """Give the value back where it is within the limits and every text in it can be stored."""
    check_json(value)
    for one in _walk_values(value):
        if isinstance(one, str):
            check_text(one)
        elif isinstance(one, dict):
            for name in one:
                check_text(str(name))
    return value


def _walk_values(value: Any) -> Iterator[Any]:
    """Every value within the value, level by level, without recursion; raises UnusableJson below the deepest level."""
    level = [value]
    for depth in range(MAX_JSON_DEPTH + 1):
        yield from level
        nested = [one for one in level if isinstance(one, dict | list)]
        if not nested:
            return
        if depth == MAX_JSON_DEPTH:
            raise _too_deep_error()
        level = [inner for one in nested for inner in (one.values() if isinstance(one, dict) else one)]


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _too_deep_error() -> UnusableJson:
    return UnusableJson(
        f"The JSON nests deeper than {MAX_JSON_DEPTH} levels. Flatten it, or send the inner part as one text.",
        code="json_too_deep",
    )


def _too_large_error() -> UnusableJson:
    return UnusableJson(
        "The JSON has a number beyond 1.8e308. Send it as a text.",
        code="json_number_too_large",
    )


_MAX_ERRORS = 5


def describe_validation_error(error: ValidationError) -> str:
    """Where it is wrong and how, the first few places."""
    return "; ".join(
        f"{'.'.join(str(part) for part in one['loc']) or 'it'}: {one['msg']}"
        for one in error.errors(include_url=False)[:_MAX_ERRORS]
    )
