"""A small process beside the cluster: stops it when every process that used it was killed.

    python -m mnemon.db.embedded.keeper DATA_DIR GRACE_SECONDS

A process that leaves properly stops the cluster itself when it is the last. One that is killed cannot, but its lock
goes with it: the keeper looks at that lock, waits a while for somebody to come back, and stops the server.
"""

import asyncio
import sys
import time
from pathlib import Path

from mnemon.db.embedded.data_dir import ClusterPaths, FileLock
from mnemon.db.embedded.server import running_pid, stop_server

CHECK_INTERVAL_SECONDS = 1.0


def run_keeper(layout: ClusterPaths, grace_seconds: float) -> None:
    """The server is stopped and nobody uses the cluster; returns at once when another keeper is there."""
    alone, latch, users = (
        FileLock(layout.keeper_lock_file),
        FileLock(layout.change_lock_file),
        FileLock(layout.users_lock_file),
    )
    if not alone.try_lock(shared=False):
        return
    unused = 0.0
    while True:
        time.sleep(CHECK_INTERVAL_SECONDS)
        if not latch.try_lock(shared=False):
            continue  # somebody comes or leaves at this moment
        if users.try_lock(shared=False):
            unused += CHECK_INTERVAL_SECONDS
            if running_pid(layout.pgdata) is None or unused > grace_seconds:
                asyncio.run(stop_server(layout.pgdata, _write_stderr))
                return  # still inside the latch, so that who comes next finds no keeper
            users.release_lock()
        else:
            unused = 0.0
        latch.release_lock()


def _write_stderr(message: str) -> None:
    sys.stderr.write(f"keeper: {message}\n")


if __name__ == "__main__":
    run_keeper(ClusterPaths(data_dir=Path(sys.argv[1])), float(sys.argv[2]))
