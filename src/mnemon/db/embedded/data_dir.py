"""Who uses the cluster, and who may change it: file locks, which die with their process.

Where the files of the embedded cluster stand.
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
    """The paths under one data directory."""

    data_dir: Path
    """The data directory itself, absolute, readable by its owner only."""

    @property
    def pgdata(self) -> Path:
        """The cluster: complete from the moment it has this name."""
        return self.data_dir / "postgres"

    @property
    def marker_file(self) -> Path:
        """Stands in the cluster when we made it and finished making it."""
        return self.pgdata / "mnemon-cluster"

    @property
    def created_file(self) -> Path:
        """Stands beside the cluster, so that a cluster that went missing is not taken for one never made."""
        return self.data_dir / "postgres.made"

    @property
    def log_file(self) -> Path:
        """What PostgreSQL says."""
        return self.data_dir / "postgres.log"

    @property
    def change_lock_file(self) -> Path:
        """Locked by whoever makes, starts or stops the cluster."""
        return self.data_dir / "postgres.latch"

    @property
    def users_lock_file(self) -> Path:
        """Locked, shared, by every process that uses the cluster."""
        return self.data_dir / "postgres.users"

    @property
    def keeper_lock_file(self) -> Path:
        """Locked by the keeper, so that there is one."""
        return self.data_dir / "postgres.keeper"


def open_data_dir(data_dir: Path) -> ClusterPaths:
    """The data directory exists and its paths are known."""
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
    """Whether a cluster was ever made in the data directory; also where this user may not look, or it went missing."""
    layout = ClusterPaths(data_dir=data_dir.expanduser().resolve())
    try:
        return layout.pgdata.exists() or layout.created_file.exists()
    except PermissionError:
        return True


def open_owned_file(path: Path, flags: int) -> int:
    """A descriptor of a file of ours, made if need be; as root in somebody's directory the file is theirs."""
    fd = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    owner = path.parent.stat()
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.fchown(fd, owner.st_uid, owner.st_gid)
    return fd


LOCK_POLL_SECONDS = 0.02
REPORT_WAIT_SECONDS = 3.0
GIVE_UP_SECONDS = 900.0


class FileLock:
    """An open file that can be locked; the lock is gone when the process is, however it went."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._fd = open_owned_file(path, os.O_RDWR)
        except OSError as error:
            raise Misconfigured(
                f"{path} cannot be opened ({error.strerror}). Make {path.parent} writable for this user and see "
                "that its disk has room, or name another directory with --data-dir or MNEMON_DATA_DIR."
            ) from error

    def try_lock(self, *, shared: bool) -> bool:
        """True when the lock is ours now; a shared one becomes exclusive only when nobody else has it."""
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
        """The lock is nobody's, the file stays open."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def write_owner(self) -> None:
        """The file names this process, for those who wait."""
        with suppress(OSError):  # a full disk must not hide its own message behind this courtesy
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def read_owner(self) -> str:
        """Who signed last."""
        return os.pread(self._fd, 32, 0).decode(errors="replace").strip() or "unknown"

    def close(self) -> None:
        """The file is closed and the lock with it; closing again does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@asynccontextmanager
async def hold_change_lock(path: Path, report: Callable[[str], None]) -> AsyncIterator[None]:
    """Inside, nobody else makes, starts or stops the cluster."""
    lock = FileLock(path)
    try:
        await _wait_for_lock(lock, report)
        lock.write_owner()
        yield
    finally:
        lock.close()


async def _wait_for_lock(lock: FileLock, report: Callable[[str], None]) -> None:
    waited, said = 0.0, 0.0
    while not lock.try_lock(shared=False):
        if waited - said >= REPORT_WAIT_SECONDS:
            report(f"process {lock.read_owner()} is starting or stopping the database; waiting ({waited:.0f} s)")
            said = waited
        if waited >= GIVE_UP_SECONDS:
            raise DatabaseDown(
                f"Process {lock.read_owner()} has been starting or stopping the database for {waited:.0f} s. "
                "Look at what it does; stop it if it hangs, and try again."
            )
        await asyncio.sleep(LOCK_POLL_SECONDS)
        waited += LOCK_POLL_SECONDS
