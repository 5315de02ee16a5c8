"""Named SQL statements, read from the `queries.sql` beside the module that asks."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (?P<name>[a-z][a-z0-9_]*)\s*$", re.MULTILINE)
_COMMENT = re.compile(r"--[^\n]*")
_DOES = re.compile(
    r"\b(?:insert|update|delete|merge|truncate|create|alter|drop|lock|set|call|for\s+(?:no\s+key\s+)?(?:update|share)|for\s+key"
    r"|pg_notify|pg_advisory\w*|set_config|nextval)\b",
    re.IGNORECASE,
)
"""Words of a statement that may write or lock."""
_PLACEHOLDER = re.compile(r"%\((\w+)\)s|%%")
_LABEL_CHARS = 60
_NAMES: dict[str, str] = {}
"""Package and name of every statement that was read, by its text."""


@cache
def statements(package: str) -> Mapping[str, str]:
    """The package's statements by name: `SQL = statements(__package__)`, then `tx.all(SQL["current"], …)`."""
    found = parse(files(package).joinpath("queries.sql").read_text(encoding="utf-8"))
    _NAMES.update({sql: f"{package.removeprefix('mnemon.')}:{name}" for name, sql in found.items()})
    return found


def parse(text: str) -> dict[str, str]:
    """Statements by name; each begins with a line `-- name: …`, and a comment below it says what it gives."""
    marks = list(_NAME.finditer(text))
    found: dict[str, str] = {}
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        name = mark["name"]
        if name in found:
            raise ValueError(f"two statements are called {name}")
        found[name] = text[mark.end() : following.start() if following else len(text)].strip()
    return found


@lru_cache(maxsize=2_000)
def positional(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """The statement with `$1`, `$2` … in place of `%(name)s`, as PostgreSQL takes it, and the names in that order."""
    places: dict[str, int] = {}

    def place(found: re.Match[str]) -> str:
        name = found[1]
        return "%" if name is None else f"${places.setdefault(name, len(places) + 1)}"

    return _PLACEHOLDER.sub(place, sql).encode(), tuple(places)


@lru_cache(maxsize=2_000)
def only_reads(sql: str) -> bool:
    """Whether the statement surely writes nothing and locks no row; told by its words, and in doubt it does."""
    return _DOES.search(_COMMENT.sub("", sql)) is None


def statement_label(sql: str) -> str:
    """Say which statement it is, for a log: its package and name, or else its first words up to any literal."""
    named = _NAMES.get(sql)
    if named is not None:
        return named
    words = " ".join(_COMMENT.sub("", sql).partition("'")[0].split())
    return words if len(words) <= _LABEL_CHARS else f"{words[:_LABEL_CHARS]}…"
