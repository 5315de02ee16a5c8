"""A stand-alone program that changes the user and detaches itself, each if requested, and then runs a command.

    python -I -S launch.py '{"argv": [...], "uid": 65534, "gid": 65534, "reach": [...], "log": null}'

It imports nothing of Mnemon, because a process with threads must not run Python between fork and exec, and because
PostgreSQL has to outlive the process that starts it. As root it becomes the unprivileged user without touching any
directory's permissions: where a parent directory is closed to that user (a 0700 home, say), it keeps one capability, to
read and search, and nothing else.
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
# Without these bits access(2) ignores capabilities, and PostgreSQL asks access(2).
KEEP_CAPS_AND_NO_SETUID_FIXUP = 0b10100
CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2
CAPABILITY_VERSION_3 = 0x20080522
# Effective, permitted, inheritable, then the upper halves of the three.
CAPABILITY_WORDS = struct.Struct("6I")


class LaunchSpec(TypedDict):
    """The command to run, and how."""

    argv: list[str]
    """The command; its first item is a path."""
    uid: int | None
    """The user to become; None to stay."""
    gid: int | None
    reach: list[str]
    """Directories the command must be able to enter."""
    log: str | None
    """The file for a detached command's output; None to run in place."""


class LaunchRefused(Exception):
    """The system does not allow it; the text says what."""


def main() -> None:
    """Read a LaunchSpec from the command line; become its command, or start it detached and print its pid."""
    spec: LaunchSpec = json.loads(sys.argv[1])
    try:
        if spec["log"] is None:
            execute_command(spec)
        sys.stdout.write(f"{detach_command(spec, spec['log'])}\n")
    except (OSError, LaunchRefused) as error:
        sys.exit(f"launch: {error}")


def detach_command(spec: LaunchSpec, log: str) -> int:
    """Start the command detached from this process, its output appended to the log; return its pid."""
    read_end, write_end = os.pipe()
    # Forked twice: the grandchild has no terminal and no parent, so nobody has to wait for it.
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
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        # Close all inherited descriptors: some event loops leave their pipes open and would wait for this process.
        os.closerange(3, write_end)
        os.closerange(write_end + 1, 4096)
        execute_command(spec)
    except (OSError, LaunchRefused) as error:
        os.write(write_end, str(error).encode())
    os._exit(1)


def execute_command(spec: LaunchSpec) -> NoReturn:
    """Replace this process with the command, as the user named in the spec."""
    if spec["uid"] is not None and spec["gid"] is not None:
        switch_user(spec["uid"], spec["gid"], spec["reach"])
    os.execv(spec["argv"][0], spec["argv"])  # noqa: S606 - an argument list of the launcher, no shell


def switch_user(uid: int, gid: int, reach: list[str]) -> None:
    """Become this user, keeping one capability if the paths need it; raise LaunchRefused if they stay closed."""
    libc = ctypes.CDLL(None, use_errno=True)
    keeping = sys.platform == "linux" and libc.prctl(PR_SET_SECUREBITS, KEEP_CAPS_AND_NO_SETUID_FIXUP, 0, 0, 0) == 0
    # In this order: after setuid the process may change neither its groups nor its group id.
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    held = permitted_capabilities(libc) if keeping else 0
    if keeping:
        # None in use at first, to see whether the user gets in without any.
        set_capabilities(libc, permit=held, use=0)
    if unreachable_paths(reach):
        keep_read_capability(libc, held)
    elif keeping:
        set_capabilities(libc, permit=0, use=0)
    if closed := unreachable_paths(reach):
        raise LaunchRefused(f"user id {uid} cannot get into {closed[0]}")


def keep_read_capability(libc: ctypes.CDLL, held: int) -> None:
    """Keep, across exec too, the least of the held Linux capabilities that can enter closed directories."""
    for capability in (CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE):
        if held & 1 << capability:
            set_capabilities(libc, permit=1 << capability, use=1 << capability)
            # Ambient, or exec would drop it: PostgreSQL's program files carry no capabilities.
            libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0)
            return


def unreachable_paths(reach: list[str]) -> list[str]:
    """Return the directories of these that this process cannot enter as it is."""
    return [path for path in reach if not os.access(path, os.X_OK)]


def permitted_capabilities(libc: ctypes.CDLL) -> int:
    """Return the Linux capabilities this process may use, as a bit mask of the lower 32."""
    buffer = ctypes.create_string_buffer(CAPABILITY_WORDS.size)
    if libc.capget(_capability_header(), buffer) != 0:
        return 0
    return int(CAPABILITY_WORDS.unpack(buffer.raw)[1])


def set_capabilities(libc: ctypes.CDLL, *, permit: int, use: int) -> None:
    """Limit this process to the permitted capabilities, and make those of `use` effective."""
    if libc.capset(_capability_header(), CAPABILITY_WORDS.pack(use, permit, use, 0, 0, 0)) != 0:
        raise LaunchRefused(f"capset: {os.strerror(ctypes.get_errno())}")


def _capability_header() -> bytes:
    """Return the header that the capget and capset system calls take: version 3, this process."""
    return struct.pack("Ii", CAPABILITY_VERSION_3, 0)


if __name__ == "__main__":
    main()
