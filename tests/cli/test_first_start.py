"""A start that fails changes nothing, the first key is printed by the one that succeeds, and its commands lead back."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psycopg
import pytest
from typer.testing import CliRunner

from mnemon.api.server import listen_refusal
from mnemon.cli.main import app
from mnemon.db.migrate import _LOCK_ID, shipped_migrations
from support.bounds import HANGS_S
from support.databases import new_database
from support.processes import end_servers

MNEMON = str(Path(sys.executable).with_name("mnemon"))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A data directory that does not exist yet."""
    yield tmp_path / "data"
    end_servers(tmp_path / "data")


@contextmanager
def starting(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """`mnemon serve` as a process of its own; what it leaves on stdout and stderr can be read."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MNEMON_")}
    pipe = subprocess.PIPE
    process = subprocess.Popen([MNEMON, "serve", *arguments], env=environment, stdout=pipe, stderr=pipe, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def greeting(process: "subprocess.Popen[str]", last: str) -> list[str]:
    """The lines of the greeting, up to the one that begins so."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if line.startswith(last):
            return lines
    raise AssertionError(lines)


def key_in(lines: list[str]) -> str:
    return next(line.strip() for line in lines if line.startswith("  mnk_"))


def memories(lines: list[str]) -> list[str]:
    url = lines[0].split(" answers at ")[1].split(" ")[0]
    headers = {"Authorization": f"Bearer {key_in(lines)}"}
    found = httpx2.get(f"{url}/api/memories?userId=me", headers=headers, timeout=HANGS_S).json()
    return [one["content"] for one in found["data"]]


def test_a_taken_port_is_noticed_before_anything_is_made(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = CliRunner().invoke(app, ["serve", "--port", port, "--data-dir", str(folder)])
    assert done.exit_code == 1
    assert "Another server may run there" in done.stderr
    assert not folder.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"MNEMON_MODEL": "gpt-9"},
        {"MNEMON_REFLECTION_MODEL": "nobody:knows"},
        {"MNEMON_MODEL": "openai:gpt-4o-mini", "OPENAI_API_KEY": ""},
        {"MNEMON_EMBEDDER": "cloud"},
    ],
)
def test_wrong_models_are_refused_before_a_database_is_migrated(cluster_url: str, wrong: dict[str, str]) -> None:
    with new_database(cluster_url) as url:
        done = CliRunner().invoke(app, ["serve", "--port", "0", "--database-url", url], env=wrong)
        assert done.exit_code == 1, done.stderr
        with psycopg.connect(url) as connection:
            assert connection.execute("select to_regclass('schema_migrations')").fetchone() == (None,)


def test_an_address_that_is_not_of_this_machine_is_no_taken_port(folder: Path) -> None:
    done = CliRunner().invoke(app, ["serve", "--host", "192.0.2.1", "--port", "0", "--data-dir", str(folder)])
    said = " ".join(done.stderr.split())
    assert done.exit_code == 1
    assert "This machine does not have the address 192.0.2.1" in said
    assert "Another server" not in said
    refused = listen_refusal("127.0.0.1", 80, PermissionError(13, "Permission denied"))
    assert "Take one above 1023" in refused
    assert "Another server" not in refused


def test_a_port_that_is_lost_during_the_start_costs_no_key(cluster_url: str) -> None:
    with new_database(cluster_url) as url, socket.socket() as rival:
        rival.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        rival.bind(("127.0.0.1", 0))  # does not listen, so the server can bind the same port
        with psycopg.connect(url, autocommit=True) as holder:
            holder.execute("select pg_advisory_lock(%s)", (_LOCK_ID,))
            with starting("--port", str(rival.getsockname()[1]), "--database-url", url) as process:
                _wait_until(lambda: _waits_for_the_lock(holder))
                rival.listen()
                holder.execute("select pg_advisory_unlock(%s)", (_LOCK_ID,))
                _, said = process.communicate(timeout=HANGS_S)
            assert "Another server may run there" in said
            assert "Traceback" not in said
            assert holder.execute("select count(*) from schema_migrations").fetchone() == (len(shipped_migrations()),)
            assert holder.execute("select count(*) from keys").fetchone() == (0,)
        with starting("--port", "0", "--database-url", url) as process:
            assert key_in(greeting(process, "See it filled"))


def _waits_for_the_lock(connection: "psycopg.Connection[tuple[object, ...]]") -> bool:
    return connection.execute("select count(*) from pg_locks where not granted").fetchone() != (0,)


def _wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + HANGS_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_greeting_leads_back_to_the_data_directory_that_a_flag_names(folder: Path) -> None:
    with starting("--port", "0", "--data-dir", str(folder)) as process:
        lines = greeting(process, "See it filled")
        command = next(line for line in lines if line.startswith("Try it: ")).removeprefix("Try it: ").split(" · ")[0]
        environment = {**os.environ, "PATH": f"{Path(MNEMON).parent}:{os.environ['PATH']}"}
        subprocess.run(command, shell=True, check=True, timeout=HANGS_S, env=environment, capture_output=True)
        assert [one for one in memories(lines) if "Austin" in one]
        with starting("--port", "0", "--data-dir", str(folder)) as second:
            again = greeting(second, "A new key: ")[-1]
    assert again == f"A new key: MNEMON_DATA_DIR={folder} mnemon keys create --name laptop"


def test_the_greeting_leads_back_to_the_database_that_a_flag_names(database_url: str) -> None:
    with starting("--port", "0", "--database-url", database_url) as process:
        lines = greeting(process, "See it filled")
        command = next(line for line in lines if line.startswith("Try it: ")).removeprefix("Try it: ")
        assert command.startswith("curl ")
        subprocess.run(command, shell=True, check=True, timeout=HANGS_S, capture_output=True)
        assert memories(lines) == ["I live in Austin"]
    assert database_url not in "".join(lines)
