"""Another process that uses an embedded cluster."""

import subprocess
import sys
from pathlib import Path

HOLD = """
import asyncio, sys
from pathlib import Path
from mnemon.db.embedded.cluster import ensure_running

async def main():
    cluster = await ensure_running(Path(sys.argv[1]), keeper_grace_seconds=float(sys.argv[2]))
    print(cluster.pid, flush=True)
    sys.stdin.read()
    await cluster.stop()

asyncio.run(main())
"""


class Holder:
    """Another process that uses the cluster until it is told to leave, or killed."""

    def __init__(self, data_dir: Path, grace_seconds: float = 60.0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(data_dir), str(grace_seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def server_pid(self) -> int:
        """The server it uses; waits until it does."""
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def leave(self) -> None:
        self.process.communicate("")

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()
