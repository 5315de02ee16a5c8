"""Counts of the suites that others wrote: `make conformance` prints them and writes them into the documents."""

from dataclasses import dataclass
from pathlib import Path

BEGIN, END = "<!-- suites: begin -->", "<!-- suites: end -->"


@dataclass(frozen=True, kw_only=True)
class Count:
    """What one suite said."""

    suite: str
    version: str
    passed: int
    failed: int
    left_out: str = ""
    """Which of its tests are not asked of us, and why."""


TALLY: list[Count] = []


def counted(suite: str, version: str, *, passed: int, failed: int = 0, left_out: str = "") -> None:
    """The suite's count stands in the table."""
    TALLY.append(Count(suite=suite, version=version, passed=passed, failed=failed, left_out=left_out))


def rendered(tally: list[Count]) -> str:
    """The table."""
    rows = [
        f"| {c.suite} | {c.version} | {c.passed} | {c.failed} | {c.left_out or '–'} |"
        for c in sorted(tally, key=lambda c: c.suite)
    ]
    return "\n".join(["| suite | version | passed | failed | not asked of us |", "|---|---|---|---|---|", *rows])


def written(tally: list[Count], root: Path) -> None:
    """The table stands between the marks of both documents."""
    for name in ("docs/conformance.md", "README.md"):
        page = root / name
        text = page.read_text(encoding="utf-8") if page.exists() else ""
        if BEGIN in text:
            before, rest = text.split(BEGIN, 1)
            page.write_text(f"{before}{BEGIN}\n{rendered(tally)}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
