"""Every part of the soak has its row in the docs, and every row its part."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
_MARK = re.compile(r"pytest\.mark\.soak\b(?:\(\"([\w-]+)\")?")
_NAMES = re.compile(r"`([\w-]+)`")


def marked_parts() -> Iterator[str]:
    """Give the parts as `support/soak/options.py` names them; a mark without a name is called after its file."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in _MARK.findall(path.read_text(encoding="utf-8")):
            yield name or path.stem.removeprefix("test_").replace("_", "-")


def documented_parts() -> list[str]:
    text = (ROOT / "docs" / "soak.md").read_text(encoding="utf-8")
    rows = text.partition("\n## The parts\n")[2].partition("\n## ")[0].splitlines()
    return [name for row in rows if row.startswith("| `") for name in _NAMES.findall(row.split("|")[1])]


def test_the_docs_name_every_part_once() -> None:
    assert sorted(documented_parts()) == sorted(set(marked_parts()))
