"""Where the files of the embedded cluster stand."""

import os
from dataclasses import dataclass
from pathlib import Path

from mnemon.errors import Misconfigured


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The paths under one data directory."""

    data_dir: Path
    """The data directory itself, absolute, readable by its owner only."""

    @property
    def pgdata(self) -> Path:
        """The cluster: complete from the moment it has this name."""
        return self.data_dir / "postgres"

    @property
    def marker(self) -> Path:
        """Stands in the cluster when we made it and finished making it."""
        return self.pgdata / "mnemon-cluster"

    @property
    def record(self) -> Path:
        """Stands beside the cluster, so that a cluster that went missing is not taken for one never made."""
        return self.data_dir / "postgres.made"

    @property
    def log(self) -> Path:
        """What PostgreSQL says."""
        return self.data_dir / "postgres.log"

    @property
    def latch(self) -> Path:
        """Locked by whoever makes, starts or stops the cluster."""
        return self.data_dir / "postgres.latch"

    @property
    def users(self) -> Path:
        """Locked, shared, by every process that uses the cluster."""
        return self.data_dir / "postgres.users"

    @property
    def keeper(self) -> Path:
        """Locked by the keeper, so that there is one."""
        return self.data_dir / "postgres.keeper"


def open_layout(data_dir: Path) -> Layout:
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
    return Layout(data_dir=absolute)


def has_database(data_dir: Path) -> bool:
    """Whether a cluster was ever made in the data directory; also where this user may not look, or it went missing."""
    layout = Layout(data_dir=data_dir.expanduser().resolve())
    try:
        return layout.pgdata.exists() or layout.record.exists()
    except PermissionError:
        return True


def open_own(path: Path, flags: int) -> int:
    """A descriptor of a file of ours, made if need be; as root in somebody's directory the file is theirs."""
    fd = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    owner = path.parent.stat()
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.fchown(fd, owner.st_uid, owner.st_gid)
    return fd
