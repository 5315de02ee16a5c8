"""The server process: find out whether one runs on the cluster, start it, wait until it is ready, and stop it.

A pid alone proves nothing, since the system reuses pids: it counts only if that process is a PostgreSQL that works on
this directory. A start may include a recovery of any length; it fails only when the log shows no progress. A stop is
fast (SIGINT: clients are disconnected) and then immediate (SIGQUIT), never a kill.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mnemon.db.embedded.configuration import choose_socket_dir, write_configuration
from mnemon.db.embedded.data_dir import ClusterPaths, open_owned_file
from mnemon.db.embedded.diagnosis import diagnose_failure
from mnemon.db.embedded.programs import Binaries, SystemAccount, start_detached
from mnemon.errors import DatabaseDown

PID_FILE_LINES = 8


@dataclass(frozen=True, kw_only=True)
class Postmaster:
    """What `postmaster.pid` says about a server."""

    pid: int
    port: int
    socket_dir: str
    """The directory of its socket."""
    status: str
    """`starting`, `ready`, `stopping`, or `standby`."""

    @property
    def is_ready(self) -> bool:
        """Say whether the server accepts connections, by its pid file."""
        return self.status == "ready"


def parse_postmaster(text: str) -> Postmaster | None:
    """Return the server that the text of `postmaster.pid` describes; None while it is still being written."""
    lines = text.split("\n")
    if len(lines) < PID_FILE_LINES:
        return None
    try:
        pid, port = int(lines[0]), int(lines[3])
    except ValueError:
        return None
    # Negative for a `postgres --single`, which locks the directory in the same way.
    return Postmaster(pid=abs(pid), port=port, socket_dir=lines[4].strip(), status=lines[7].strip())


def read_postmaster(pgdata: Path) -> Postmaster | None:
    """Return the PostgreSQL that runs on this directory; None if its pid file is missing, unfinished or stale."""
    try:
        found = parse_postmaster((pgdata / "postmaster.pid").read_text())
    except (OSError, UnicodeDecodeError):
        return None
    return found if found and is_server_on(found.pid, pgdata) else None


def running_pid(pgdata: Path) -> int | None:
    """Return the pid of the PostgreSQL on this directory, even while it writes its pid file; None without one."""
    pid = pid_in_file(pgdata)
    return pid if pid is not None and is_server_on(pid, pgdata) else None


def pid_in_file(pgdata: Path) -> int | None:
    """Return the pid in `postmaster.pid`, whichever process has it now; None without a readable file."""
    try:
        return abs(int((pgdata / "postmaster.pid").read_text().split("\n", 1)[0]))
    except (OSError, ValueError):
        return None


def is_server_on(pid: int, pgdata: Path) -> bool:
    """Say whether the process with this pid is a live PostgreSQL on this directory, not another with a recycled pid."""
    if sys.platform != "linux":
        return _is_in_process_list(pid, pgdata)
    try:
        # " (deleted)" where the program file was replaced by an upgrade while the server runs.
        program = Path(f"/proc/{pid}/exe").readlink().name.removesuffix(" (deleted)")
        return program == "postgres" and Path(f"/proc/{pid}/cwd").samefile(pgdata)
    except PermissionError:
        # In a container even root may not read these links of another user's process.
        return _is_in_command_line(pid, pgdata)
    except OSError:
        return False


def is_stopped(pid: int) -> bool:
    """Say whether a signal (SIGSTOP, SIGTSTP) keeps this process from running; False where that cannot be seen."""
    try:
        # The state follows the last parenthesis: the program's name before it may hold blanks and parentheses.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except (OSError, IndexError):
        return False


def suspended_processes(pid: int) -> list[int]:
    """Return which of the server's processes a signal keeps from running, the postmaster (this pid) first."""
    try:
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (OSError, ValueError):
        children = []
    return [each for each in (pid, *children) if is_stopped(each)]


