"""PostgreSQL's settings for the embedded server: durable, sized for a laptop, quick to recover, no content in logs."""

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from mnemon.db.embedded.programs import SystemAccount
from mnemon.errors import Misconfigured

SOCKET_PORT = 5432  # names the socket file; no network port is opened
OWNER_ROLE = "mnemon"
APPLICATION_ROLE = "mnemon_app"
DATABASE_NAME = "mnemon"
SOCKET_PATH_LIMIT = 103  # macOS; Linux allows 107
INCLUDE_LINE = "include 'mnemon.conf'\n"

POSTGRES_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "port": str(SOCKET_PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    # An acknowledged write is never lost.
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # Recovery reads what came after the last checkpoint, so this bounds it.
    "max_wal_size": "256MB",
    "min_wal_size": "64MB",
    "checkpoint_timeout": "2min",
    "checkpoint_warning": "0",  # frequent ones are what the bound is for
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # The planner gets statistics of a new person's rows during the conversation, not a minute later.
    "autovacuum_naptime": "10s",
    "log_startup_progress_interval": "1s",
    # Sized for a laptop.
    "shared_buffers": "128MB",
    "effective_cache_size": "1GB",
    "work_mem": "8MB",
    "maintenance_work_mem": "64MB",
    "huge_pages": "off",
    "jit": "off",
    # The shared memory of parallel workers does not fit a container's 64 MB /dev/shm.
    "max_parallel_workers_per_gather": "0",
    "max_logical_replication_workers": "0",
    "random_page_cost": "1.1",
    # The log may outlive data that was forgotten, so it never quotes rows or statements.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
    "log_checkpoints": "off",
    "log_line_prefix": "%m [%p] ",
    "lc_messages": "C",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


def settings_text(*, socket_dir: Path, major: int) -> str:
    """Return the text of mnemon.conf, which postgresql.conf includes: all of Mnemon's settings for this version."""
    chosen = {**POSTGRES_SETTINGS, "unix_socket_directories": f'"{socket_dir}"'}
    if major >= 18:
        # Three processes fewer; a laptop's working set is cached.
        chosen["io_method"] = "sync"
    lines = (f"{name} = '{value.replace(chr(39), chr(39) * 2)}'\n" for name, value in chosen.items())
    return "# Written by mnemon at every start. Your own settings go to the end of postgresql.conf.\n" + "".join(lines)


def hba_text() -> str:
    """Return pg_hba.conf: connections over the socket only, by the operating system users that the map names."""
    # peer: the operating system says who connects, so there is no password to keep.
    return "local all all peer map=mnemon\n"


def allowed_users(account: SystemAccount) -> tuple[str, ...]:
    """Return the operating system users that may connect: the cluster's own and root.

    `nobody` is shared by many services, so it is allowed only where this process runs as it.
    """
    own = (account.name,) if account.is_current_user or account.name != "nobody" else ()
    return tuple(dict.fromkeys((*own, "root")))


def user_map_text(users: Sequence[str]) -> str:
    """Return pg_ident.conf: each operating system user may connect as the owner or as the application's role."""
    return "".join(f'mnemon "{user}" {role}\n' for user in users for role in (OWNER_ROLE, APPLICATION_ROLE))


def write_configuration(pgdata: Path, *, account: SystemAccount, socket_dir: Path, major: int) -> None:
    """Write this version's configuration files into the cluster, replacing what is there."""
    write_file(pgdata / "mnemon.conf", settings_text(socket_dir=socket_dir, major=major), account)
    write_file(pgdata / "pg_hba.conf", hba_text(), account)
    write_file(pgdata / "pg_ident.conf", user_map_text(allowed_users(account)), account)


def write_file(path: Path, text: str, account: SystemAccount) -> None:
    """Write the file by renaming a new one into place, owned by the account; keep one that has this text already."""
    if path.exists() and path.read_text() == text:
        return
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    # O_EXCL, because root may write here into another user's directory: no link of that user is followed.
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
        if not account.is_current_user:
            os.fchown(file.fileno(), account.uid, account.gid)
    draft.replace(path)


def choose_socket_dir(pgdata: Path, account: SystemAccount) -> Path:
    """Return the directory for the server's socket: the cluster's, or a private short one if its path is too long."""
    if len(os.fsencode(pgdata / f".s.PGSQL.{SOCKET_PORT}")) <= SOCKET_PATH_LIMIT:
        return pgdata
    # By the path's hash, so that every process finds the same directory without writing it down.
    digest = hashlib.sha256(os.fsencode(pgdata)).hexdigest()[:16]
    short = Path(tempfile.gettempdir()) / f"mnemon-{digest}"
    if len(os.fsencode(short / f".s.PGSQL.{SOCKET_PORT}")) > SOCKET_PATH_LIMIT:
        short = Path("/tmp") / f"mnemon-{digest}"  # noqa: S108 - private by its mode and owner, both checked below
    return _make_private_dir(short, account)


def _make_private_dir(folder: Path, account: SystemAccount) -> Path:
    """Create a directory that only this account can enter; raise Misconfigured where another user has it."""
    try:
        folder.mkdir(mode=0o700)
        if not account.is_current_user:
            os.chown(folder, account.uid, account.gid)
    except FileExistsError:
        pass
    except OSError as error:
        raise Misconfigured(
            f"{folder}, for the database's socket, cannot be made ({error.strerror}). "
            "Choose a data directory with a path under 80 characters (--data-dir or MNEMON_DATA_DIR)."
        ) from error
    found = folder.lstat()
    if found.st_uid != account.uid or found.st_mode & 0o170077 != 0o040000:
        raise Misconfigured(
            f"{folder}, for the database's socket, is taken by somebody else. Remove it, "
            "or choose a data directory with a path under 80 characters (--data-dir or MNEMON_DATA_DIR)."
        )
    return folder
