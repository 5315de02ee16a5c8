"""Values that a column could hold and no row of ours does: refused by an import, since reading them back would fail."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mnemon.custody.catalog import Table

_FIRST_YEAR, _LAST_YEAR = 1000, 9000
_MOST = {"smallint": 2**15 - 1, "integer": 10**9, "bigint": 10**15}
"""Far below what the type holds, so that counting on from there does not overflow it."""
_LONGEST = {"memories": 20_000, "memory_versions": 20_000, "note_texts": 8_000_000}
"""Characters of `content`, as the API takes it; of a note, what the body of a request holds."""
_LONGEST_TEXT = 400_000
"""Of any other text; a reply has 200,000 at most."""


def unusable_value(table: Table, row: Mapping[str, Any]) -> str | None:
    """Say what is wrong with the first value that is out of range; None where all can be used."""
    types = dict(zip(table.columns, table.types, strict=True))
    for name, value in row.items():
        kind = types[name]
        if kind.startswith("timestamp") and isinstance(value, str) and not _is_our_time(value):
            return f"has a time in {name} that lies outside the years {_FIRST_YEAR} to {_LAST_YEAR}"
        if kind in _MOST and isinstance(value, int) and abs(value) > _MOST[kind]:
            return f"has a number in {name} that is too large"
        if kind == "text" and isinstance(value, str) and len(value) > _longest(table.name, name):
            return f"has a text in {name} that is longer than {_longest(table.name, name):,} characters"
    return None


def _longest(table: str, column: str) -> int:
    return _LONGEST.get(table, _LONGEST_TEXT) if column == "content" else _LONGEST_TEXT


def _is_our_time(text: str) -> bool:
    try:
        return _FIRST_YEAR <= datetime.fromisoformat(text).year <= _LAST_YEAR
    except ValueError:
        return False
