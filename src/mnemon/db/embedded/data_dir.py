"""The files of the data directory, and the file locks that say who uses the cluster and who may change it.

The kernel releases a lock (flock) when its process ends, however it ends, so a killed process leaves none behind.
"""

import asyncio
import errno
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mnemon.errors import DatabaseDown, Misconfigured


@dataclass(frozen=True, kw_only=True)
class ClusterPaths:
    """The paths below one data directory."""

    data_dir: Path
    """The data directory itself, absolute, readable by its owner only."""

    @property
    def pgdata(self) -> Path:
        """Return the cluster's directory, which has this name only once it is complete."""
        return self.data_dir / "postgres"

    @property
    def marker_file(self) -> Path:
        """Return the path of the file inside the cluster that marks it as completely created by Mnemon."""
        return self.pgdata / "mnemon-cluster"

    @property
    def created_file(self) -> Path:
        """Return the path of the file that records that a cluster was created, in case the cluster goes missing."""
        return self.data_dir / "postgres.made"

    @property
    def log_file(self) -> Path:
        """Return the path of PostgreSQL's log."""
        return self.data_dir / "postgres.log"

    @property
    def change_lock_file(self) -> Path:
        """Return the path of the file locked by the process that creates, starts or stops the cluster."""
        return self.data_dir / "postgres.latch"

    @property
    def users_lock_file(self) -> Path:
        """Return the path of the file that every process using the cluster locks in shared mode."""
        return self.data_dir / "postgres.users"

    @property
    def keeper_lock_file(self) -> Path:
        """Return the path of the file locked by the keeper process, so that there is only one."""
        return self.data_dir / "postgres.keeper"


def open_data_dir(data_dir: Path) -> ClusterPaths:
    """Create the data directory if needed and return its paths; raise Misconfigured where that fails."""
    absolute = data_dir.expanduser().resolve()
    try:
        absolute.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as error:
        raise Misconfigured(
            f"The data directory {absolute} is a file. Name a directory with --data-dir or MNEMON_DATA_DIR."
        ) from error
    except OSError as error:
        raise Misconfigured(
            f"The data directory {absolute} cannot be made ({error.strerror}). "
            "Name one this user may write to with --data-dir or MNEMON_DATA_DIR."
        ) from error
    return ClusterPaths(data_dir=absolute)


def has_database(data_dir: Path) -> bool:
    """Say whether a cluster was ever created in the data directory.

    True also where this user may not look, and where the cluster went missing.
    """
    layout = ClusterPaths(data_dir=data_dir.expanduser().resolve())
    try:
        return layout.pgdata.exists() or layout.created_file.exists()
    except PermissionError:
        return True


def open_owned_file(path: Path, flags: int) -> int:
    """Open a file, created if needed, and return its descriptor; root gives it to the owner of the directory."""
    # O_NOFOLLOW: root must not be led elsewhere by a link that the directory's owner has placed here.
    fd = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    owner = path.parent.stat()
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.fchown(fd, owner.st_uid, owner.st_gid)
    return fd


# Polled, because a flock that waits would block the event loop.
LOCK_POLL_SECONDS = 0.02
REPORT_WAIT_SECONDS = 3.0
GIVE_UP_SECONDS = 900.0


class FileLock:
    """An open file that can be locked; the lock ends with the process, however it ends."""

    def __init__(self, path: Path) -> None:
        """Open the lock file, created if needed; raise Misconfigured where that fails. Nothing is locked yet."""
        self._path = path
        try:
            self._fd = open_owned_file(path, os.O_RDWR)
        except OSError as error:
            raise Misconfigured(
                f"{path} cannot be opened ({error.strerror}). Make {path.parent} writable for this user and see "
                "that its disk has room, or name another directory with --data-dir or MNEMON_DATA_DIR."
            ) from error

    def try_lock(self, *, shared: bool) -> bool:
        """Try to take the file lock without waiting; return False if others hold it. A failed upgrade loses it."""
        try:
            fcntl.flock(self._fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EINTR):
                return False
            raise Misconfigured(
                f"{self._path} cannot be locked ({error.strerror}). "
                "Put the data directory on a local disk (--data-dir or MNEMON_DATA_DIR)."
            ) from error
        return True

    def release_lock(self) -> None:
        """Release the file lock and keep the file open."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def write_owner(self) -> None:
        """Write this process's id into the lock file, for processes that wait for it."""
        # On a full disk a later step raises the error that says so.
        with suppress(OSError):
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def read_owner(self) -> str:
        """Return the process id that was last written into the lock file, or "unknown"."""
        return os.pread(self._fd, 32, 0).decode(errors="replace").strip() or "unknown"

    def close(self) -> None:
        """Close the lock file, which releases the lock; closing again does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@asynccontextmanager
async def hold_change_lock(path: Path, report: Callable[[str], None]) -> AsyncIterator[None]:
    """Hold the change lock for the block: no other process creates, starts or stops the cluster meanwhile."""
    lock = FileLock(path)
    try:
        await _wait_for_lock(lock, report)
        lock.write_owner()
        yield
    finally:
        lock.close()


async def _wait_for_lock(lock: FileLock, report: Callable[[str], None]) -> None:
    """Wait for the file lock, reporting its owner meanwhile; raise DatabaseDown after GIVE_UP_SECONDS."""
    waited, reported = 0.0, 0.0
    while not lock.try_lock(shared=False):
        if waited - reported >= REPORT_WAIT_SECONDS:
            report(f"process {lock.read_owner()} is starting or stopping the database; waiting ({waited:.0f} s)")
            reported = waited
        if waited >= GIVE_UP_SECONDS:
            raise DatabaseDown(
                f"Process {lock.read_owner()} has been starting or stopping the database for {waited:.0f} s. "
                "Look at what it does; stop it if it hangs, and try again."
            )
        await asyncio.sleep(LOCK_POLL_SECONDS)
        waited += LOCK_POLL_SECONDS
