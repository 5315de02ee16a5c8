"""JSON from outside: how deep it may nest and which numbers it may hold, the same at every door.

What is nested deeper than this ends in a RecursionError somewhere between the door and the database, and what Python
reads as infinity no database takes. So both are refused where JSON comes in, before anybody looks at the value.
"""

import json
from collections.abc import Iterator
from typing import Any

from mnemon.errors import Invalid, Malformed
from mnemon.outside import reads_outside_text
from mnemon.storable import DEEPEST, as_sent, storable_number

IN_WORDS = f"Any JSON of at most {DEEPEST} levels of lists and objects, with no number beyond 1.8e308."
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
        raise _too_deep() from None
    except ValueError as error:
        if "integer string conversion" in str(error):  # Python reads no integer of more than 4,300 digits
            raise _too_large() from None
        raise Malformed("The body is not JSON. Send valid JSON.", code="malformed_json") from None
    return check_json(value)


def check_json(value: Any) -> Any:
    """Give the value back, or raise UnusableJson where it nests too deep or holds a number that cannot be stored."""
    for one in _walk(value):
        if isinstance(one, int | float) and not storable_number(one):
            raise _too_large()
    return value


def json_as_sent(value: Any) -> Any:
    """Give the value back where it is within the limits and every text in it can be stored."""
    check_json(value)
    for one in _walk(value):
        if isinstance(one, str):
            as_sent(one)
        elif isinstance(one, dict):
            for name in one:
                as_sent(str(name))
    return value


def _walk(value: Any) -> Iterator[Any]:
    """Every value within the value, level by level, without recursion; raises UnusableJson below the deepest level."""
    level = [value]
    for depth in range(DEEPEST + 1):
        yield from level
        nested = [one for one in level if isinstance(one, dict | list)]
        if not nested:
            return
        if depth == DEEPEST:
            raise _too_deep()
        level = [inner for one in nested for inner in (one.values() if isinstance(one, dict) else one)]


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _too_deep() -> UnusableJson:
    return UnusableJson(
        f"The JSON nests deeper than {DEEPEST} levels. Flatten it, or send the inner part as one text.",
        code="json_too_deep",
    )


def _too_large() -> UnusableJson:
    return UnusableJson(
        "The JSON has a number beyond 1.8e308. Send it as a text.",
        code="json_number_too_large",
    )
