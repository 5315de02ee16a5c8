"""`mnemon chat` talks in the terminal and shows what it remembers and why."""

import json
import os
import subprocess
import sys
from pathlib import Path

MNEMON = str(Path(sys.executable).with_name("mnemon"))


def mnemon_chat(database_url: str, folder: Path, *arguments: str, typed: str = "") -> str:
    environment = {**os.environ, "MNEMON_DATABASE_URL": database_url, "MNEMON_DATA_DIR": str(folder)}
    done = subprocess.run(
        [MNEMON, "chat", *arguments],
        env=environment,
        input=typed,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_message_is_answered_remembered_and_explained(database_url: str, tmp_path: Path) -> None:
    first = json.loads(mnemon_chat(database_url, tmp_path, "I live in Austin.", "--json"))
    assert first["turnId"].startswith("trn_")
    typed = "Where do I live?\n/memory\n/context\n/why\n/quit\n"
    shown = mnemon_chat(database_url, tmp_path, typed=typed)
    reply, rest = shown.split("› profile", 1)
    assert "No language model is connected" in reply
    assert "Austin" in reply
    assert "mem_" in rest
    for layer in ("L1", "L2", "L3", "L5", "L8"):
        assert layer in rest
    assert "Reflection:" in rest
