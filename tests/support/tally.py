"""Counts of the suites that others wrote: `make conformance` prints them and writes them into the documents."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

BEGIN, END = "<!-- suites: begin -->", "<!-- suites: end -->"


@dataclass(frozen=True, kw_only=True)
class Count:
    """What one suite said."""

    suite: str
    version: str
    passed: int
    failed: int
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Which of its tests are not asked of us, and why."""


TALLY: list[Count] = []


def counted(
    suite: str, version: str, *, passed: int, failed: int = 0, left_out: Mapping[str, str] | None = None
) -> None:
    """The suite's count stands in the table."""
    TALLY.append(Count(suite=suite, version=version, passed=passed, failed=failed, left_out=left_out or {}))


def rendered(tally: list[Count]) -> str:
    """The table."""
    rows = [
        f"| {c.suite} | {c.version or '–'} | {c.passed} | {c.failed} | {len(c.left_out) or '–'} |"
        for c in sorted(tally, key=lambda c: c.suite)
    ]
    return "\n".join(["| suite | version | passed | failed | not asked of us |", "|---|---|---|---|---|", *rows])


def reasons(tally: list[Count]) -> str:
    """Every test that is not asked of us, with the reason."""
    parts = [
        "\n".join([f"### {c.suite}", "", *(f"- `{name.split('::')[-1]}`: {why}" for name, why in c.left_out.items())])
        for c in sorted(tally, key=lambda c: c.suite)
        if c.left_out
    ]
    return "\n\n".join(["## Not asked of us, and why", *parts]) if parts else ""


def written(tally: list[Count], root: Path) -> None:
    """The table stands between the marks of both documents, the reasons in one."""
    for name in ("docs/conformance.md", "README.md"):
        page = root / name
        text = page.read_text(encoding="utf-8")
        if BEGIN in text:
            before, rest = text.split(BEGIN, 1)
            block = rendered(tally) + (f"\n\n{reasons(tally)}" if name.startswith("docs") else "")
            page.write_text(f"{before}{BEGIN}\n{block}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
