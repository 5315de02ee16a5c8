"""Who uses the cluster, and who may change it: file locks, which die with their process."""

import asyncio
import errno
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from mnemon.db.embedded.layout import open_own
from mnemon.errors import DatabaseDown, Misconfigured

POLL_SECONDS = 0.02
SAY_AFTER_SECONDS = 3.0
GIVE_UP_SECONDS = 900.0


class FileLock:
    """An open file that can be locked; the lock is gone when the process is, however it went."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._fd = open_own(path, os.O_RDWR)
        except OSError as error:
            raise Misconfigured(
                f"{path} cannot be opened ({error.strerror}). Make {path.parent} writable for this user and see "
                "that its disk has room, or name another directory with --data-dir or MNEMON_DATA_DIR."
            ) from error

    def take(self, *, shared: bool) -> bool:
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

    def free(self) -> None:
        """The lock is nobody's, the file stays open."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def sign(self) -> None:
        """The file names this process, for those who wait."""
        with suppress(OSError):  # a full disk must not hide its own message behind this courtesy
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def signature(self) -> str:
        """Who signed last."""
        return os.pread(self._fd, 32, 0).decode(errors="replace").strip() or "unknown"

    def close(self) -> None:
        """The file is closed and the lock with it; closing again does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@asynccontextmanager
async def latch(path: Path, report: Callable[[str], None]) -> AsyncIterator[None]:
    """Inside, nobody else makes, starts or stops the cluster."""
    lock = FileLock(path)
    try:
        await _enter(lock, report)
        lock.sign()
        yield
    finally:
        lock.close()


async def _enter(lock: FileLock, report: Callable[[str], None]) -> None:
    waited, said = 0.0, 0.0
    while not lock.take(shared=False):
        if waited - said >= SAY_AFTER_SECONDS:
            report(f"process {lock.signature()} is starting or stopping the database; waiting ({waited:.0f} s)")
            said = waited
        if waited >= GIVE_UP_SECONDS:
            raise DatabaseDown(
                f"Process {lock.signature()} has been starting or stopping the database for {waited:.0f} s. "
                "Look at what it does; stop it if it hangs, and try again."
            )
        await asyncio.sleep(POLL_SECONDS)
        waited += POLL_SECONDS
