"""Whatever is wrong with the data directory: a cause, a next step, and nothing replaced."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from mnemon.db.embedded.cluster import ensure_running
from mnemon.db.embedded.configuration import choose_socket_dir
from mnemon.db.embedded.programs import choose_account, find_binaries
from mnemon.errors import DatabaseDown, Misconfigured
from support.bounds import HANGS_S
from support.holder import Holder
from support.processes import servers_on

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk or change owners")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Mounts a disk of so many megabytes."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(megabytes: int) -> Path:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)], capture_output=True
        )
        if done.returncode != 0:
            pytest.skip("this container may not mount a disk")
        return place

    yield mount
    subprocess.run(["umount", "-l", str(place)], capture_output=True)


@needs_root
async def test_a_disk_with_no_room_for_a_new_database(small_disk: Callable[[int], Path]) -> None:
    data_dir = small_disk(10) / "data"
    with pytest.raises(DatabaseDown, match=r"has no room left.*Free some space"):
        await ensure_running(data_dir)
    assert [path.name for path in data_dir.iterdir() if path.is_dir()] == []


@needs_root
async def test_a_disk_with_no_room_to_start_an_old_database(small_disk: Callable[[int], Path], made: Path) -> None:
    disk = small_disk(90)
    subprocess.run(["cp", "-a", str(made), str(disk / "data")], check=True)
    cluster = await ensure_running(disk / "data")
    os.kill(cluster.pid, signal.SIGQUIT)
    while servers_on(disk / "data" / "postgres"):
        await asyncio.sleep(0.02)
    _fill(disk / "filler")
    with pytest.raises(DatabaseDown, match=r"has no room left.*Free some space"):
        await ensure_running(disk / "data")
    (disk / "filler").unlink()
    again = await ensure_running(disk / "data")
    with psycopg.connect(again.url) as connection:
        assert connection.execute("SELECT word FROM kept").fetchall() == [("before",)]
    await cluster.stop()
    await again.stop()


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(b"x" * 65536)


async def test_a_directory_that_is_not_a_finished_database_is_left_as_it_is(new_dir: Path) -> None:
    (new_dir / "postgres").mkdir(parents=True)
    (new_dir / "postgres" / "PG_VERSION").write_text("18\n")
    if os.geteuid() == 0:
        os.chown(new_dir / "postgres", 65534, 65534)
    with pytest.raises(Misconfigured, match="not a database that mnemon finished making"):
        await ensure_running(new_dir)
    assert [path.name for path in (new_dir / "postgres").iterdir()] == ["PG_VERSION"]


def half_made(folder: Path, holder: Callable[..., Holder]) -> bool:
    """Whether the process that made a database there was killed before it had finished."""
    killed = holder(folder)
    end = time.monotonic() + HANGS_S
    while not list(folder.glob("postgres.new-*/base")) and time.monotonic() < end:
        time.sleep(0.01)
    killed.kill()
    return not (folder / "postgres").exists()


def test_a_making_that_was_killed_is_begun_again(new_dir: Path, holder: Callable[..., Holder]) -> None:
    # On a busy machine the making may be over before this process gets to kill it; then it is tried elsewhere.
    folder = next(folder for n in range(10) if half_made(folder := new_dir / str(n), holder))
    assert list(folder.glob("postgres.new-*"))
    again = holder(folder)
    assert again.server_pid() > 0
    assert not list(folder.glob("postgres.new-*"))
    again.leave()


async def test_a_database_that_went_missing_is_not_replaced_by_an_empty_one(data_dir: Path) -> None:
    (data_dir / "postgres").rename(data_dir / "elsewhere")
    with pytest.raises(Misconfigured, match=r"had a database, and .* is gone.*postgres\.made"):
        await ensure_running(data_dir)
    assert not (data_dir / "postgres").exists()


async def test_a_database_of_another_major_version(data_dir: Path) -> None:
    (data_dir / "postgres" / "PG_VERSION").write_text("16\n")
    with pytest.raises(Misconfigured, match=r"made by PostgreSQL 16.*MNEMON_POSTGRES_BIN_DIR.*mnemon backup"):
        await ensure_running(data_dir)


async def test_a_damaged_database_is_kept_and_a_backup_advised(data_dir: Path) -> None:
    control = data_dir / "postgres" / "global" / "pg_control"
    control.write_bytes(b"\0" * control.stat().st_size)
    with pytest.raises(Misconfigured, match=r"damaged or from another kind of machine.*mnemon restore"):
        await ensure_running(data_dir)
    assert control.exists()


async def test_a_bad_line_in_postgresql_conf(data_dir: Path) -> None:
    with (data_dir / "postgres" / "postgresql.conf").open("a") as file:
        file.write("shared_bufers = 1GB\n")
    with pytest.raises(Misconfigured, match=r"postgresql.conf is not one this PostgreSQL understands"):
        await ensure_running(data_dir)


@needs_root
async def test_a_database_that_was_given_to_root(data_dir: Path) -> None:
    os.chown(data_dir / "postgres", 0, 0)
    with pytest.raises(Misconfigured, match=r"belongs to root.*chown -R"):
        await ensure_running(data_dir)


async def test_files_that_postgresql_may_not_read(data_dir: Path) -> None:
    secret = data_dir / "postgres" / "global" / "pg_control"
    secret.chmod(0o000)
    if os.geteuid() == 0:
        os.chown(secret, 0, 0)
    with pytest.raises(Misconfigured, match=r"may not read or write its files|damaged or from another kind of machine"):
        await ensure_running(data_dir)


async def test_a_data_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Misconfigured, match="is a file"):
        await ensure_running(tmp_path / "file")
    with pytest.raises(Misconfigured, match=r"cannot be made \(Not a directory\)"):
        await ensure_running(tmp_path / "file" / "data")


async def test_missing_programs(new_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"has no runnable postgres, initdb.*MNEMON_POSTGRES_BIN_DIR"):
        await ensure_running(new_dir, bin_dir=tmp_path)
    assert not new_dir.exists()


def test_programs_that_are_too_old_or_something_else(tmp_path: Path) -> None:
    for name in ("initdb", "pg_dump", "pg_restore"):
        _script(tmp_path / name, "exit 0")
    _script(tmp_path / "postgres", "echo 'postgres (PostgreSQL) 14.9'")
    with pytest.raises(Misconfigured, match=r"is 14\.9.*PostgreSQL 15 or newer"):
        find_binaries(tmp_path)
    _script(tmp_path / "postgres", "exit 1")
    with pytest.raises(Misconfigured, match="not a program that runs here"):
        find_binaries(tmp_path)


def test_the_wheel_has_postgresql_18(tmp_path: Path) -> None:
    found = find_binaries(None)
    assert found.major == 18
    assert Path(found.program_path("pg_dump")).exists()
    assert Path(sys.prefix) in found.folder.parents


async def test_a_long_path_gets_a_short_private_socket_directory(tmp_path: Path, made: Path) -> None:
    data_dir = tmp_path / ("long" * 20) / ("path" * 20)
    data_dir.parent.mkdir()
    subprocess.run(["cp", "-a", str(made), str(data_dir)], check=True)
    cluster = await ensure_running(data_dir)
    account = choose_account(data_dir, data_dir / "postgres")
    socket_dir = choose_socket_dir(data_dir / "postgres", account)
    with psycopg.connect(cluster.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert len(str(socket_dir)) < 80
    assert socket_dir.stat().st_mode & 0o777 == 0o700
    await cluster.stop()
    socket_dir.rmdir()


async def test_a_socket_directory_taken_by_somebody_else(tmp_path: Path, made: Path) -> None:
    data_dir = tmp_path / ("long" * 20) / ("path" * 20)
    data_dir.parent.mkdir()
    subprocess.run(["cp", "-a", str(made), str(data_dir)], check=True)
    account = choose_account(data_dir, data_dir / "postgres")
    taken = choose_socket_dir(data_dir / "postgres", account)
    taken.rmdir()
    taken.symlink_to(tmp_path)
    try:
        with pytest.raises(Misconfigured, match="is taken by somebody else"):
            await ensure_running(data_dir)
    finally:
        taken.unlink()


def _script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
