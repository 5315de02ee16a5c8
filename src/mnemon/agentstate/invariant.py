"""Invariants in a form that can be checked against a result; any other text is an assumption.

    count >= 2              one of = == != < <= > >= (and ≠ ≤ ≥), before a whole number
    status = "done"         a field of the result's output, dotted where it is nested; also != and ≠
    ids subset of [a, b]    the result names no other id; also ids ⊆ a, b and ids in a, b

Several are joined by `and` or `;`. If one of them has none of these forms, the whole is free text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from mnemon.errors import Invalid
from mnemon.input_checks import parse_json

LONGEST_INVARIANT = 300
"""A longer text is read as free text."""
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": eq, "==": eq, "!=": ne, "≠": ne, "<": lt, "<=": le, "≤": le, ">": gt, ">=": ge, "≥": ge,
}  # fmt: skip
_JOINT = re.compile(r"(?:;|\band\b)", re.IGNORECASE)
_COUNT = re.compile(r"count\s*(==|!=|<=|>=|=|≠|<|≤|>|≥)\s*(\d{1,10})", re.IGNORECASE)
_IDS = re.compile(r"ids\s*(?:⊆|\bsubset\s+of\b|\bin\b)\s*(\S.{0,290})", re.IGNORECASE)
_FIELD = re.compile(r"([A-Za-z_][\w.-]{0,99})\s*(==|!=|=|≠)\s*(\S.{0,190})")
_MISSING = object()


class InvariantCheck(StrEnum):
    """What checking an invariant against a result gave."""

    HELD = "held"
    BROKEN = "broken"
    UNCHECKED = "unchecked"
    """It is free text, or the result lacks what it is about."""


@dataclass(frozen=True, kw_only=True)
class ComparableResult:
    """What of a result can be compared with an expectation. None where the result says nothing of it."""

    ids: frozenset[str] | None
    count: int | None
    output: Any
    """The result's output as parsed JSON; anything but an object has no fields."""


Condition = Callable[[ComparableResult], bool | None]
"""Says whether a result meets it; None where the result lacks what it is about."""


def check_invariant(invariant: str | None, result: ComparableResult) -> InvariantCheck:
    """Return whether the result breaks the invariant, meets it in every part, or cannot be checked against it."""
    conditions = parse_invariant(invariant) if invariant else None
    if not conditions:
        return InvariantCheck.UNCHECKED
    met = [condition(result) for condition in conditions]
    if False in met:
        return InvariantCheck.BROKEN
    return InvariantCheck.UNCHECKED if None in met else InvariantCheck.HELD


def is_checkable(invariant: str | None) -> bool:
    """Say whether the invariant is in a form that `check_invariant` can check."""
    return invariant is not None and parse_invariant(invariant) is not None


def parse_invariant(text: str) -> tuple[Condition, ...] | None:
    """Return the conditions that the invariant states; None for free text."""
    if len(text) > LONGEST_INVARIANT:
        return None
    conditions = tuple(_parse_condition(part.strip()) for part in _JOINT.split(text))
    stated = tuple(condition for condition in conditions if condition is not None)
    return stated if stated and len(stated) == len(conditions) else None


def _parse_condition(text: str) -> Condition | None:
    """Return the condition that one part of an invariant states; None for free text."""
    if found := _COUNT.fullmatch(text):
        return _count_condition(found[1], int(found[2]))
    if found := _IDS.fullmatch(text):
        return _ids_condition(found[1])
    if found := _FIELD.fullmatch(text):
        return _field_condition(found[1], found[2], found[3].strip())
    return None


def _count_condition(operator: str, number: int) -> Condition:
    """Return the condition that the result's count compares with the number by this operator."""
    holds = _OPERATORS[operator]
    return lambda result: None if result.count is None else holds(result.count, number)


def _ids_condition(listed: str) -> Condition:
    """Return the condition that the result names no ids other than the listed ones."""
    names = listed.strip().removeprefix("[").removesuffix("]").removeprefix("{").removesuffix("}").split(",")
    allowed = {name.strip().strip("\"'") for name in names}
    return lambda result: None if result.ids is None else result.ids <= allowed


def _field_condition(path: str, operator: str, wanted: str) -> Condition | None:
    """Return the condition that an output's field equals, or differs from, this value; None for several words."""
    value = _parse_value(wanted)
    if value is _MISSING:
        return None
    holds = _OPERATORS[operator]

    def check_field(result: ComparableResult) -> bool | None:
        """Say whether the output's field meets the condition; None if the output has no such field."""
        found = _find_field(result.output, path)
        return None if found is _MISSING else holds(_with_type(found), _with_type(value))

    return check_field


def _parse_value(text: str) -> Any:
    """Return the value that the text gives as JSON or as one bare word; `_MISSING` for several words."""
    try:
        value = parse_json(text)
    except Invalid:
        return _MISSING if len(text.split()) != 1 else text.strip("'")
    return _MISSING if isinstance(value, (dict, list)) else value


def _with_type(value: Any) -> tuple[bool, Any]:
    """Return the value with its type, so that `true` does not equal 1."""
    return isinstance(value, bool), value


def _find_field(output: Any, path: str) -> Any:
    """Return the field of the output at the dotted path, or `_MISSING`."""
    for name in path.removeprefix("output.").split("."):
        if not isinstance(output, dict) or name not in output:
            return _MISSING
        output = output[name]
    return output
