"""Every statement of every writing route and every kind of work, failed with every class of error."""

import sys
from pathlib import Path

import pytest

from support.databases import new_database
from support.soak.figures import Figures
from support.soak.options import Part
from support.walk.catalog import REQUEST_SCENARIOS
from support.walk.house import open_house
from support.walk.scenario import Scenario
from support.walk.verdicts import Verdict
from support.walk.walker import Walked, Walker, every_fault
from support.walk.work import WORK_SCENARIOS

_TOGETHER = 5
"""Scenarios on one database: it does not grow large, and a walk that is broken off keeps what it has counted."""


def figures_of(walked: Walked) -> Figures:
    """The walk as the soak counts it."""
    return Figures(
        count=walked.pairs,
        acknowledged=walked.pairs,
        lost=walked.number(Verdict.LOST),
        twice=walked.number(Verdict.TWICE),
        stuck=walked.number(Verdict.STUCK),
        summed={
            "scenarios": walked.scenarios,
            "statements": walked.statements,
            "undocumented answers": walked.number(Verdict.ANSWER),
            "errors not logged once": walked.number(Verdict.LOG),
        },
    )


@pytest.mark.soak("fault-walk", count=0, unit="pairs of a statement and an error")
@pytest.mark.timeout(12 * 3600)
async def test_every_statement_fails_with_every_error(
    cluster_url: str, template: str, tmp_path: Path, soak_part: Part
) -> None:
    scenarios: list[Scenario] = [*REQUEST_SCENARIOS, *WORK_SCENARIOS]
    found: list[str] = []
    for begun in range(0, len(scenarios), _TOGETHER):
        with new_database(cluster_url, template) as url:
            async with open_house(url, tmp_path) as house:
                walked = await (await Walker.on(house)).walk(scenarios[begun : begun + _TOGETHER], every_fault)
        if walked.findings:
            found.append(walked.told())
            sys.stderr.write(f"\n{found[-1]}\n")
        soak_part.record(figures_of(walked))
    assert found == []
