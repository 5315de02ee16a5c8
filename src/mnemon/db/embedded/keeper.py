"""A small process that stops the cluster when every process that used it was killed.

    python -m mnemon.db.embedded.keeper DATA_DIR GRACE_SECONDS

A process that leaves properly stops the cluster itself when it is the last. One that is killed cannot, but its lock
ends with it: the keeper polls that lock, waits a grace period for a new user, and then stops the server.
"""

import asyncio
import sys
import time
from pathlib import Path

from mnemon.db.embedded.data_dir import ClusterPaths, FileLock
from mnemon.db.embedded.server import running_pid, stop_server

CHECK_INTERVAL_SECONDS = 1.0


def run_keeper(layout: ClusterPaths, grace_seconds: float) -> None:
    """Wait until no process has used the cluster for the grace period, then stop it; return if another keeper runs."""
    keeper_lock, change_lock, users_lock = (
        FileLock(layout.keeper_lock_file),
        FileLock(layout.change_lock_file),
        FileLock(layout.users_lock_file),
    )
    if not keeper_lock.try_lock(shared=False):
        return
    # The grace period lets a restarted program find the server still running.
    unused = 0.0
    while True:
        time.sleep(CHECK_INTERVAL_SECONDS)
        if not change_lock.try_lock(shared=False):
            continue  # a process attaches or leaves at this moment
        if users_lock.try_lock(shared=False):
            unused += CHECK_INTERVAL_SECONDS
            if running_pid(layout.pgdata) is None or unused > grace_seconds:
                asyncio.run(stop_server(layout.pgdata, _write_stderr))
                # Still holding the change lock, so that the next process finds no keeper and starts one.
                return
            users_lock.release_lock()
        else:
            unused = 0.0
        change_lock.release_lock()


def _write_stderr(message: str) -> None:
    """Print a message of the keeper to its standard error."""
    sys.stderr.write(f"keeper: {message}\n")


if __name__ == "__main__":
    run_keeper(ClusterPaths(data_dir=Path(sys.argv[1])), float(sys.argv[2]))