def is_alive(pid: int) -> bool:
    """Say whether any process has this pid."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_in_command_line(pid: int, pgdata: Path) -> bool:
    """Say whether /proc shows this process as a `postgres` started with this data directory."""
    try:
        program, *arguments = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except (OSError, UnicodeDecodeError):
        return False
    return Path(program).name == "postgres" and str(pgdata) in arguments


def _is_in_process_list(pid: int, pgdata: Path) -> bool:
    """Say whether `ps` shows this process as a `postgres` with this data directory; for systems without /proc."""
    listed = subprocess.run(  # noqa: S603 - fixed arguments and a number
        ["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, timeout=10, check=False
    ).stdout
    return "postgres" in listed and str(pgdata) in listed


STOP_POLL_SECONDS = 0.02
FAST_STOP_SECONDS = 60.0
IMMEDIATE_STOP_SECONDS = 10.0

ReportMessage = Callable[[str], None]


async def stop_server(pgdata: Path, report: ReportMessage) -> None:
    """Stop PostgreSQL: clients are disconnected, what was committed stays; raise DatabaseDown if it does not stop."""
    for order, seconds in ((signal.SIGINT, FAST_STOP_SECONDS), (signal.SIGQUIT, IMMEDIATE_STOP_SECONDS)):
        # Looked up for each signal: the pid may belong to another process by now.
        pid = running_pid(pgdata)
        if pid is None:
            return
        _resume_suspended(pid, report)
        with suppress(ProcessLookupError):
            os.kill(pid, order)
        if await _wait_until_gone(pid, pgdata, seconds):
            return
        report(f"the database (process {pid}) did not stop within {seconds:.0f} s")
    raise DatabaseDown(f"PostgreSQL on {pgdata} does not stop. End its process (`ps aux | grep postgres`), then go on.")


def _resume_suspended(pid: int, report: ReportMessage) -> None:
    """Resume the server's suspended processes with SIGCONT, since the postmaster waits for each before it ends."""
    for each in suspended_processes(pid):
        report(f"the database's process {each} is suspended by a signal and goes on now, so that it can stop")
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGCONT)


async def _wait_until_gone(pid: int, pgdata: Path, seconds: float) -> bool:
    """Wait up to this many seconds for the server to end; return whether it did."""
    waited = 0.0
    while waited < seconds:
        if not is_server_on(pid, pgdata):
            return True
        await asyncio.sleep(STOP_POLL_SECONDS)
        waited += STOP_POLL_SECONDS
    return False


START_POLL_SECONDS = 0.02
REPORT_EVERY_SECONDS = 3.0
# A recovery has no deadline: PostgreSQL logs a line a second meanwhile, and only silence is an error.
STALL_SECONDS = 120.0
ORPHANS_MESSAGE = "pre-existing shared memory block"
ORPHAN_ATTEMPTS = 50
ORPHAN_PAUSE_SECONDS = 0.2
LOG_LIMIT_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class LaunchedServer:
    """A server that was started or found, and where its part of the log begins."""

    pid: int
    log_from: int
    """Bytes of the log that are older than this start."""


async def ensure_started(
    layout: ClusterPaths,
    binaries: Binaries,
    account: SystemAccount,
    report: ReportMessage,
    *,
    stall_seconds: float = STALL_SECONDS,
) -> Postmaster:
    """Return the cluster's PostgreSQL server once it accepts connections, started now if there was none."""
    if (found := running_pid(layout.pgdata)) is not None:
        running = LaunchedServer(pid=found, log_from=_file_size(layout.log_file))
        # None when it was shutting down; then a new one is started.
        if (ready := await _wait_until_ready(layout, running, report, stall_seconds)) is not None:
            return ready
    for attempt in range(ORPHAN_ATTEMPTS):
        launched = await _launch_server(layout, binaries, account, report if attempt == 0 else _ignore_repeated)
        if (ready := await _wait_until_ready(layout, launched, report, stall_seconds)) is not None:
            return ready
        output = log_since(layout.log_file, launched.log_from)
        if ORPHANS_MESSAGE not in output:
            break
        # Backends whose postmaster was killed notice it and end; PostgreSQL starts only after that.
        await asyncio.sleep(ORPHAN_PAUSE_SECONDS)
    raise diagnose_failure(output, data_dir=layout.data_dir)


