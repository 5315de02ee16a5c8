"""The tables of the docs: a blank line in a table ends it, and what follows is shown as text with bars."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
DELIMITER = re.compile(r"\|[\s:|-]+\|")


def broken_tables(text: str) -> list[str]:
    """Return the first row of each table that has no line of dashes below it."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = ["", *prose.splitlines(), ""]
    starts = [at for at, line in enumerate(lines) if line.startswith("|") and not lines[at - 1].startswith("|")]
    return [lines[at] for at in starts if not DELIMITER.fullmatch(lines[at + 1].rstrip())]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_no_blank_line_breaks_a_table(page: Path) -> None:
    assert broken_tables(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("text", ["| a |\n\n|---|\n| 1 |", "| a |\n|---|\n| 1 |\n\n| 2 |", "| a |\n|---|\n\n| 1 |\n"])
def test_a_broken_table_is_found(text: str) -> None:
    assert broken_tables(text)
    assert not broken_tables(text.replace("\n\n", "\n"))
