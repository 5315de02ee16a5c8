"""Is a PostgreSQL server running on this directory, and is it really one?"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PID_LINES = 8


@dataclass(frozen=True, kw_only=True)
class Postmaster:
    """What `postmaster.pid` says about a server."""

    pid: int
    port: int
    socket_dir: str
    """Where clients find it."""
    status: str
    """`starting`, `ready`, `stopping`, or `standby`."""

    @property
    def ready(self) -> bool:
        """True when it accepts connections."""
        return self.status == "ready"


def parse_postmaster(text: str) -> Postmaster | None:
    """The server a pid file describes; None for one that is still being written."""
    lines = text.split("\n")
    if len(lines) < PID_LINES:
        return None
    try:
        pid, port = int(lines[0]), int(lines[3])
    except ValueError:
        return None
    return Postmaster(pid=abs(pid), port=port, socket_dir=lines[4].strip(), status=lines[7].strip())


def read_postmaster(pgdata: Path) -> Postmaster | None:
    """The server that runs on this directory; None when the pid file is missing, unfinished or left over."""
    try:
        found = parse_postmaster((pgdata / "postmaster.pid").read_text())
    except (OSError, UnicodeDecodeError):
        return None
    return found if found and is_server_on(found.pid, pgdata) else None


def running_pid(pgdata: Path) -> int | None:
    """The process of the server on this directory, even while it is still writing its pid file."""
    pid = named_pid(pgdata)
    return pid if pid is not None and is_server_on(pid, pgdata) else None


def named_pid(pgdata: Path) -> int | None:
    """The pid in the pid file, whoever has it by now."""
    try:
        return abs(int((pgdata / "postmaster.pid").read_text().split("\n", 1)[0]))
    except (OSError, ValueError):
        return None


def is_server_on(pid: int, pgdata: Path) -> bool:
    """True when this process lives, is a PostgreSQL and works on this directory; a recycled pid is not."""
    if sys.platform != "linux":
        return _named_in_process_list(pid, pgdata)
    try:
        program = Path(f"/proc/{pid}/exe").readlink().name.removesuffix(" (deleted)")
        return program == "postgres" and Path(f"/proc/{pid}/cwd").samefile(pgdata)
    except PermissionError:
        # In a container even root may not look at another user's process that closely.
        return _named_in_command_line(pid, pgdata)
    except OSError:
        return False


def is_stopped(pid: int) -> bool:
    """True when a signal (SIGSTOP, SIGTSTP) keeps this process from running; False where that cannot be seen."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except (OSError, IndexError):
        return False


def is_process(pid: int) -> bool:
    """True when somebody has this pid."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _named_in_command_line(pid: int, pgdata: Path) -> bool:
    try:
        program, *words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except (OSError, UnicodeDecodeError):
        return False
    return Path(program).name == "postgres" and str(pgdata) in words


def _named_in_process_list(pid: int, pgdata: Path) -> bool:
    said = subprocess.run(  # noqa: S603 - fixed words and a number
        ["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, timeout=10, check=False
    ).stdout
    return "postgres" in said and str(pgdata) in said
