"""PostgreSQL's processes, as the operating system sees them."""

import shutil
from pathlib import Path

import psutil


def servers_on(pgdata: Path) -> tuple[int, ...]:
    """Every PostgreSQL process that works on this directory, orphans of a killed server included."""
    found = psutil.process_iter(["pid", "name", "cwd"])
    return tuple(one.info["pid"] for one in found if one.info["name"] == "postgres" and one.info["cwd"] == str(pgdata))


def end_servers(data_dir: Path) -> None:
    """No server works on the directory, and the directory is gone, so that its keeper goes too."""
    if (data_dir / "postgres").is_dir():
        for pid in servers_on(data_dir / "postgres"):
            try:
                psutil.Process(pid).kill()
            except psutil.NoSuchProcess:
                continue
    shutil.rmtree(data_dir, ignore_errors=True)
