"""The embedded cluster as its users see it: attach with `ensure_running`, connect to its URL, leave with `stop`.

Three file locks order the processes that share it (see data_dir.py). The change lock is taken first and held while the
cluster is created, started or stopped; the users lock is only taken or tested inside it.
"""

import asyncio
import sys
from pathlib import Path
from urllib.parse import quote

from mnemon.db.embedded.configuration import DATABASE_NAME, OWNER_ROLE
from mnemon.db.embedded.creation import ensure_created
from mnemon.db.embedded.data_dir import ClusterPaths, FileLock, hold_change_lock, open_data_dir
from mnemon.db.embedded.programs import Binaries, choose_account, find_binaries, start_detached
from mnemon.db.embedded.server import Postmaster, ReportMessage, ensure_started, running_pid, stop_server
from mnemon.errors import MnemonError

KEEPER_GRACE_SECONDS = 20.0
WATCH_INTERVAL_SECONDS = 0.25
RESTART_RETRY_SECONDS = 5.0


def ignore_message(_message: str) -> None:
    """Discard a progress message."""


class EmbeddedCluster:
    """A running embedded PostgreSQL that this process uses; it keeps running while any process does."""

    def __init__(
        self, *, layout: ClusterPaths, binaries: Binaries, server: Postmaster, presence: FileLock, report: ReportMessage
    ) -> None:
        """Hold a running server and the shared lock that says that this process uses it."""
        self.layout = layout
        self.binaries = binaries
        self._server = server
        self._presence = presence
        self._report = report
        self._left = False

    @property
    def url(self) -> str:
        """Return the cluster's libpq URL, as the owner of the database; the same after a restart."""
        return libpq_url(self._server)

    @property
    def pid(self) -> int:
        """Return the process id of the embedded PostgreSQL server."""
        return self._server.pid

    async def stop(self) -> None:
        """Stop using the embedded cluster, and stop its server if no other process uses it."""
        # Before the lock is awaited: `watch_server` must not start again the server that is stopped here.
        self._left = True
        async with hold_change_lock(self.layout.change_lock_file, self._report):
            self._presence.close()
            # An exclusive lock is granted only if no other process holds a shared one, that is, uses the cluster.
            last = FileLock(self.layout.users_lock_file)
            try:
                if last.try_lock(shared=False):
                    await stop_server(self.layout.pgdata, self._report)
            finally:
                last.close()

    async def watch_server(self) -> None:
        """Restart the embedded server whenever it dies, retrying until it runs, until `stop` is called."""
        while not self._left:
            await asyncio.sleep(WATCH_INTERVAL_SECONDS)
            if running_pid(self.layout.pgdata) is None:
                await self._restart_server()

    async def _restart_server(self) -> None:
        """Start the server again under the change lock; on failure report it and wait before the next try."""
        self._report("the database server is gone; starting it again")
        try:
            async with hold_change_lock(self.layout.change_lock_file, self._report):
                account = choose_account(self.layout.data_dir, self.layout.pgdata)
                await ensure_created(self.layout, self.binaries, account, self._report)
                self._server = await ensure_started(self.layout, self.binaries, account, self._report)
        except MnemonError as error:
            self._report(f"{error.detail} Trying again in {RESTART_RETRY_SECONDS:.0f} s.")
            await asyncio.sleep(RESTART_RETRY_SECONDS)


async def ensure_running(
    data_dir: Path,
    *,
    bin_dir: Path | None = None,
    report: ReportMessage = ignore_message,
    keeper_grace_seconds: float = KEEPER_GRACE_SECONDS,
) -> EmbeddedCluster:
    """Create and start the data directory's cluster if needed; return it, attached to this process."""
    binaries = find_binaries(bin_dir)
    layout = open_data_dir(data_dir)
    async with hold_change_lock(layout.change_lock_file, report):
        presence = FileLock(layout.users_lock_file)
        try:
            # It is locked exclusively only inside the change lock, so it is free now.
            presence.try_lock(shared=True)
            account = choose_account(layout.data_dir, layout.pgdata)
            await ensure_created(layout, binaries, account, report)
            # Before the server, so that no kill of this process leaves a server without a keeper.
            await _ensure_keeper(layout, keeper_grace_seconds)
            server = await ensure_started(layout, binaries, account, report)
        except BaseException:
            presence.close()
            raise
    return EmbeddedCluster(layout=layout, binaries=binaries, server=server, presence=presence, report=report)


async def _ensure_keeper(layout: ClusterPaths, grace_seconds: float) -> None:
    """Start the process that stops an abandoned cluster, unless one holds the keeper's lock."""
    probe = FileLock(layout.keeper_lock_file)
    absent = probe.try_lock(shared=False)
    probe.close()
    if absent:
        await start_detached(
            [sys.executable, "-m", "mnemon.db.embedded.keeper", str(layout.data_dir), str(grace_seconds)],
            account=None,
            log=layout.log_file,
        )


def libpq_url(server: Postmaster) -> str:
    """Return the libpq URL of a server that listens on a socket."""
    return f"postgresql://{OWNER_ROLE}@/{DATABASE_NAME}?host={quote(server.socket_dir, safe='')}&port={server.port}"
