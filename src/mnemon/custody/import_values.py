"""Which values an import refuses: those that a column could hold and Mnemon never writes, since reading would fail.

Types, times, numbers and lengths are checked here, before a row is stored; the room's own reader (`imported_table.py`)
then reads the row as it was stored.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from mnemon.custody.tables import OwnedTable
from mnemon.db.tx import Row
from mnemon.imported_table import ColumnBound, ImportedTable, JsonShape, TextBound
from mnemon.input_checks import check_text

_FIRST_YEAR, _LAST_YEAR = 1000, 9000
_MAX_NUMBERS = {"smallint": 2**15 - 1, "integer": 10**9, "bigint": 10**15}
"""Far below what the type holds, so that incrementing a stored value does not overflow it."""
_MAX_JSON_NUMBER = 10**15
_SIGNED_COLUMNS = frozenset({("memory_versions", "number")})
"""Whole numbers that may be negative: a repeat's."""


def find_unusable_value(table: OwnedTable, rule: ImportedTable, row: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the first value of an imported row that Mnemon never writes; None if none is."""
    types = dict(zip(table.columns, table.types, strict=True))
    for name, value in row.items():
        if value is None:
            continue
        fault = _value_fault(types[name], rule.columns.get(name), value)
        if fault is None and isinstance(value, int) and value < 0 and (table.name, name) not in _SIGNED_COLUMNS:
            fault = "a number", "is negative"
        if fault is not None:
            return f"has {fault[0]} in {name} that {fault[1]}"
    return None


def find_reader_fault(rule: ImportedTable, row: Row) -> str | None:
    """Return why the room cannot read a row as it was stored; None if it can."""
    try:
        rule.read(row)
    # What readers raise for a word that is no member of an enum, for a member of JSON that is missing, and for one
    # that is unknown; types are checked before.
    except (ValueError, KeyError, TypeError):
        return f"has values that {rule.name} never has"
    return None


Fault = tuple[str, str]
"""What kind of value is wrong, and why."""


def _value_fault(kind: str, bound: ColumnBound | None, value: Any) -> Fault | None:
    """Return what is wrong with a value of a column of this type; None if nothing is."""
    if kind in ("jsonb", "json"):
        return _json_fault(bound, value) if isinstance(bound, JsonShape) else None
    if kind == "text[]":
        return _list_fault(bound, value)
    if kind in _MAX_NUMBERS:
        return _number_fault(_MAX_NUMBERS[kind], value)
    if kind == "double precision":
        return None if _is_number(value) else ("a value", "is not a number")
    if kind == "boolean":
        return None if isinstance(value, bool) else ("a value", "is not true or false")
    if kind.startswith("timestamp"):
        plausible = isinstance(value, str) and _is_plausible_time(value)
        return None if plausible else ("a time", f"is none between the years {_FIRST_YEAR} and {_LAST_YEAR}")
    # A text, or a vector, which is one in JSON.
    return _text_fault(bound, value)


def _text_fault(bound: ColumnBound | None, value: Any) -> Fault | None:
    """Return what is wrong with a text; None if nothing is."""
    if not isinstance(value, str):
        return "a value", "is not a text"
    try:
        check_text(value)
    except ValueError as error:
        return "a text", str(error).partition(";")[0]
    if isinstance(bound, TextBound) and len(value) > bound.most_chars:
        return "a text", f"is longer than {bound.most_chars:,} characters"
    return None


def _list_fault(bound: ColumnBound | None, value: Any) -> Fault | None:
    """Return what is wrong with a list of texts; None if nothing is."""
    if not isinstance(value, list):
        return "a value", "is not a list of texts"
    if isinstance(bound, TextBound) and len(value) > bound.most_items:
        return "a list", f"has more than {bound.most_items:,} texts"
    return next((fault for one in value if (fault := _text_fault(bound, one)) is not None), None)


def _number_fault(most: int, value: Any) -> Fault | None:
    """Return what is wrong with a whole number; None if nothing is."""
    if not isinstance(value, int) or isinstance(value, bool):
        return "a value", "is not a whole number"
    return ("a number", f"is beyond {most:,}") if abs(value) > most else None


def _json_fault(shape: JsonShape, value: Any) -> Fault | None:
    """Return what is wrong with a JSON value; None if nothing is."""
    # Bounds before the shape: they are cheap, and keep the shape's reader from a million items.
    fault = None if shape.is_open else next(_bound_faults(shape, value), None)
    if fault is not None or shape.adapter is None:
        return fault
    try:
        # As JSON, since only there a list stands for a tuple and a text for a time or an enum's member.
        shape.adapter.validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"][:5])
        return "JSON", f"is never stored there, at {place}" if place else "is never stored there"
    return None


def _bound_faults(shape: JsonShape, value: Any) -> Iterator[Fault]:
    """Yield what of a JSON value is too long, too many or out of range, without its free members."""
    # Without recursion, which deep nesting would exhaust.
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and len(one) > shape.most_chars:
            yield "JSON", f"has a text of more than {shape.most_chars:,} characters"
        elif _is_number(one) and not 0 <= one <= _MAX_JSON_NUMBER:
            yield "JSON", f"has a number that is not between 0 and {_MAX_JSON_NUMBER:,}"
        elif isinstance(one, list | dict):
            if len(one) > shape.most_items:
                yield "JSON", f"has more than {shape.most_items:,} items"
            named = one.items() if isinstance(one, dict) else ((None, inner) for inner in one)
            waiting += [inner for name, inner in named if name not in shape.free]


def _is_number(value: Any) -> bool:
    """Say whether the JSON value is a number; true and false are none, though Python counts with them."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_plausible_time(text: str) -> bool:
    """Say whether the text is an ISO time between the first and the last year accepted."""
    try:
        return _FIRST_YEAR <= datetime.fromisoformat(text).year <= _LAST_YEAR
    except ValueError:
        return False
