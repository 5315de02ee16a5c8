"""Creation of the cluster: in a draft directory, completely, and only then renamed to its place."""

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

from mnemon.db.embedded.configuration import (
    DATABASE_NAME,
    INCLUDE_LINE,
    OWNER_ROLE,
    choose_socket_dir,
    write_configuration,
)
from mnemon.db.embedded.data_dir import ClusterPaths, open_owned_file
from mnemon.db.embedded.diagnosis import diagnose_failure
from mnemon.db.embedded.programs import Binaries, ProgramResult, SystemAccount, run_program
from mnemon.errors import DatabaseDown, Misconfigured

DRAFT_PREFIX = "postgres.new-"


async def ensure_created(
    layout: ClusterPaths, binaries: Binaries, account: SystemAccount, report: Callable[[str], None]
) -> None:
    """Create the PostgreSQL cluster unless it exists; raise Misconfigured for a foreign, incomplete or missing one."""
    if layout.pgdata.exists():
        check_cluster(layout, binaries)
    # A missing cluster is an error and never replaced by an empty one: perhaps a disk is not mounted.
    elif layout.created_file.exists():
        raise Misconfigured(
            f"{layout.data_dir} had a database, and {layout.pgdata} is gone. Put it back (is a disk not mounted?) or "
            f"restore a backup into a new data directory. To begin with an empty one, delete {layout.created_file}."
        )
    else:
        report(f"making a new database in {layout.data_dir}")
        await _create_cluster(layout, binaries, account)
    if not layout.created_file.exists():
        _write_durably(
            layout.created_file,
            "The database beside this file was made by mnemon. It is never replaced by an empty one.\n",
        )


def check_cluster(layout: ClusterPaths, binaries: Binaries) -> None:
    """Raise Misconfigured unless the cluster was created by Mnemon, completely, with this PostgreSQL version."""
    try:
        made_by = (layout.pgdata / "PG_VERSION").read_text().strip()
        whole = layout.marker_file.exists()
    except FileNotFoundError:
        made_by, whole = "", False
    except OSError as error:
        raise Misconfigured(
            f"{layout.pgdata} cannot be read ({error.strerror}). Run as the user it belongs to."
        ) from error
    if not whole:
        raise Misconfigured(
            f"{layout.pgdata} exists and is not a database that mnemon finished making. If it holds anything of yours, "
            f"move it away; then start again and a new one is made. Nothing in it was changed."
        )
    if made_by != str(binaries.major):
        raise Misconfigured(
            f"The database in {layout.data_dir} was made by PostgreSQL {made_by}, and these programs are "
            f"{binaries.version}. Point MNEMON_POSTGRES_BIN_DIR at the bin directory of PostgreSQL {made_by}, run "
            "`mnemon backup FILE`, then `mnemon restore FILE` with a new data directory."
        )


async def _create_cluster(layout: ClusterPaths, binaries: Binaries, account: SystemAccount) -> None:
    """Run initdb in a draft directory, create the database and rename the draft to its place."""
    _remove_drafts(layout)
    draft = layout.data_dir / f"{DRAFT_PREFIX}{secrets.token_hex(4)}"
    try:
        _make_draft_folder(draft, account)
        reach = (draft, binaries.folder)
        _check_result(await run_program(initdb_command(binaries, draft), account=account, reach=reach), layout)
        _configure_draft(draft, layout, binaries, account)
        _check_result(
            await run_program(
                _single_user_command(binaries, draft), account=account, reach=reach, given=_CREATE_DATABASE_SQL
            ),
            layout,
        )
        # The marker is written last but one, and the rename is atomic: what has the final name is complete.
        _write_durably(draft / layout.marker_file.name, f"PostgreSQL {binaries.version}\n")
        draft.rename(layout.pgdata)
        _fsync_dir(layout.data_dir)
    except OSError as error:
        raise diagnose_failure(error.strerror or str(error), data_dir=layout.data_dir) from error
    finally:
        # Again: the initdb of a killed process lives on briefly and may write after the first removal.
        _remove_drafts(layout)


def _remove_drafts(layout: ClusterPaths) -> None:
    """Delete the draft directories of interrupted creations; none was ever used."""
    for left in layout.data_dir.glob(f"{DRAFT_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)


_CREATE_DATABASE_SQL = f"CREATE DATABASE {DATABASE_NAME};\n"


def initdb_command(binaries: Binaries, draft: Path) -> list[str]:
    """Return the initdb command: text sorts by code point and folds case by Unicode, alike on every machine."""
    locale = (
        ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C")
        if binaries.major >= 17
        else ("--locale=C.UTF-8",)
    )
    fixed = ("--encoding=UTF8", "--auth=peer", "--data-checksums", "--no-instructions")
    return [binaries.program_path("initdb"), "-D", str(draft), "-U", OWNER_ROLE, *fixed, *locale]


def _single_user_command(binaries: Binaries, draft: Path) -> list[str]:
    """Return the command that runs PostgreSQL on the draft without a server, reading SQL from its input."""
    # Single-user mode opens no socket and ends with its input: nothing has to be started and stopped for one statement.
    return [binaries.program_path("postgres"), "--single", "-j", "-D", str(draft), "template1"]


def _check_result(ended: ProgramResult, layout: ClusterPaths) -> None:
    """Raise the diagnosed error unless the PostgreSQL program exited with 0 and printed no error."""
    # `postgres --single` exits with 0 after a failed statement too, so its output is read.
    if ended.code != 0 or "FATAL" in ended.said or "ERROR" in ended.said:
        raise diagnose_failure(ended.said, data_dir=layout.data_dir)


def _make_draft_folder(draft: Path, account: SystemAccount) -> None:
    """Create the directory in which a new cluster is made, private, and give it to the account."""
    draft.mkdir(mode=0o700)
    if not account.is_current_user:
        os.chown(draft, account.uid, account.gid)


def _configure_draft(draft: Path, layout: ClusterPaths, binaries: Binaries, account: SystemAccount) -> None:
    """Append the include line to postgresql.conf and write Mnemon's configuration files."""
    with (draft / "postgresql.conf").open("a") as file:
        file.write(INCLUDE_LINE)
    socket_dir = choose_socket_dir(layout.pgdata, account)
    write_configuration(draft, account=account, socket_dir=socket_dir, major=binaries.major)


def _write_durably(path: Path, text: str) -> None:
    """Write the file and flush it to disk; raise DatabaseDown where that fails."""
    try:
        with os.fdopen(open_owned_file(path, os.O_WRONLY | os.O_TRUNC), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DatabaseDown(
            f"{path} cannot be written ({error.strerror}). Free some space, then start again."
        ) from error


def _fsync_dir(folder: Path) -> None:
    """Flush the directory's entries to disk, so that a rename in it survives a power failure."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
