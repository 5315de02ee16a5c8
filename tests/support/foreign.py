"""Runs somebody else's pytest suite in a process of its own, and reads what it said."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the suite said."""

    passed: int
    failed: tuple[str, ...]
    skipped: tuple[str, ...]
    output: str


def run_foreign(
    folder: Path,
    files: Sequence[str],
    *,
    plugin: str,
    deselected: Sequence[str],
    env: Mapping[str, str],
    options: Sequence[str] = (),
) -> Said:
    """Every test of the files is run but the deselected ones."""
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", plugin, "-p", "no:cacheprovider", "-o", "asyncio_mode=auto",
               "-o", "addopts=", "-W", "ignore", "--tb=short", f"--junitxml={report}", "--rootdir", str(folder),
               *options, *(f"--deselect={name}" for name in deselected), *files]  # fmt: skip
    paths = os.pathsep.join([str(TESTS), str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **env, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=900
    )
    assert report.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    cases = list(ET.parse(report).getroot().iter("testcase"))
    failed = tuple(_name(case) for case in cases if case.find("failure") is not None or case.find("error") is not None)
    skipped = tuple(_name(case) for case in cases if case.find("skipped") is not None)
    return Said(
        passed=len(cases) - len(failed) - len(skipped), failed=failed, skipped=skipped, output=done.stdout[-6000:]
    )


def _name(case: ET.Element) -> str:
    return f"{case.get('classname')}::{case.get('name')}"
