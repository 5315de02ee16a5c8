"""Several processes use one server: the first starts it, the last stops it, the killed ones are noticed."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from mnemon.db.embedded.cluster import EmbeddedCluster, ensure_running
from mnemon.db.embedded.server import is_server_on, read_postmaster
from support.bounds import HANGS_S
from support.holder import Holder


def kept_words(cluster: EmbeddedCluster) -> list[str]:
    with psycopg.connect(cluster.url) as connection:
        return [row[0] for row in connection.execute("SELECT word FROM kept").fetchall()]


async def test_a_new_directory_becomes_a_database_with_pgvector_and_its_second_start_keeps_the_data(
    new_dir: Path,
) -> None:
    said: list[str] = []
    first = await ensure_running(new_dir, report=said.append)
    with psycopg.connect(first.url) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE kept AS SELECT '[1,2]'::halfvec::text AS word")
    await first.stop()
    assert any("new database" in message for message in said)

    said.clear()
    second = await ensure_running(new_dir, report=said.append)
    assert kept_words(second) == ["[1,2]"]
    assert said == []
    await second.stop()


async def test_a_stopped_cluster_starts_again_with_its_settings(data_dir: Path) -> None:
    cluster = await ensure_running(data_dir)
    with psycopg.connect(cluster.url) as connection:
        shown = {
            name: connection.execute(f"SHOW {name}").fetchone()
            for name in ("fsync", "full_page_writes", "listen_addresses", "max_wal_size", "jit", "data_checksums")
        }
    await cluster.stop()
    assert shown == {
        "fsync": ("on",),
        "full_page_writes": ("on",),
        "listen_addresses": ("",),
        "max_wal_size": ("256MB",),
        "jit": ("off",),
        "data_checksums": ("on",),
    }


async def test_the_first_to_leave_does_not_stop_the_server_and_the_last_does(data_dir: Path) -> None:
    one = await ensure_running(data_dir)
    two = await ensure_running(data_dir)
    assert one.pid == two.pid
    await one.stop()
    assert kept_words(two) == ["before"]
    await two.stop()
    assert not is_server_on(two.pid, data_dir / "postgres")


async def test_leaving_twice_does_nothing_more(data_dir: Path) -> None:
    one = await ensure_running(data_dir)
    two = await ensure_running(data_dir)
    await one.stop()
    await one.stop()
    assert kept_words(two) == ["before"]
    await two.stop()


async def test_processes_that_start_at_once_share_one_server(data_dir: Path, holder: Callable[..., Holder]) -> None:
    holders = [holder(data_dir) for _ in range(3)]
    assert len({one.server_pid() for one in holders}) == 1
    for one in holders:
        one.leave()
    assert read_postmaster(data_dir / "postgres") is None


async def test_a_server_whose_user_was_killed_is_used_again_and_stopped_by_the_next(
    data_dir: Path, holder: Callable[..., Holder]
) -> None:
    killed = holder(data_dir)
    pid = killed.server_pid()
    killed.kill()
    cluster = await ensure_running(data_dir)
    assert cluster.pid == pid
    assert kept_words(cluster) == ["before"]
    await cluster.stop()
    assert not is_server_on(pid, data_dir / "postgres")


def test_a_server_whose_users_were_all_killed_is_stopped_by_the_keeper(
    data_dir: Path, holder: Callable[..., Holder], eventually: Callable[..., bool]
) -> None:
    killed = holder(data_dir, grace_seconds=0.5)
    pid = killed.server_pid()
    killed.kill()
    assert eventually(lambda: not is_server_on(pid, data_dir / "postgres"))
    # Stopped, not killed: nothing is left to recover from.
    assert not (data_dir / "postgres" / "postmaster.pid").exists()


async def test_the_keeper_leaves_a_server_alone_when_somebody_came_back(
    data_dir: Path, holder: Callable[..., Holder], eventually: Callable[..., bool]
) -> None:
    killed = holder(data_dir, grace_seconds=10.0)  # many times what it takes to come back
    pid = killed.server_pid()
    killed.kill()
    cluster = await ensure_running(data_dir)
    assert not eventually(lambda: not is_server_on(pid, data_dir / "postgres"), seconds=13.0)
    await cluster.stop()


def test_it_starts_from_the_loop_that_the_server_uses_too(data_dir: Path) -> None:
    """uvloop leaves pipes open in its children; a detached server must not hold on to them."""
    uvloop = pytest.importorskip("uvloop")

    async def start_and_stop() -> tuple[int, list[str]]:
        async with asyncio.timeout(HANGS_S):
            cluster = await ensure_running(data_dir)
        words = kept_words(cluster)
        async with asyncio.timeout(HANGS_S):
            await cluster.stop()
        return cluster.pid, words

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        pid, words = runner.run(start_and_stop())
    assert words == ["before"]
    assert not is_server_on(pid, data_dir / "postgres")


async def test_only_root_and_the_owner_may_connect(data_dir: Path) -> None:
    cluster = await ensure_running(data_dir)
    allowed = (data_dir / "postgres" / "pg_hba.conf").read_text()
    await cluster.stop()
    assert allowed == "local all all peer map=mnemon\n"
    assert '"nobody"' not in (data_dir / "postgres" / "pg_ident.conf").read_text()
