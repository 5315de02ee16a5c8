"""Checks of text and JSON from outside, the same for every API: what is refused, and what is repaired.

A database text holds no NUL and no lone surrogate, and JSON that nests deeper than MAX_JSON_DEPTH ends in a
RecursionError somewhere between the API and the database; infinity no database takes. What a caller sends is refused
where it comes in (`check_text`, `parse_json`); what a model says is repaired (`storable_text`, `storable_json`).
`describe_validation_error` tells the sender, mostly a model, what to correct.
"""

import json
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from math import isnan
from typing import Any

from pydantic import ValidationError

from mnemon.errors import Invalid, Malformed
from mnemon.untrusted_text import reads_outside_text

MAX_JSON_DEPTH = 100
"""Nested levels of lists and objects. pydantic serializes 255; Python's recursion limit is hit near 300."""
_MAX_NUMBER = sys.float_info.max
"""About 1.8e308, for integers too: PostgreSQL returns 1e300 as an integer of 301 digits."""


@reads_outside_text
def storable_text(text: str) -> str:
    """Return the text without NUL and with lone surrogates replaced, so that PostgreSQL can store it."""
    # Nearly every text; the others are encoded, which finds lone surrogates.
    if "\0" not in text and text.isascii():
        return text
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def is_storable_number(value: float) -> bool:
    """Say whether the number, integer or float, is finite and within the range of a double."""
    return -_MAX_NUMBER <= value <= _MAX_NUMBER


def storable_json(value: Any, *, depth: int = 0) -> Any:
    """Return the JSON value with all texts storable; numbers beyond the limits become null, too deep nesting `…`."""
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
    """Return the text unchanged; raise ValueError if it has a character that PostgreSQL cannot store."""
    if "\0" in text:
        raise ValueError("has a NUL character; remove it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("has half a surrogate pair; send valid Unicode") from None
    return text


# Line breaks of Unicode that are not in the category of control characters.
_SEPARATORS = frozenset("\u2028\u2029")


@reads_outside_text
def has_control_character(text: str) -> bool:
    """Say whether the text has a control character or a line break, which no name may have."""
    return any(unicodedata.category(sign) == "Cc" or sign in _SEPARATORS for sign in text)


def check_name(text: str) -> str:
    """Return the name unchanged; raise ValueError if it has a control character, line break or unstorable character."""
    if has_control_character(check_text(text)):
        raise ValueError("has a control character or a line break; remove it")
    return text


MAX_JSON_CONTAINERS = 200_000
"""Lists and objects in one JSON text. Parsing that many takes 0.05 s, in which no other thread runs."""
_BLOCK_BYTES = 64 * 1024
LIMITS_TEXT = (
    f"Any JSON of at most {MAX_JSON_DEPTH} levels and {MAX_JSON_CONTAINERS:,} lists and objects, with no number beyond "
    "1.8e308."
)
"""The limits as a sentence, for descriptions of fields that take any JSON."""


class UnusableJson(Invalid, ValueError):
    """JSON that is well-formed but beyond the limits; a ValueError, so that a validator may raise it."""

    code = "json_out_of_bounds"


class NotANumber(Malformed, ValueError):
    """JSON with a NaN, which some parsers let pass; a ValueError, so that a validator may raise it."""

    code = "malformed_json"


def parse_json(raw: bytes | str) -> Any:
    """Return the parsed JSON; raise Malformed for what is not JSON and UnusableJson for what is beyond the limits."""
    return check_json(load_json(raw))


@reads_outside_text
def load_json(raw: bytes | str) -> Any:
    """Return the parsed JSON without the checks of `check_json`; raise as `parse_json` does."""
    if _has_too_many_containers(raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass")):
        raise UnusableJson(
            f"The JSON has more than {MAX_JSON_CONTAINERS:,} lists and objects. Send less at once, or a part of it as "
            "one text.",
            code="json_too_many_values",
        )
    try:
        # Python's parser also takes NaN and Infinity, which are not JSON.
        return json.loads(raw, parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep_error() from None
    except ValueError as error:
        # Python refuses integers of more than 4,300 digits.
        if "integer string conversion" in str(error):
            raise _too_large_error() from None
        raise Malformed("The body is not JSON. Send valid JSON.", code="malformed_json") from None


@reads_outside_text
def _has_too_many_containers(raw: bytes) -> bool:
    """Say whether a JSON text begins more lists and objects than it may, those within its strings not counted."""
    if raw.count(b"[") + raw.count(b"{") <= MAX_JSON_CONTAINERS:
        return False
    # Without escaped quotes every quote begins or ends a string.
    plain = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    count, inside = 0, False
    for start in range(0, len(plain), _BLOCK_BYTES):
        parts = plain[start : start + _BLOCK_BYTES].split(b'"')
        count += sum(part.count(b"[") + part.count(b"{") for part in parts[inside::2])
        inside ^= len(parts) % 2 == 0
    return count > MAX_JSON_CONTAINERS


def check_json(value: Any) -> Any:
    """Return the JSON value unchanged; raise UnusableJson if it nests too deep or has an unstorable number."""
    for one in _walk_values(value):
        if isinstance(one, float) and isnan(one):
            raise NotANumber("The JSON has `NaN`, which is no JSON. Send a number, or null.")
        if isinstance(one, int | float) and not is_storable_number(one):
            raise _too_large_error()
    return value


def check_json_texts(value: Any) -> Any:
    """Return the JSON value unchanged; raise as `check_json` does, and ValueError for a text that cannot be stored."""
    for text in _texts_within(check_json(value)):
        check_text(text)
    return value


def check_json_unicode(value: Any) -> Any:
    """Return the JSON value unchanged; raise Invalid for a text with half a surrogate pair, which UTF-8 cannot hold."""
    for text in _texts_within(value):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Invalid(
                "The JSON has a text with half a surrogate pair. Send valid Unicode.", code="invalid_request"
            ) from None
    return value


def _texts_within(value: Any) -> Iterator[str]:
    """Yield every text within a JSON value, names of members too."""
    for one in _walk_values(value):
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            yield from map(str, one)


def _walk_values(value: Any) -> Iterator[Any]:
    """Yield every value within a JSON value, level by level; raise UnusableJson below the deepest level.

    Without recursion, which is what deep nesting would exhaust.
    """
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
    """Raise ValueError for NaN and Infinity, which Python's json reads and JSON does not have."""
    raise ValueError(f"{word} is no JSON")


def _too_deep_error() -> UnusableJson:
    """Return the error for JSON that nests too deep."""
    return UnusableJson(
        f"The JSON nests deeper than {MAX_JSON_DEPTH} levels. Flatten it, or send the inner part as one text.",
        code="json_too_deep",
    )


def _too_large_error() -> UnusableJson:
    """Return the error for a JSON number that no double can hold."""
    return UnusableJson(
        "The JSON has a number beyond 1.8e308. Send it as a text.",
        code="json_number_too_large",
    )


_MAX_ERRORS = 5


def describe_validation_error(error: ValidationError) -> str:
    """Return where a value is invalid and how, for the first five places that pydantic found."""
    found = error.errors(include_url=False)[:_MAX_ERRORS]
    return "; ".join(": ".join(filter(None, (_place_text(one["loc"]), _plain_message(one["msg"])))) for one in found)


def _place_text(place: Sequence[int | str]) -> str:
    """Return the path of a place in a value, joined by dots, as pydantic gives it; empty for the whole value."""
    return ".".join(str(part) for part in place)


def _plain_message(message: str) -> str:
    """Return pydantic's message without its prefix and its full stop, to be continued in a sentence."""
    return message.removeprefix("Value error, ").removesuffix(".")
