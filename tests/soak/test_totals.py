"""The running totals of the soak: runs add up, nothing is forgotten, and the document says what its data say."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.soak.figures import Figures
from support.soak.totals import DOCUMENT, ROOT, Run, Totals, read_totals, record_run, with_run, with_totals

EMPTY = 'Before.\n\n<!-- soak-totals {"totals": {}, "earlier": []} -->\n<!-- /soak-totals -->\n\nAfter.\n'
FIRST = Figures(
    count=50,
    acknowledged=700,
    ready_s=4.5,
    summed={"deadlocks": 0, "asked again": 9},
    longest={"seconds for a write": 1.5},
    latest={"median": 2.5},
)
SECOND = Figures(
    count=30, acknowledged=300, lost=1, ready_s=3.5, summed={"deadlocks": 0, "asked again": 1}, latest={"median": 2.0}
)


def run(figures: Figures, *, version: str = "abc1234", day: str = "2026-11-15") -> Run:
    return Run(part="kills", goal=600, unit="kills", figures=figures, version=version, day=day)


def test_runs_add_up_and_the_longest_stays() -> None:
    once = with_run(Totals(current={}), run(FIRST))
    twice = with_run(once, run(SECOND, version="def5678", day="2026-11-16")).current["kills"]
    assert (twice.runs, twice.since, twice.began, twice.version, twice.last) == (
        2,
        "abc1234",
        "2026-11-15",
        "def5678",
        "2026-11-16",
    )
    assert twice.figures == Figures(
        count=80,
        acknowledged=1000,
        lost=1,
        ready_s=4.5,
        summed={"deadlocks": 0, "asked again": 10},
        longest={"seconds for a write": 1.5},
        latest={"median": 2.0},
    )


def test_a_fresh_total_keeps_the_old_one_among_the_earlier() -> None:
    totals = with_run(with_run(Totals(current={}), run(FIRST)), run(SECOND, version="def5678"), fresh=True)
    assert totals.current["kills"].figures == SECOND
    assert totals.current["kills"].since == "def5678"
    assert [one.figures for one in totals.earlier] == [FIRST]


def test_a_document_gives_back_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "soak.md"
    path.write_text(EMPTY)
    record_run(path, run(FIRST))
    record_run(path, run(SECOND), fresh=True)
    document = path.read_text()
    held = read_totals(document)
    assert held.current["kills"].figures == SECOND
    assert [one.figures for one in held.earlier] == [FIRST]
    assert "| `kills` | 30 of 600 kills | 300 | 1 | 0 | 0 | 3.50 s |" in document
    assert document.startswith("Before.\n")
    assert document.endswith("\nAfter.\n")


@pytest.mark.parametrize("fault", ["lost", "twice", "stuck"])
def test_figures_with_any_fault_are_not_clean(fault: str) -> None:
    clean = Figures(count=1, acknowledged=5)
    clean.assert_clean()
    faulty: dict[str, Any] = {fault: 1}
    with pytest.raises(AssertionError, match=f"1 {fault}"):
        replace(clean, **faulty).assert_clean()


def test_the_document_shows_the_totals_that_its_data_hold() -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    assert with_totals(document, read_totals(document)) == document


def test_the_document_names_every_part() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    parts = {name for source in sources for name in re.findall(r'mark\.soak\(\s*"([\w-]+)"', source)}
    assert {"server-kills", "storm"} <= parts
    document = DOCUMENT.read_text(encoding="utf-8")
    assert [name for name in sorted(parts) if f"`{name}`" not in document] == []
