"""The first conversation of the README, run as it stands there against a server without a model."""

import os
import re
import subprocess
import sys
from pathlib import Path

from support.served import Served

README = Path(__file__).parents[2] / "README.md"
ADDRESS, KEY = "localhost:8765", "mnk_local_…"


def first_conversation() -> str:
    """The shell commands of the README's first conversation."""
    (block,) = (
        one for one in re.findall(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL) if KEY in one
    )
    return str(block)


def test_the_first_conversation_remembers_what_it_was_just_told(offline_server: Served, tmp_path: Path) -> None:
    key, commands = offline_server.key("acme"), first_conversation()
    assert commands.count(ADDRESS) == commands.count(KEY) == 1
    assert "sleep" not in commands
    # Nothing else is changed: the address and the key are those of this test's server.
    commands = commands.replace(ADDRESS, offline_server.url.removeprefix("http://")).replace(KEY, key)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "MNEMON_URL": offline_server.url,
        "MNEMON_KEY": key,
    }
    shell = ["bash", "-eu", "-c", commands]
    done = subprocess.run(
        shell, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    first, second, recalled = done.stdout.split("\n", 2)
    assert '"reply"' in first
    assert "John is my cofounder" in second
    assert "nothing is remembered" not in second
    assert "I live in Austin, Texas" in recalled
