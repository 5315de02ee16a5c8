"""PostgreSQL's processes, as the operating system sees them."""

from pathlib import Path

import psutil


def servers_on(pgdata: Path) -> tuple[int, ...]:
    """Every PostgreSQL process that works on this directory, orphans of a killed server included."""
    found = psutil.process_iter(["pid", "name", "cwd"])
    return tuple(one.info["pid"] for one in found if one.info["name"] == "postgres" and one.info["cwd"] == str(pgdata))
