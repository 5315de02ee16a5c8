"""Starts the server and waits until it accepts connections, through a recovery however long."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from mnemon.db.embedded.account import Account
from mnemon.db.embedded.binaries import Binaries
from mnemon.db.embedded.configuration import choose_socket_dir, write_configuration
from mnemon.db.embedded.diagnosis import diagnose
from mnemon.db.embedded.layout import Layout, open_own
from mnemon.db.embedded.postmaster import (
    Postmaster,
    is_process,
    is_server_on,
    named_pid,
    read_postmaster,
    running_pid,
)
from mnemon.db.embedded.programs import start_detached
from mnemon.db.embedded.stop import Report
from mnemon.errors import DatabaseDown

POLL_SECONDS = 0.02
SAY_EVERY_SECONDS = 3.0
STALL_SECONDS = 120.0
ORPHANS = "pre-existing shared memory block"
ORPHAN_ATTEMPTS = 50
ORPHAN_PAUSE_SECONDS = 0.2
LOG_LIMIT_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Launched:
    """A server that was started or found, and from where in the log it speaks."""

    pid: int
    log_from: int
    """Bytes of the log that are older than this start."""


async def ensure_started(
    layout: Layout, binaries: Binaries, account: Account, report: Report, *, stall_seconds: float = STALL_SECONDS
) -> Postmaster:
    """A server runs on the cluster and accepts connections: the one that ran, or a new one."""
    if (found := running_pid(layout.pgdata)) is not None:
        running = Launched(pid=found, log_from=_size(layout.log))
        # None when it was on its way out; then a new one follows.
        if (ready := await _wait_until_ready(layout, running, report, stall_seconds)) is not None:
            return ready
    for attempt in range(ORPHAN_ATTEMPTS):
        launched = await _launch(layout, binaries, account, report if attempt == 0 else _quiet)
        if (ready := await _wait_until_ready(layout, launched, report, stall_seconds)) is not None:
            return ready
        words = log_since(layout.log, launched.log_from)
        if ORPHANS not in words:
            break
        # Backends whose postmaster was killed notice it and end; PostgreSQL starts only after that.
        await asyncio.sleep(ORPHAN_PAUSE_SECONDS)
    raise diagnose(words, data_dir=layout.data_dir)


def _quiet(_message: str) -> None:
    """What was said at the first attempt is not said again."""


async def _launch(layout: Layout, binaries: Binaries, account: Account, report: Report) -> Launched:
    try:
        _rotate(layout.log)
        log_from = _size(layout.log)
        socket_dir = choose_socket_dir(layout.pgdata, account)
        write_configuration(layout.pgdata, account=account, socket_dir=socket_dir, major=binaries.major)
    except OSError as error:
        raise diagnose(error.strerror or str(error), data_dir=layout.data_dir) from error
    left = named_pid(layout.pgdata)
    if left is not None:
        report("the database was not stopped properly; it recovers now, nothing acknowledged is lost")
    pid = await start_detached(
        [binaries.program("postgres"), "-D", str(layout.pgdata)],
        account=account,
        reach=(layout.pgdata, binaries.folder, socket_dir),
        log=layout.log,
        stale_pid=left if left is not None and is_process(left) and not is_server_on(left, layout.pgdata) else None,
    )
    return Launched(pid=pid, log_from=log_from)


async def _wait_until_ready(
    layout: Layout, launched: Launched, report: Report, stall_seconds: float
) -> Postmaster | None:
    """The server when it accepts connections, None when it ended; a recovery shows progress by a line a second."""
    size, waited, moved, said = launched.log_from, 0.0, 0.0, 0.0
    while True:
        server = read_postmaster(layout.pgdata)
        if server is not None and server.ready:
            return server
        if server is None and not is_process_of(launched.pid, layout.pgdata):
            return None
        if (now_size := _size(layout.log)) != size:
            size, moved = now_size, waited
        if waited - moved >= stall_seconds:
            raise DatabaseDown(
                f"PostgreSQL (process {launched.pid}) has made no progress for {waited - moved:.0f} s. Look at "
                f"{layout.log} and at the disk of {layout.data_dir}; end that process if it hangs, and start again."
            )
        if waited - said >= SAY_EVERY_SECONDS:
            report(f"the database is starting, {waited:.0f} s so far: {_last_line(layout.log, launched.log_from)}")
            said = waited
        await asyncio.sleep(POLL_SECONDS)
        waited += POLL_SECONDS


def is_process_of(pid: int, pgdata: Path) -> bool:
    """True while a just launched process lives: the launcher, or already PostgreSQL, but not yet in its directory."""
    return is_server_on(pid, pgdata) or (is_process(pid) and not _is_zombie(pid))


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False


def log_since(log: Path, start: int) -> str:
    """The end of what PostgreSQL said since then."""
    try:
        with log.open("rb") as file:
            file.seek(max(start, _size(log) - 16_384))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _last_line(log: Path, start: int) -> str:
    lines = log_since(log, start).strip().splitlines()
    return lines[-1].rpartition("LOG:")[2].strip() if lines else "it has said nothing yet"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _rotate(log: Path) -> None:
    if _size(log) > LOG_LIMIT_BYTES:
        log.replace(log.with_suffix(".log.1"))
    os.close(open_own(log, os.O_WRONLY))
