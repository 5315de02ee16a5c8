"""Describe the conditions of a run: commit, machine, database and load."""

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psycopg

_REPORTED_SETTINGS = ("shared_buffers", "fsync", "synchronous_commit")


@dataclass(frozen=True, kw_only=True)
class BenchmarkMachine:
    """The conditions of a run."""

    commit: str
    processor: str
    memory_gb: float
    python: str
    database: str


def describe_machine(database_url: str) -> BenchmarkMachine:
    """Return the conditions on this machine and this database."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return BenchmarkMachine(
        commit=_git_commit(),
        processor=f"{_processor_name()}, {os.cpu_count()} cores",
        memory_gb=memory,
        python=platform.python_version(),
        database=_database_version(database_url),
    )


def load_average() -> float:
    """Return the load average of the last minute."""
    return os.getloadavg()[0]


def _git_commit() -> str:
    head = _run_git("rev-parse", "--short", "HEAD")
    if not head:
        return "unknown"
    changed = _run_git("status", "--porcelain", "--untracked-files=no", "--", "src")
    return f"{head}, with changes not committed" if changed else head


def _run_git(*words: str) -> str:
    program = shutil.which("git")
    if program is None:
        return ""
    return subprocess.run([program, *words], capture_output=True, text=True, check=False).stdout.strip()


def _processor_name() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _database_version(url: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "select current_setting('server_version'), "
            "(select extversion from pg_extension where extname = 'vector'), "
            "(select string_agg(name || ' ' || current_setting(name), ', ') from unnest(%s::text[]) name)",
            [list(_REPORTED_SETTINGS)],
        ).fetchone()
    assert row is not None
    return f"PostgreSQL {row[0]}, pgvector {row[1]}, {row[2]}"
