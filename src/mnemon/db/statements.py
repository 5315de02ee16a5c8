"""SQL statements: read by name from a package's `queries.sql`, logged when slow, and prepared once per connection.

`load_statements` reads the file and `positional_query` turns its `%(name)s` into `$1`. `statement_label` and
`warn_slow` serve the log. `PreparedStatements` tracks what one connection has prepared, least recently used first.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

import structlog

_NAME_LINE = re.compile(r"^-- name: (?P<name>[a-z][a-z0-9_]*)\s*$", re.MULTILINE)
_COMMENT = re.compile(r"--[^\n]*")
# By words and not by a parser: in doubt a statement counts as writing, which is safe everywhere.
_WRITING_WORDS = re.compile(
    r"\b(?:insert|update|delete|merge|truncate|create|alter|drop|lock|set|call|for\s+(?:no\s+key\s+)?(?:update|share)|for\s+key"
    r"|pg_notify|pg_advisory\w*|set_config|nextval)\b",
    re.IGNORECASE,
)
"""Words of a statement that may write or lock."""
_PLACEHOLDER = re.compile(r"%\((\w+)\)s|%%")
_LABEL_CHARS = 60
# Filled by load_statements and label_statement alone, at import, so that it does not grow with use.
_LABELS: dict[str, str] = {}
"""Package and name of every loaded statement, by its text."""


@cache
def load_statements(package: str) -> Mapping[str, str]:
    """Return the SQL statements of a package's `queries.sql`, by name.

    SQL = load_statements("mnemon.jobs")
    rows = await tx.fetch_all(SQL["jobs"], org_id=scope.org_id)
    """
    found = parse_statements(files(package).joinpath("queries.sql").read_text(encoding="utf-8"))
    _LABELS.update({sql: f"{package.removeprefix('mnemon.')}:{name}" for name, sql in found.items()})
    return found


def label_statement(label: str, sql: str) -> str:
    """Register a label for SQL that is in no `queries.sql`, for the log, and return the SQL."""
    _LABELS[sql] = label
    return sql


def parse_statements(text: str) -> dict[str, str]:
    """Return the SQL statements of a file's text by name; each begins with a line `-- name: …`.

    Raises ValueError where two have the same name.
    """
    marks = list(_NAME_LINE.finditer(text))
    found: dict[str, str] = {}
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        name = mark["name"]
        if name in found:
            raise ValueError(f"two statements are called {name}")
        found[name] = text[mark.end() : following.start() if following else len(text)].strip()
    return found


@lru_cache(maxsize=2_000)
def positional_query(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the statement with `$1`, `$2` … in place of `%(name)s`, as PostgreSQL takes it, and the names in order."""
    places: dict[str, int] = {}

    def number_placeholder(found: re.Match[str]) -> str:
        """Return `$n` for a named parameter, the same n for the same name; `%` for `%%`."""
        name = found[1]
        return "%" if name is None else f"${places.setdefault(name, len(places) + 1)}"

    return _PLACEHOLDER.sub(number_placeholder, sql).encode(), tuple(places)


@lru_cache(maxsize=2_000)
def is_read_only(sql: str) -> bool:
    """Say whether the SQL surely writes nothing and locks no row; judged by its words, False in doubt."""
    return _WRITING_WORDS.search(_COMMENT.sub("", sql)) is None


def statement_label(sql: str) -> str:
    """Return a label of the SQL for the log: its package and name, or else its first words up to any literal."""
    named = _LABELS.get(sql)
    if named is not None:
        return named
    text = " ".join(_COMMENT.sub("", sql).partition("'")[0].split())
    return text if len(text) <= _LABEL_CHARS else f"{text[:_LABEL_CHARS]}…"


log = structlog.get_logger(__name__)

# Read through the module by pipeline.py, so that tests can change it.
SLOW_S = 1.0
_MAX_LABELS = 5


def warn_slow(statements: Sequence[str], seconds: float) -> None:
    """Log a warning about a round that took longer than `SLOW_S`, naming its statements but not their values."""
    labels = list(dict.fromkeys(statement_label(sql) for sql in statements))
    shown = [label for label in labels if not label.startswith(("BEGIN", "SET LOCAL"))] or labels
    log.warning(
        "slow_statement", statement=", ".join(shown[:_MAX_LABELS]), statements=len(statements), ms=round(seconds * 1000)
    )


MAX_PREPARED = 200

PreparedKey = tuple[bytes, tuple[int, ...]]
"""A statement and the type oids of its parameters."""


class StatementChange(NamedTuple):
    """A command sent to the server to prepare a statement, or to drop one."""

    key: PreparedKey
    name: bytes
    dropped: bool


class PreparedStatements:
    """What the server will have prepared when everything planned so far has succeeded.

    A round is planned while it is written. What the server then did not do is undone by `undo_changes`, so that between
    two rounds this is exactly what the server has.
    """

    def __init__(self, most: int = MAX_PREPARED) -> None:
        """Start with nothing prepared; keep at most this many."""
        self._most = most
        self._names: OrderedDict[PreparedKey, bytes] = OrderedDict()

    def __len__(self) -> int:
        """Return how many statements the server will have prepared."""
        return len(self._names)

    def __contains__(self, key: PreparedKey) -> bool:
        """Say whether the server will have this statement prepared."""
        return key in self._names

    def plan_use(self, key: PreparedKey) -> tuple[bytes, list[StatementChange]]:
        """Return the prepared statement's name and the PREPARE or DEALLOCATE to send first; record them as done."""
        known = self._names.get(key)
        if known is not None:
            self._names.move_to_end(key)
            return known, []
        changes = []
        # PostgreSQL prepares and drops outside of transactions, so a rollback does not change this record.
        while len(self._names) >= self._most:
            unused, name = self._names.popitem(last=False)
            changes.append(StatementChange(unused, name, dropped=True))
        name = statement_name(key)
        self._names[key] = name
        changes.append(StatementChange(key, name, dropped=False))
        return name, changes

    def undo_changes(self, changes: Iterable[StatementChange]) -> None:
        """Take back planned PREPAREs and DEALLOCATEs that the server skipped, the last one first."""
        for change in changes:
            if change.dropped:
                self._names[change.key] = change.name
                self._names.move_to_end(change.key, last=False)
            else:
                del self._names[change.key]


def statement_name(key: PreparedKey) -> bytes:
    """Return the name under which a statement is prepared: a hash of its text and types.

    The same name then means the same statement on every connection: a pooler that mixes up connections can cause an
    error, but never the execution of another statement.
    """
    query, types = key
    return b"mnemon_" + sha256(query + repr(types).encode()).hexdigest()[:24].encode()
