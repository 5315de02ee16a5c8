"""The source packages whose tests judge us: pinned by hash, fetched for a run, never kept."""

import hashlib
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, kw_only=True)
class Source:
    """A source package."""

    name: str
    version: str
    sha256: str


LANGGRAPH_SQLITE = Source(
    name="langgraph-checkpoint-sqlite",
    version="3.1.2",
    sha256="4e3f376fa6f192d6ad2a1a4643b039986f1593552ef870e9e45281575de6fbf2",
)
OPENAI_AGENTS = Source(
    name="openai-agents",
    version="0.24.0",
    sha256="4b4b285f4fed81fdf1b4ac426a9101658d9cd29b4fb1aaeee18f639b77e704e3",
)


def fetched(source: Source, folder: Path) -> Path:
    """The unpacked source package, its hash checked; the test is skipped where no package index can be reached."""
    wanted = f"{source.name}=={source.version}"
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:",
               "--no-build-isolation", "--disable-pip-version-check", "-d", str(folder), wanted]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"{wanted} could not be fetched: {done.stderr[-300:]}")
    [archive] = folder.glob("*.tar.gz")
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == source.sha256, f"{archive.name} is not the pinned one"
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    [unpacked] = [path for path in folder.iterdir() if path.is_dir()]
    return unpacked
