"""The running totals in `docs/soak.md`: a JSON block for programs and the same as tables for readers.

<!-- soak-totals {"totals": {...}, "earlier": [...]} -->
(tables, made from the JSON)
<!-- /soak-totals -->
"""

import fcntl
import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from support.soak.figures import Figures, further_words

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "soak.md"
_BLOCK = re.compile(r"<!-- soak-totals (?P<json>.*?) -->.*?<!-- /soak-totals -->", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Total:
    """All runs of one part since a version of the code."""

    part: str
    goal: int
    """How many the part is to reach; 0 where it has no count."""
    unit: str
    """What is counted."""
    since: str
    """The commit at which the total began."""
    began: str
    """The day of the first run."""
    last: str
    """The day of the last run."""
    version: str
    """The commit of the last run."""
    runs: int
    figures: Figures


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run, to be added to a total."""

    part: str
    goal: int
    unit: str
    figures: Figures
    version: str
    """The commit it ran on."""
    day: str


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What the document holds."""

    current: Mapping[str, Total]
    """By part."""
    earlier: tuple[Total, ...] = ()
    """Totals that a fresh one replaced, oldest first."""


def with_run(totals: Totals, run: Run, *, fresh: bool = False) -> Totals:
    """The run is added to its part's total; `fresh` begins a new total and keeps the old one among the earlier."""
    held = totals.current.get(run.part)
    earlier = totals.earlier
    if held is not None and fresh:
        earlier, held = (*earlier, held), None
    if held is None:
        total = Total(
            part=run.part,
            goal=run.goal,
            unit=run.unit,
            since=run.version,
            began=run.day,
            last=run.day,
            version=run.version,
            runs=1,
            figures=run.figures,
        )
    else:
        total = replace(
            held,
            goal=run.goal,
            unit=run.unit,
            last=run.day,
            version=run.version,
            runs=held.runs + 1,
            figures=held.figures.plus(run.figures),
        )
    return Totals(current={**totals.current, run.part: total}, earlier=earlier)


def read_totals(document: str) -> Totals:
    """The totals that the document's block holds."""
    found = _BLOCK.search(document)
    assert found is not None, "docs/soak.md has no block of totals"
    held = json.loads(found["json"])
    return Totals(
        current={name: _total(one) for name, one in held["totals"].items()},
        earlier=tuple(_total(one) for one in held["earlier"]),
    )


def with_totals(document: str, totals: Totals) -> str:
    """The document with these totals in its block."""
    block = _block(totals)
    return _BLOCK.sub(lambda _: block, document, count=1)


def record_run(path: Path, run: Run, *, fresh: bool = False) -> None:
    """Add a run to the document; of two processes that do so at once, one waits."""
    with path.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        document = file.read()
        changed = with_totals(document, with_run(read_totals(document), run, fresh=fresh))
        file.seek(0)
        file.truncate()
        file.write(changed)


def code_version() -> str:
    """The commit that is checked out; `unknown` outside a repository."""
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return asked.stdout.strip() or "unknown"


def _total(held: Mapping[str, object]) -> Total:
    figures = held["figures"]
    assert isinstance(figures, dict)
    return Total(**{**held, "figures": Figures(**figures)})  # type: ignore[arg-type]


def _block(totals: Totals) -> str:
    held = {
        "totals": {name: asdict(one) for name, one in sorted(totals.current.items())},
        "earlier": [asdict(one) for one in totals.earlier],
    }
    lines = [f"<!-- soak-totals {json.dumps(held, indent=1)} -->", "", *_table(sorted(totals.current.items()))]
    if totals.earlier:
        lines += ["", "Earlier totals, which a new version of the code replaced:", ""]
        lines += _table([(one.part, one) for one in totals.earlier])
    return "\n".join([*lines, "", "<!-- /soak-totals -->"])


def _table(rows: list[tuple[str, Total]]) -> list[str]:
    head = "| part | so far | acknowledged | lost | twice | stuck | longest to ready | further | since | last run |"
    return [head, "|" + "---|" * 10, *(_row(name, one) for name, one in rows)]


def _row(name: str, total: Total) -> str:
    figures = total.figures
    so_far = f"{figures.count:,} {total.unit}"
    if total.goal:
        within = figures.count <= total.goal
        so_far = f"{figures.count:,} of {total.goal:,} {total.unit}" if within else f"{so_far} (goal: {total.goal:,})"
    cells = [
        f"`{name}`",
        so_far,
        f"{figures.acknowledged:,}",
        str(figures.lost),
        str(figures.twice),
        str(figures.stuck),
        "–" if figures.ready_s is None else f"{figures.ready_s:.2f} s",
        further_words(figures),
        f"{total.since}, {total.began}",
        f"{total.version}, {total.last}",
    ]
    return "| " + " | ".join(cells) + " |"
