"""The results: kept area by area in docs/mutants.json, and told in docs/mutants.md."""

import json
import re
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mutants.areas import ROOT, Area
from mutants.mutations import Mutant
from mutants.trial import Verdict

RESULTS = ROOT / "docs" / "mutants.json"
PAGE = ROOT / "docs" / "mutants.md"
_HEAD = """# Mutation testing

`make mutants` changes the code in one place, runs the tests that should notice, and counts the changes that none did.
`make mutants AREA=evidence` does it for one area; `scripts/mutants/areas.toml` says which files an area has and which
tests answer for them; of these, the ones that enter the changed function are run.
[Decision 22](decisions/0022-mutation-testing.md) says why with Cosmic Ray and with which mutations. This page is
written by the run.

A mutant that makes the tests hang counts as noticed and is named apart. The score is what was noticed of what was
tried. An area with more than {most} mutants is sampled: the seed says which.

| area | mutants | tried | killed | timeouts | survived | score | date |
|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True, kw_only=True)
class Survivor:
    """A mutant that no test noticed."""

    path: str
    line: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """The mutant's name."""
        return f"{self.path}: {self.before} → {self.after}"


@dataclass(kw_only=True)
class Result:
    """What a run over one area found."""

    area: str
    date: str
    mutants: int
    """How many there are."""
    seed: int
    killed: int = 0
    timeouts: list[str] = field(default_factory=list)
    survivors: list[Survivor] = field(default_factory=list)

    @property
    def tried(self) -> int:
        return self.killed + len(self.timeouts) + len(self.survivors)

    def note(self, mutant: Mutant, verdict: Verdict) -> None:
        """Count one trial."""
        if verdict == "killed":
            self.killed += 1
        elif verdict == "timeout":
            self.timeouts.append(mutant.name)
        else:
            self.survivors.append(
                Survivor(path=mutant.path, line=mutant.line, before=mutant.before, after=mutant.after)
            )


def keep_result(result: Result) -> None:
    """Put the area's result in the place of its last one."""
    held: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    held[result.area] = asdict(result)
    RESULTS.write_text(json.dumps(held, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def kept_result(area: str) -> Result:
    """The area's last result. Raises when there is none."""
    held: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if area not in held:
        raise SystemExit(f"There is no result of {area} yet. Run `make mutants AREA={area}` first.")
    return _result(held[area])


def write_page(areas: dict[str, Area], *, most: int) -> None:
    """Tell all kept results, survivors with their reasons."""
    held: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    reasons = load_reasons()
    lines, told = [_HEAD.format(most=most).rstrip("\n")], []
    for name in areas:
        if name not in held:
            lines.append(f"| {name} | – | not run yet | | | | | |")
            continue
        result = _result(held[name])
        lines.append(_row(result))
        told += _survivors(result, reasons)
    PAGE.write_text("\n".join([*lines, "", "## Survivors", "", *told]).rstrip() + "\n", encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Reasons:
    """Why mutants may live."""

    by_name: dict[str, str]
    by_pattern: dict[re.Pattern[str], str]
    """For kinds of mutants that are the same wherever they come up; a pattern matches a mutant's whole name."""

    def why(self, name: str) -> str | None:
        """Return why the mutant may live; None when nobody has said."""
        found = (why for pattern, why in self.by_pattern.items() if pattern.fullmatch(name))
        return self.by_name.get(name) or next(found, None)


def load_reasons() -> Reasons:
    """Read reasons.toml."""
    with Path(__file__).with_name("reasons.toml").open("rb") as file:
        told = tomllib.load(file)
    return Reasons(
        by_name={name: why for why, names in told["reasons"].items() for name in names},
        by_pattern={re.compile(one): why for why, patterns in told["patterns"].items() for one in patterns},
    )


def _result(told: dict[str, Any]) -> Result:
    return Result(**{**told, "survivors": [Survivor(**each) for each in told["survivors"]]})


def _row(result: Result) -> str:
    noticed = result.killed + len(result.timeouts)
    tried = f"{result.tried} (seed {result.seed})" if result.tried < result.mutants else "all"
    score = f"{100 * noticed / result.tried:.1f} %" if result.tried else "–"
    figures = f"{result.killed} | {len(result.timeouts)} | {len(result.survivors)} | {score}"
    return f"| {result.area} | {result.mutants} | {tried} | {figures} | {result.date} |"


def _survivors(result: Result, reasons: Reasons) -> list[str]:
    if not result.survivors:
        return []
    lines = [f"### {result.area}", "", "| where | change | why it may live |", "|---|---|---|"]
    for one in result.survivors:
        why = reasons.why(one.name) or "**not explained yet**"
        lines.append(f"| `{one.path}:{one.line}` | `{_cell(one.before)}` → `{_cell(one.after)}` | {why} |")
    return [*lines, ""]


def _cell(text: str) -> str:
    short = text if len(text) <= 110 else f"{text[:107]}…"
    return short.replace("|", "\\|").replace("`", "'") or " "
