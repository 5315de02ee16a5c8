"""Makes the cluster: aside, completely, and only then under its name."""

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

from mnemon.db.embedded.account import Account
from mnemon.db.embedded.binaries import Binaries
from mnemon.db.embedded.configuration import DATABASE, INCLUDE, OWNER, choose_socket_dir, write_configuration
from mnemon.db.embedded.diagnosis import diagnose
from mnemon.db.embedded.layout import Layout, open_own
from mnemon.db.embedded.programs import Ended, run
from mnemon.errors import DatabaseDown, Misconfigured

DRAFT = "postgres.new-"


async def ensure_made(layout: Layout, binaries: Binaries, account: Account, report: Callable[[str], None]) -> None:
    """The cluster stands complete under its name; one that is not ours, not whole or gone is an error."""
    if layout.pgdata.exists():
        check_made(layout, binaries)
    elif layout.record.exists():
        raise Misconfigured(
            f"{layout.data_dir} had a database, and {layout.pgdata} is gone. Put it back (is a disk not mounted?) or "
            f"restore a backup into a new data directory. To begin with an empty one, delete {layout.record}."
        )
    else:
        report(f"making a new database in {layout.data_dir}")
        await _make(layout, binaries, account)
    if not layout.record.exists():
        _write(
            layout.record, "The database beside this file was made by mnemon. It is never replaced by an empty one.\n"
        )


def check_made(layout: Layout, binaries: Binaries) -> None:
    """The cluster is ours, whole, and of this PostgreSQL version."""
    try:
        made_by = (layout.pgdata / "PG_VERSION").read_text().strip()
        whole = layout.marker.exists()
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


async def _make(layout: Layout, binaries: Binaries, account: Account) -> None:
    _sweep(layout)
    draft = layout.data_dir / f"{DRAFT}{secrets.token_hex(4)}"
    try:
        _make_draft_folder(draft, account)
        reach = (draft, binaries.folder)
        _check(await run(initdb_command(binaries, draft), account=account, reach=reach), layout)
        _configure(draft, layout, binaries, account)
        _check(await run(_single_user(binaries, draft), account=account, reach=reach, given=_FIRST_DATABASE), layout)
        _write(draft / layout.marker.name, f"PostgreSQL {binaries.version}\n")
        draft.rename(layout.pgdata)
        _sync(layout.data_dir)
    except OSError as error:
        raise diagnose(error.strerror or str(error), data_dir=layout.data_dir) from error
    finally:
        # Again: the initdb of a process that was killed lives on a little, and writes where the first sweep has been.
        _sweep(layout)


def _sweep(layout: Layout) -> None:
    """Drafts never served anyone: what is left of an interrupted one can go."""
    for left in layout.data_dir.glob(f"{DRAFT}*"):
        shutil.rmtree(left, ignore_errors=True)


_FIRST_DATABASE = f"CREATE DATABASE {DATABASE};\n"


def initdb_command(binaries: Binaries, draft: Path) -> list[str]:
    """Text sorts by code point and folds case by Unicode, alike on every machine."""
    locale = (
        ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C")
        if binaries.major >= 17
        else ("--locale=C.UTF-8",)
    )
    fixed = ("--encoding=UTF8", "--auth=peer", "--data-checksums", "--no-instructions")
    return [binaries.program("initdb"), "-D", str(draft), "-U", OWNER, *fixed, *locale]


def _single_user(binaries: Binaries, draft: Path) -> list[str]:
    return [binaries.program("postgres"), "--single", "-j", "-D", str(draft), "template1"]


def _check(ended: Ended, layout: Layout) -> None:
    if ended.code != 0 or "FATAL" in ended.said or "ERROR" in ended.said:
        raise diagnose(ended.said, data_dir=layout.data_dir)


def _make_draft_folder(draft: Path, account: Account) -> None:
    draft.mkdir(mode=0o700)
    if not account.is_us:
        os.chown(draft, account.uid, account.gid)


def _configure(draft: Path, layout: Layout, binaries: Binaries, account: Account) -> None:
    with (draft / "postgresql.conf").open("a") as file:
        file.write(INCLUDE)
    socket_dir = choose_socket_dir(layout.pgdata, account)
    write_configuration(draft, account=account, socket_dir=socket_dir, major=binaries.major)


def _write(path: Path, text: str) -> None:
    try:
        with os.fdopen(open_own(path, os.O_WRONLY | os.O_TRUNC), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DatabaseDown(
            f"{path} cannot be written ({error.strerror}). Free some space, then start again."
        ) from error


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
