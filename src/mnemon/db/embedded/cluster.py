"""The embedded cluster as its users see it: attach, have a URL, leave."""

import asyncio
import sys
from pathlib import Path
from urllib.parse import quote

from mnemon.db.embedded.account import choose_account
from mnemon.db.embedded.binaries import Binaries, find_binaries
from mnemon.db.embedded.configuration import DATABASE, OWNER
from mnemon.db.embedded.creation import ensure_made
from mnemon.db.embedded.layout import Layout, open_layout
from mnemon.db.embedded.locks import FileLock, latch
from mnemon.db.embedded.postmaster import Postmaster, running_pid
from mnemon.db.embedded.programs import start_detached
from mnemon.db.embedded.start import ensure_started
from mnemon.db.embedded.stop import Report, stop_server
from mnemon.errors import MnemonError

KEEPER_GRACE_SECONDS = 20.0
WATCH_SECONDS = 0.25
RETRY_SECONDS = 5.0


def quiet(_message: str) -> None:
    """Says nothing."""


class Cluster:
    """A running embedded PostgreSQL that this process uses; it runs on while any process does."""

    def __init__(
        self, *, layout: Layout, binaries: Binaries, server: Postmaster, presence: FileLock, report: Report
    ) -> None:
        self.layout = layout
        self.binaries = binaries
        self._server = server
        self._presence = presence
        self._report = report
        self._left = False

    @property
    def url(self) -> str:
        """How libpq connects, as the owner of the database; the same after a restart."""
        return url_of(self._server)

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._server.pid

    async def stop(self) -> None:
        """This process no longer uses the cluster, and the server is stopped if nobody else does."""
        self._left = True
        async with latch(self.layout.latch, self._report):
            self._presence.close()
            last = FileLock(self.layout.users)
            try:
                if last.take(shared=False):
                    await stop_server(self.layout.pgdata, self._report)
            finally:
                last.close()

    async def watch(self) -> None:
        """Until this process leaves, a server that died is started again, as often as it takes."""
        while not self._left:
            await asyncio.sleep(WATCH_SECONDS)
            if running_pid(self.layout.pgdata) is None:
                await self._revive()

    async def _revive(self) -> None:
        self._report("the database server is gone; starting it again")
        try:
            async with latch(self.layout.latch, self._report):
                account = choose_account(self.layout.data_dir, self.layout.pgdata)
                await ensure_made(self.layout, self.binaries, account, self._report)
                self._server = await ensure_started(self.layout, self.binaries, account, self._report)
        except MnemonError as error:
            self._report(f"{error.detail} Trying again in {RETRY_SECONDS:.0f} s.")
            await asyncio.sleep(RETRY_SECONDS)


async def ensure_running(
    data_dir: Path,
    *,
    bin_dir: Path | None = None,
    report: Report = quiet,
    keeper_grace_seconds: float = KEEPER_GRACE_SECONDS,
) -> Cluster:
    """The cluster of this data directory runs, made and started if need be, and this process uses it."""
    binaries = find_binaries(bin_dir)
    layout = open_layout(data_dir)
    async with latch(layout.latch, report):
        presence = FileLock(layout.users)
        try:
            presence.take(shared=True)  # only taken for oneself inside the latch, so it is free now
            account = choose_account(layout.data_dir, layout.pgdata)
            await ensure_made(layout, binaries, account, report)
            await _ensure_keeper(layout, keeper_grace_seconds)  # first, so that no kill leaves a server without one
            server = await ensure_started(layout, binaries, account, report)
        except BaseException:
            presence.close()
            raise
    return Cluster(layout=layout, binaries=binaries, server=server, presence=presence, report=report)


async def _ensure_keeper(layout: Layout, grace_seconds: float) -> None:
    probe = FileLock(layout.keeper)
    absent = probe.take(shared=False)
    probe.close()
    if absent:
        await start_detached(
            [sys.executable, "-m", "mnemon.db.embedded.keeper", str(layout.data_dir), str(grace_seconds)],
            account=None,
            log=layout.log,
        )


def url_of(server: Postmaster) -> str:
    """The libpq URL of a server that listens on a socket."""
    return f"postgresql://{OWNER}@/{DATABASE}?host={quote(server.socket_dir, safe='')}&port={server.port}"
