"""What an import must know about the tables of a room, so that it stores only rows that the room can read again.

Each room lists its tables in its `imported.py`, with the very function by which it reads a row and the bounds of every
text; `custody` applies them. A house test finds a column without a bound.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from mnemon.db.tx import Row

ID_CHARS = 200
"""Most characters of an id, or of a name that a caller chose."""
KEY_CHARS = 4_000
"""Most characters of a key made of names: normalizing a name can make it longer."""
SHORT_CHARS = 2_000
"""Most characters of a line or a reason."""
LONG_CHARS = 20_000
"""Most characters of a fact, a todo, or a name that a model or a tool chose."""
TEXT_CHARS = 400_000
"""Most characters of a message; a reply has 200,000 at most."""
MAX_ITEMS = 10_000
"""Most items of a list."""


@dataclass(frozen=True, kw_only=True)
class TextBound:
    """The bound of a text column, or of each text in a column of texts."""

    most_chars: int
    most_items: int = MAX_ITEMS


@dataclass(frozen=True, kw_only=True)
class JsonShape:
    """What a JSON column holds."""

    adapter: TypeAdapter[Any] | None = None
    """Reads the value strictly; None for a value that may be any JSON."""
    is_open: bool = False
    """Whether the values in it may be any JSON, and are not looked into."""
    most_chars: int = LONG_CHARS
    """Most characters of each text in it."""
    most_items: int = MAX_ITEMS
    """Most items of each list or object in it."""
    free: frozenset[str] = frozenset()
    """Members that hold any JSON, such as a tool's output, and are not looked into."""


ColumnBound = TextBound | JsonShape


@dataclass(frozen=True, kw_only=True)
class ImportedTable:
    """How rows of one table are checked before they are imported."""

    name: str
    read: Callable[[Row], object]
    """Reads a row as the room does; raises ValueError, KeyError or TypeError for one that Mnemon never writes."""
    columns: Mapping[str, ColumnBound] = field(default_factory=dict)
    """The bound of every text, list of texts and JSON column."""


def id_bounds(*columns: str) -> dict[str, ColumnBound]:
    """Return the bounds of columns that hold an id, or the name of a person, persona or source."""
    return dict.fromkeys(columns, TextBound(most_chars=ID_CHARS))


def text_bounds(most_chars: int, *columns: str) -> dict[str, ColumnBound]:
    """Return the same bound for each of these text columns."""
    return dict.fromkeys(columns, TextBound(most_chars=most_chars))