def _ignore_repeated(_message: str) -> None:
    """Discard a progress message that the first attempt to start reported already."""


async def _launch_server(
    layout: ClusterPaths, binaries: Binaries, account: SystemAccount, report: ReportMessage
) -> LaunchedServer:
    """Start the PostgreSQL server detached, with fresh configuration files and a rotated log."""
    try:
        _rotate_log(layout.log_file)
        log_from = _file_size(layout.log_file)
        socket_dir = choose_socket_dir(layout.pgdata, account)
        write_configuration(layout.pgdata, account=account, socket_dir=socket_dir, major=binaries.major)
    except OSError as error:
        raise diagnose_failure(error.strerror or str(error), data_dir=layout.data_dir) from error
    old_pid = pid_in_file(layout.pgdata)
    if old_pid is not None:
        report("the database was not stopped properly; it recovers now, nothing acknowledged is lost")
    pid = await start_detached(
        [binaries.program_path("postgres"), "-D", str(layout.pgdata)],
        account=account,
        reach=(layout.pgdata, binaries.folder, socket_dir),
        log=layout.log_file,
        # A recycled pid is told to PostgreSQL as stale; its lock file is never deleted here.
        stale_pid=old_pid
        if old_pid is not None and is_alive(old_pid) and not is_server_on(old_pid, layout.pgdata)
        else None,
    )
    return LaunchedServer(pid=pid, log_from=log_from)


async def _wait_until_ready(
    layout: ClusterPaths, launched: LaunchedServer, report: ReportMessage, stall_seconds: float
) -> Postmaster | None:
    """Return the server when it accepts connections, None when it ended; raise DatabaseDown if it stalls.

    Raises DatabaseDown after `stall_seconds` without a new line in the log; a recovery writes one a second.
    """
    size, waited, moved, reported = launched.log_from, 0.0, 0.0, 0.0
    while True:
        server = read_postmaster(layout.pgdata)
        if server is not None and server.is_ready:
            return server
        # At first there is no pid file, although the launcher or PostgreSQL lives.
        if server is None and not is_launch_alive(launched.pid, layout.pgdata):
            return None
        if (now_size := _file_size(layout.log_file)) != size:
            size, moved = now_size, waited
        if waited - moved >= stall_seconds:
            raise DatabaseDown(
                f"PostgreSQL (process {launched.pid}) has made no progress for {waited - moved:.0f} s. Look at "
                f"{layout.log_file} and at the disk of {layout.data_dir}; end that process if it hangs, and start "
                "again."
            )
        if waited - reported >= REPORT_EVERY_SECONDS:
            report(f"the database is starting, {waited:.0f} s so far: {_last_line(layout.log_file, launched.log_from)}")
            reported = waited
        await asyncio.sleep(START_POLL_SECONDS)
        waited += START_POLL_SECONDS


def is_launch_alive(pid: int, pgdata: Path) -> bool:
    """Say whether a just launched process lives: the launcher, or PostgreSQL before it entered its directory."""
    return is_server_on(pid, pgdata) or (is_alive(pid) and not _is_zombie(pid))


def _is_zombie(pid: int) -> bool:
    """Say whether the process has ended and only waits for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False


def log_since(log: Path, start: int) -> str:
    """Return the end of what PostgreSQL logged after this byte of the file, at most 16 KB."""
    try:
        with log.open("rb") as file:
            file.seek(max(start, _file_size(log) - 16_384))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _last_line(log: Path, start: int) -> str:
    """Return the last line that PostgreSQL logged after this byte of the file, without its prefix."""
    lines = log_since(log, start).strip().splitlines()
    return lines[-1].rpartition("LOG:")[2].strip() if lines else "the log is empty so far"


def _file_size(path: Path) -> int:
    """Return the size of the file in bytes; 0 without one."""
    return path.stat().st_size if path.exists() else 0


def _rotate_log(log: Path) -> None:
    """Move a log over the limit to `.log.1`, and make sure that a log file exists, owned like its directory."""
    if _file_size(log) > LOG_LIMIT_BYTES:
        log.replace(log.with_suffix(".log.1"))
    os.close(open_owned_file(log, os.O_WRONLY))
