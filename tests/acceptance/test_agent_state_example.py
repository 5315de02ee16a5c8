"""The example program does what it says, against a real server."""

import os
import subprocess
import sys
from pathlib import Path

from support.served import Served

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent_state.py"


def test_the_example_notices_the_failure_and_corrects_it(offline_server: Served) -> None:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env={**os.environ, "MNEMON_URL": offline_server.url, "MNEMON_KEY": offline_server.key()},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr
    said = ran.stdout.splitlines()
    assert said[0] == "2 tasks exist: failed"
    assert "1 tasks exist: confirmed" in said
    assert "FAILED expectation of create_tasks: 2 tasks exist" in ran.stdout
    assert said[-1] == 'learned (0.70): Expected "2 tasks exist" but got "count 1; ids write"'


def test_the_example_is_forty_lines() -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 40
