"""Every statement of every writing route and every kind of work, failed with every class of error."""

import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import pytest

from support.soak.figures import Figures
from support.soak.options import Part
from support.walk.verdicts import Verdict
from support.walk.walker import Walked
from support.walk.whole import PIECES, walk_piece


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
def test_every_statement_fails_with_every_error(
    cluster_url: str, template: str, tmp_path: Path, soak_part: Part
) -> None:
    found: list[str] = []
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=spawn, max_tasks_per_child=1) as pool:
        walks = [pool.submit(walk_piece, cluster_url, template, tmp_path / str(first), first) for first in PIECES]
        for walk in as_completed(walks):
            walked = walk.result()
            if walked.findings:
                found.append(walked.told())
                sys.stderr.write(f"\n{found[-1]}\n")
            soak_part.record(figures_of(walked))
    assert found == []
