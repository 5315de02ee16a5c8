"""Make objects from rows by the names of their columns."""

from collections.abc import Callable
from dataclasses import fields
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from mnemon.db.tx import Row

T = TypeVar("T")
Converter = Callable[[Any], Any]


def from_row(kind: type[T], row: Row, **values: Any) -> T:
    """Return an object of this dataclass whose fields are the columns of the same names, apart from these values.

    Columns become enums and tuples where the fields are. A field that has neither a column nor a value raises KeyError,
    even if it has a default: a column that a statement forgot to select must not go unnoticed.
    """
    columns, converters = _columns_of(kind, tuple(values))  # type: ignore[arg-type]  # mypy takes no class for hashable
    found = {name: row[name] for name in columns}
    for name, convert in converters:
        if found[name] is not None:
            found[name] = convert(found[name])
    return kind(**found, **values)


@cache
def _columns_of(kind: Any, given: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[tuple[str, Converter], ...]]:
    """Return the dataclass's fields that come from columns, and which of them to convert how; cached."""
    hints = get_type_hints(kind)
    columns = tuple(one.name for one in fields(kind) if one.name not in given)
    converters = ((name, _converter_for(hints[name])) for name in columns)
    return columns, tuple((name, convert) for name, convert in converters if convert is not None)


def _converter_for(hint: Any) -> Converter | None:
    """Return the function that converts the driver's value to this type (enum, tuple); None if none is needed."""
    if get_origin(hint) in (Union, UnionType):
        options = [one for one in get_args(hint) if one is not NoneType]
        return _converter_for(options[0]) if len(options) == 1 else None
    if get_origin(hint) is tuple:
        return tuple
    return hint if isinstance(hint, type) and issubclass(hint, Enum) else None
