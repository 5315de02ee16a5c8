"""Runs a program of `examples/` as a person would, against a served house."""

import os
import subprocess
import sys
from pathlib import Path

from support.served import Served

EXAMPLES = Path(__file__).parents[2] / "examples"


def run_example(name: str, server: Served | None, *words: str, key: str = "", **env: str) -> str:
    """What the program printed; it must succeed."""
    known = {"MNEMON_URL": server.url, "MNEMON_KEY": key or server.key("acme")} if server is not None else {}
    plain = {name: value for name, value in os.environ.items() if not name.endswith("API_KEY")}
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *words],
        env={**plain, **known, **env},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
