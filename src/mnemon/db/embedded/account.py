"""Which operating system user PostgreSQL runs as: we ourselves, or somebody unprivileged when we are root."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from mnemon.errors import Misconfigured

ROOT = 0


@dataclass(frozen=True, kw_only=True)
class Account:
    """The user that owns the cluster's files and runs its processes."""

    uid: int
    gid: int
    name: str
    """The name in the user database; initdb does not work without one."""

    @property
    def is_us(self) -> bool:
        """True when no change of user is needed."""
        return self.uid == os.geteuid()


def choose_account(data_dir: Path, pgdata: Path) -> Account:
    """The owner of the cluster; for a new one ourselves, or as root the directory's owner, or `nobody`."""
    if pgdata.exists():
        return _owner_of_cluster(pgdata)
    if os.geteuid() != ROOT:
        return _named(os.geteuid())
    owner = data_dir.stat().st_uid
    return _named(owner) if owner != ROOT else _nobody()


def _owner_of_cluster(pgdata: Path) -> Account:
    owner = pgdata.stat().st_uid
    if owner == ROOT:
        raise Misconfigured(
            f"{pgdata} belongs to root, and PostgreSQL does not run as root. Give it back to the user that had it: "
            f"chown -R nobody {pgdata} (or the name of an ordinary user)."
        )
    if os.geteuid() not in (ROOT, owner):
        raise Misconfigured(
            f"{pgdata} belongs to user id {owner}, and this is user id {os.geteuid()}. "
            "Run as that user or as root, or name another directory with --data-dir or MNEMON_DATA_DIR."
        )
    return _named(owner)


def _named(uid: int) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError as error:
        raise Misconfigured(
            f"User id {uid} has no entry in the user database, and PostgreSQL needs one. "
            "Add a line for it to /etc/passwd, run as another user, or set MNEMON_DATABASE_URL."
        ) from error
    return Account(uid=uid, gid=entry.pw_gid, name=entry.pw_name)


def _nobody() -> Account:
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError as error:
        raise Misconfigured(
            "PostgreSQL does not run as root, and this system has no user `nobody` to run it as. "
            "Run mnemon as an ordinary user, or set MNEMON_DATABASE_URL."
        ) from error
    return Account(uid=entry.pw_uid, gid=entry.pw_gid, name=entry.pw_name)
