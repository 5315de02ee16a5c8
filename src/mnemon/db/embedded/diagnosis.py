"""Explanations of PostgreSQL's startup errors: cause and next step."""

import re
from dataclasses import dataclass
from pathlib import Path

from mnemon.errors import DatabaseDown, Misconfigured, MnemonError


@dataclass(frozen=True, kw_only=True)
class StartupFailure:
    """One reason why the server does not start: how to recognize it, and how to explain it."""

    sign: str
    """A pattern in PostgreSQL's output."""
    detail: str
    """Cause and next step; `{data_dir}` is filled in."""
    lasting: bool
    """True when only the operator can fix it."""


# Looked through in order; the first whose pattern fits is taken.
STARTUP_FAILURES = (
    StartupFailure(
        sign=r"No space left on device|Disk quota exceeded|could not extend file",
        detail="The disk of {data_dir} has no room left, so the database stopped; nothing acknowledged is lost. "
        "Free some space (`df -h {data_dir}` shows it), then start again.",
        lasting=False,
    ),
    StartupFailure(
        sign=r"pre-existing shared memory block",
        detail="Processes of a database server that was killed still work on {data_dir}. "
        "They end by themselves within seconds; start again, and if it stays, end them (`ps aux | grep postgres`).",
        lasting=False,
    ),
    StartupFailure(
        sign=r"lock file \"postmaster\.pid\" already exists|is another postmaster .*running in data directory",
        detail="Another PostgreSQL server, not started by mnemon, runs on {data_dir}/postgres. "
        "Stop it, or name another directory with --data-dir or MNEMON_DATA_DIR.",
        lasting=True,
    ),
    StartupFailure(
        sign=r"could not bind Unix|could not create any Unix-domain sockets|lock file \".*\.s\.PGSQL.*already exists"
        r"|Unix-domain socket path .* is too long",
        detail="The database's socket under {data_dir} is taken or cannot be made. Stop the other server that uses it, "
        "or choose a data directory with a short path on a local disk (--data-dir or MNEMON_DATA_DIR).",
        lasting=True,
    ),
    StartupFailure(
        sign=r"could not locate a valid checkpoint record|invalid checkpoint record|invalid primary checkpoint"
        r"|could not locate required checkpoint|PANIC:.*(checksum|corrupt)|incorrect checksum in control file"
        r"|database files are incompatible with server"
        r"|pg_control.*(No such file|could not)|not a valid data directory|could not open file \"(global|base|pg_)",
        detail="The database files in {data_dir}/postgres are damaged or from another kind of machine. "
        "Nothing was overwritten. Keep a copy of the directory, then bring back a backup: "
        "`mnemon restore FILE --data-dir NEW_DIRECTORY`.",
        lasting=True,
    ),
    StartupFailure(
        sign=r"could not (create|map|attach).*shared memory|Cannot allocate memory|out of memory",
        detail="There is not enough memory to start the database in {data_dir} (it takes about 150 MB). "
        "Close other programs or give the container more memory, then start again.",
        lasting=False,
    ),
    StartupFailure(
        sign=r"configuration file .* contains errors|unrecognized configuration parameter|invalid value for parameter",
        detail="A line in {data_dir}/postgres/postgresql.conf is not one this PostgreSQL understands. "
        "Take out the line that {data_dir}/postgres.log names, then start again.",
        lasting=True,
    ),
    StartupFailure(
        sign=r"Permission denied|has wrong ownership|has invalid permissions|Operation not permitted",
        detail="PostgreSQL may not read or write its files in {data_dir}/postgres. They belong to the user that first "
        "started mnemon: run as that user, or give them to this one with `chown -R`, and `chmod 700` the directory.",
        lasting=True,
    ),
    StartupFailure(
        sign=r"Read-only file system",
        detail="{data_dir} is on a disk that is mounted read-only. "
        "Mount it writable, or name another directory with --data-dir or MNEMON_DATA_DIR.",
        lasting=True,
    ),
    StartupFailure(
        sign=r"could not look up effective user ID",
        detail="This user has no entry in the user database, and PostgreSQL needs one to work in {data_dir}. "
        "Add a line for it to /etc/passwd, run as another user, or set MNEMON_DATABASE_URL.",
        lasting=True,
    ),
)


def diagnose_failure(output: str, *, data_dir: Path) -> MnemonError:
    """Return the error for what PostgreSQL printed as it failed to start, with cause and next step."""
    for cause in STARTUP_FAILURES:
        if re.search(cause.sign, output, re.IGNORECASE):
            kind = Misconfigured if cause.lasting else DatabaseDown
            return kind(cause.detail.format(data_dir=data_dir))
    return DatabaseDown(
        f"PostgreSQL did not start: {last_error_line(output)}. {data_dir / 'postgres.log'} has more; "
        "`mnemon doctor` checks the usual causes."
    )


def last_error_line(output: str) -> str:
    """Return PostgreSQL's last output line that reports an error, without timestamp; the very last if none does."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    bad = [line for line in lines if re.search(r"\b(PANIC|FATAL|ERROR|error)\b:", line)]
    last = (bad or lines or ["it said nothing"])[-1]
    return re.sub(r"^.*?\b(PANIC|FATAL|ERROR|error):\s*", "", last).rstrip(".")
