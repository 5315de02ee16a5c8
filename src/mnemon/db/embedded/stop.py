"""Stops the server: fast, and at once if that takes too long."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mnemon.db.embedded.postmaster import is_server_on, running_pid
from mnemon.errors import DatabaseDown

POLL_SECONDS = 0.02
FAST_STOP_SECONDS = 60.0
IMMEDIATE_STOP_SECONDS = 10.0

Report = Callable[[str], None]


async def stop_server(pgdata: Path, report: Report) -> None:
    """No server runs on the cluster; whoever was connected is cut off, what was committed stays."""
    for order, seconds in ((signal.SIGINT, FAST_STOP_SECONDS), (signal.SIGQUIT, IMMEDIATE_STOP_SECONDS)):
        pid = running_pid(pgdata)
        if pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(pid, order)
        if await _gone(pid, pgdata, seconds):
            return
        report(f"the database (process {pid}) did not stop within {seconds:.0f} s")
    raise DatabaseDown(f"PostgreSQL on {pgdata} does not stop. End its process (`ps aux | grep postgres`), then go on.")


async def _gone(pid: int, pgdata: Path, seconds: float) -> bool:
    waited = 0.0
    while waited < seconds:
        if not is_server_on(pid, pgdata):
            return True
        await asyncio.sleep(POLL_SECONDS)
        waited += POLL_SECONDS
    return False
