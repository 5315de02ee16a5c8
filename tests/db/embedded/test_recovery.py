"""What was committed is there after a kill, and what a dead server left behind deceives nobody."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from mnemon.db.embedded.cluster import EmbeddedCluster, ensure_running
from mnemon.db.embedded.data_dir import ClusterPaths
from mnemon.db.embedded.programs import choose_account, find_binaries, start_detached
from mnemon.db.embedded.server import ensure_started, is_server_on, parse_postmaster, read_postmaster, stop_server
from mnemon.errors import DatabaseDown
from support.bounds import HANGS_S
from support.processes import servers_on


def write_word(cluster: EmbeddedCluster, word: str) -> None:
    with psycopg.connect(cluster.url) as connection:
        connection.execute("INSERT INTO kept VALUES (%s)", (word,))


def kept_words(cluster: EmbeddedCluster) -> list[str]:
    with psycopg.connect(cluster.url) as connection:
        return [row[0] for row in connection.execute("SELECT word FROM kept ORDER BY word").fetchall()]


async def test_after_every_process_of_the_server_was_killed_committed_rows_are_there(data_dir: Path) -> None:
    first = await ensure_running(data_dir)
    write_word(first, "committed")
    for pid in servers_on(data_dir / "postgres"):
        os.kill(pid, signal.SIGKILL)
    said: list[str] = []
    second = await ensure_running(data_dir, report=said.append)
    assert kept_words(second) == ["before", "committed"]
    assert any("recovers" in message for message in said)
    await first.stop()
    await second.stop()


async def test_after_only_the_postmaster_was_killed_its_orphans_are_waited_for(data_dir: Path) -> None:
    first = await ensure_running(data_dir)
    write_word(first, "committed")
    os.kill(first.pid, signal.SIGKILL)
    second = await ensure_running(data_dir)
    assert second.pid != first.pid
    assert kept_words(second) == ["before", "committed"]
    await first.stop()
    await second.stop()


async def test_a_recycled_pid_is_not_taken_for_the_server(data_dir: Path) -> None:
    pgdata = data_dir / "postgres"
    first = await ensure_running(data_dir)
    # A process of the server's own user, since PostgreSQL itself only looks at those.
    other = await start_detached(
        ["/bin/sleep", "60"], account=choose_account(data_dir, pgdata), log=data_dir / "sleep.log"
    )
    for pid in servers_on(pgdata):
        os.kill(pid, signal.SIGKILL)
    try:
        sockets = Path(str(conninfo_to_dict(first.url)["host"]))
        for left in (pgdata / "postmaster.pid", sockets / ".s.PGSQL.5432.lock"):
            left.write_text(left.read_text().replace(str(first.pid), str(other), 1))
        assert read_postmaster(pgdata) is None
        second = await ensure_running(data_dir)
        assert second.pid not in (first.pid, other)
        assert kept_words(second) == ["before"]
        await first.stop()
        await second.stop()
    finally:
        os.kill(other, signal.SIGKILL)


async def test_a_server_of_another_directory_is_not_taken_for_ours(data_dir: Path, tmp_path: Path) -> None:
    cluster = await ensure_running(data_dir)
    assert is_server_on(cluster.pid, data_dir / "postgres")
    assert not is_server_on(cluster.pid, tmp_path)
    assert not is_server_on(os.getpid(), data_dir / "postgres")
    await cluster.stop()


async def test_who_watches_brings_a_dead_server_back_at_the_same_url(data_dir: Path) -> None:
    cluster = await ensure_running(data_dir)
    url, pid = cluster.url, cluster.pid
    watching = asyncio.create_task(cluster.watch_server())
    os.kill(pid, signal.SIGQUIT)
    async with asyncio.timeout(HANGS_S):
        while cluster.pid == pid:
            await asyncio.sleep(0.05)
    assert cluster.url == url
    assert kept_words(cluster) == ["before"]
    await cluster.stop()
    await watching


async def test_a_start_without_progress_is_given_up_with_a_next_step(data_dir: Path) -> None:
    cluster = await ensure_running(data_dir)
    pid_file = data_dir / "postgres" / "postmaster.pid"
    honest = pid_file.read_text()
    pid_file.write_text(honest.replace("ready   ", "starting"))
    layout = ClusterPaths(data_dir=data_dir)
    account = choose_account(data_dir, layout.pgdata)
    with pytest.raises(DatabaseDown, match=r"no progress for \d+ s.*start again"):
        await ensure_started(layout, find_binaries(None), account, lambda _: None, stall_seconds=0.3)
    pid_file.write_text(honest)
    await cluster.stop()


async def test_a_server_on_its_way_out_is_followed_by_a_new_one(
    data_dir: Path, eventually: Callable[..., bool]
) -> None:
    cluster = await ensure_running(data_dir)
    with psycopg.connect(cluster.url) as connection:
        connection.execute("SELECT 1")
        os.kill(cluster.pid, signal.SIGTERM)  # waits for this connection to end
        assert eventually(lambda: "stopping" in (data_dir / "postgres" / "postmaster.pid").read_text())
        coming = asyncio.create_task(ensure_running(data_dir))
        await asyncio.sleep(0.1)
    second = await coming
    assert second.pid != cluster.pid
    await cluster.stop()
    await second.stop()


async def test_a_server_that_is_still_writing_its_pid_file_is_waited_for(data_dir: Path) -> None:
    cluster = await ensure_running(data_dir)
    pid_file = data_dir / "postgres" / "postmaster.pid"
    whole = pid_file.read_text()
    pid_file.write_text("".join(whole.splitlines(keepends=True)[:5]))
    coming = asyncio.create_task(ensure_running(data_dir))
    await asyncio.sleep(0.5)
    assert not coming.done()
    pid_file.write_text(whole)
    second = await coming
    assert second.pid == cluster.pid
    await cluster.stop()
    await second.stop()


async def test_no_secret_of_ours_is_in_the_servers_environment(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMON_MODEL_API_KEY", "sk-very-secret")
    monkeypatch.setenv("PGOPTIONS", "-c fsync=off")
    cluster = await ensure_running(data_dir)
    environment = Path(f"/proc/{cluster.pid}/environ")
    seen = environment.read_text() if environment.exists() else ""
    await cluster.stop()
    assert "sk-very-secret" not in seen
    assert "PGOPTIONS" not in seen


def test_an_unfinished_pid_file_describes_no_server() -> None:
    assert parse_postmaster("") is None
    assert parse_postmaster("123\n/data\n") is None
    assert parse_postmaster("x\n/data\n1\n5432\n/s\n\n1 2\nready\n") is None
    found = parse_postmaster("123\n/data\n1\n5432\n/s\n\n1 2\nready   \n")
    assert found is not None
    assert (found.pid, found.port, found.socket_dir, found.is_ready) == (123, 5432, "/s", True)


async def test_a_server_with_a_suspended_process_is_stopped_cleanly(data_dir: Path) -> None:
    cluster = await ensure_running(data_dir)
    said: list[str] = []
    child = min(pid for pid in servers_on(data_dir / "postgres") if pid != cluster.pid)
    os.kill(child, signal.SIGSTOP)
    await stop_server(data_dir / "postgres", said.append)
    assert said == [f"the database's process {child} is suspended by a signal and goes on now, so that it can stop"]
    # Without the file nothing is left to recover from.
    assert not (data_dir / "postgres" / "postmaster.pid").exists()
    await cluster.stop()
