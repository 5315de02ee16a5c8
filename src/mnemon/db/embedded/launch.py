"""A small program, run by itself: becomes another user where asked, leaves its parent where asked, then runs a command.

    python -I -S launch.py '{"argv": [...], "uid": 65534, "gid": 65534, "reach": [...], "log": null}'

It stands alone (no import of ours) because a process with threads must not run Python between fork and exec, and
because PostgreSQL has to outlive the process that starts it. As root it becomes the unprivileged user without touching
any directory's permissions: where a parent directory is closed to that user (a 0700 home, say), it keeps one
capability, to read and search, and nothing else.
"""

import ctypes
import json
import os
import struct
import sys
from typing import NoReturn, TypedDict

PR_SET_SECUREBITS = 28
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
KEEP_CAPS_AND_NO_SETUID_FIXUP = 0b10100  # without it access(2) ignores capabilities, and PostgreSQL asks access(2)
CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2
CAPABILITY_VERSION_3 = 0x20080522
CAPABILITY_WORDS = struct.Struct("6I")  # effective, permitted, inheritable, then the upper halves of the three


class LaunchSpec(TypedDict):
    """What to run and how."""

    argv: list[str]
    """The command; its first word is a path."""
    uid: int | None
    """The user to become; None to stay."""
    gid: int | None
    reach: list[str]
    """Directories the command has to get into."""
    log: str | None
    """Where a detached command's words go; None to run in place."""


class LaunchRefused(Exception):
    """The system does not allow it; the text says what."""


def main() -> None:
    """The command runs in place of this program, or as a process of its own whose pid is printed."""
    order: LaunchSpec = json.loads(sys.argv[1])
    try:
        if order["log"] is None:
            execute_command(order)
        sys.stdout.write(f"{detach_command(order, order['log'])}\n")
    except (OSError, LaunchRefused) as error:
        sys.exit(f"launch: {error}")


def detach_command(order: LaunchSpec, log: str) -> int:
    """The command is a child of nobody, its words go to the log; its pid."""
    read_end, write_end = os.pipe()
    first = os.fork()
    if first:
        os.close(write_end)
        os.waitpid(first, 0)
        with os.fdopen(read_end) as pipe:
            pid, _, trouble = pipe.read().partition("\n")
        if trouble:
            raise LaunchRefused(trouble)
        return int(pid)
    os.setsid()
    if os.fork():
        os._exit(0)
    os.write(write_end, f"{os.getpid()}\n".encode())
    try:
        words = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (words, 1), (words, 2)):
            os.dup2(source, target)
        # Whatever else came along: some event loops leave their pipes open, and would wait for this process's end.
        os.closerange(3, write_end)
        os.closerange(write_end + 1, 4096)
        execute_command(order)
    except (OSError, LaunchRefused) as error:
        os.write(write_end, str(error).encode())
    os._exit(1)


def execute_command(order: LaunchSpec) -> NoReturn:
    """The command has taken this program's place, as the user asked for."""
    if order["uid"] is not None and order["gid"] is not None:
        switch_user(order["uid"], order["gid"], order["reach"])
    os.execv(order["argv"][0], order["argv"])  # noqa: S606 - the launcher's own words, no shell


def switch_user(uid: int, gid: int, reach: list[str]) -> None:
    """This process belongs to the user and can reach the paths, by one kept capability if it must."""
    libc = ctypes.CDLL(None, use_errno=True)
    keeping = sys.platform == "linux" and libc.prctl(PR_SET_SECUREBITS, KEEP_CAPS_AND_NO_SETUID_FIXUP, 0, 0, 0) == 0
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    held = permitted_capabilities(libc) if keeping else 0
    if keeping:
        set_capabilities(libc, permit=held, use=0)
    if unreachable_paths(reach):
        keep_read_capability(libc, held)
    elif keeping:
        set_capabilities(libc, permit=0, use=0)
    if closed := unreachable_paths(reach):
        raise LaunchRefused(f"user id {uid} cannot get into {closed[0]}")


def keep_read_capability(libc: ctypes.CDLL, held: int) -> None:
    """The least capability we hold that opens closed directories is kept, across exec too."""
    for capability in (CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE):
        if held & 1 << capability:
            set_capabilities(libc, permit=1 << capability, use=1 << capability)
            libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0)
            return


def unreachable_paths(reach: list[str]) -> list[str]:
    """Those of the directories that this process cannot get into as it is."""
    return [path for path in reach if not os.access(path, os.X_OK)]


def permitted_capabilities(libc: ctypes.CDLL) -> int:
    """The capabilities this process may use, lower half."""
    words = ctypes.create_string_buffer(CAPABILITY_WORDS.size)
    if libc.capget(_capability_header(), words) != 0:
        return 0
    return int(CAPABILITY_WORDS.unpack(words.raw)[1])


def set_capabilities(libc: ctypes.CDLL, *, permit: int, use: int) -> None:
    """This process may use these capabilities and no others, and uses those."""
    if libc.capset(_capability_header(), CAPABILITY_WORDS.pack(use, permit, use, 0, 0, 0)) != 0:
        raise LaunchRefused(f"capset: {os.strerror(ctypes.get_errno())}")


def _capability_header() -> bytes:
    return struct.pack("Ii", CAPABILITY_VERSION_3, 0)


if __name__ == "__main__":
    main()
