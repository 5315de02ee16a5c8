"""Named SQL statements, read from the `queries.sql` beside the module that asks."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (?P<name>[a-z][a-z0-9_]*)\s*$", re.MULTILINE)


@cache
def statements(package: str) -> Mapping[str, str]:
    """The package's statements by name: `SQL = statements(__package__)`, then `tx.all(SQL["current"], …)`."""
    return parse(files(package).joinpath("queries.sql").read_text(encoding="utf-8"))


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
