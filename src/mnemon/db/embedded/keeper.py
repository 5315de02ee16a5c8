"""A small process beside the cluster: stops it when every process that used it was killed.

    python -m mnemon.db.embedded.keeper DATA_DIR GRACE_SECONDS

A process that leaves properly stops the cluster itself when it is the last. One that is killed cannot, but its lock
goes with it: the keeper looks at that lock, waits a while for somebody to come back, and stops the server.
"""

import asyncio
import sys
import time
from pathlib import Path

from mnemon.db.embedded.layout import Layout
from mnemon.db.embedded.locks import FileLock
from mnemon.db.embedded.postmaster import running_pid
from mnemon.db.embedded.stop import stop_server

LOOK_SECONDS = 1.0


def keep(layout: Layout, grace_seconds: float) -> None:
    """The server is stopped and nobody uses the cluster; returns at once when another keeper is there."""
    alone, latch, users = FileLock(layout.keeper), FileLock(layout.latch), FileLock(layout.users)
    if not alone.take(shared=False):
        return
    unused = 0.0
    while True:
        time.sleep(LOOK_SECONDS)
        if not latch.take(shared=False):
            continue  # somebody comes or leaves at this moment
        if users.take(shared=False):
            unused += LOOK_SECONDS
            if running_pid(layout.pgdata) is None or unused > grace_seconds:
                asyncio.run(stop_server(layout.pgdata, _say))
                return  # still inside the latch, so that who comes next finds no keeper
            users.free()
        else:
            unused = 0.0
        latch.free()


def _say(message: str) -> None:
    sys.stderr.write(f"keeper: {message}\n")


if __name__ == "__main__":
    keep(Layout(data_dir=Path(sys.argv[1])), float(sys.argv[2]))
