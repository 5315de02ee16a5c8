"""Commands in another terminal find the server of their data directory, whatever port it has."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mnemon.cli.main import app
from mnemon.cli.server_address import ADDRESS_FILE, ServerAddress, announce_server, running_server
from mnemon.cli.services import open_services
from mnemon.cli.startup import ensure_first_key, make_console_link, print_welcome
from mnemon.settings import load_settings
from support.bounds import HANGS_S

HERE = ServerAddress(host="127.0.0.1", port=24117)


def test_the_address_is_there_while_the_server_runs(tmp_path: Path) -> None:
    assert running_server(tmp_path) is None
    with announce_server(tmp_path / "data", HERE):
        assert running_server(tmp_path / "data") == HERE
    assert running_server(tmp_path / "data") is None
    assert not (tmp_path / "data" / ADDRESS_FILE).exists()


def test_what_a_killed_server_left_behind_counts_for_nothing(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as gone:
        gone.wait()
    (tmp_path / ADDRESS_FILE).write_text(json.dumps({"host": "127.0.0.1", "port": 24117, "pid": gone.pid}))
    assert running_server(tmp_path) is None
    for broken in ("", "[]", '{"host": "x"}', '{"host": "x", "port": "y", "pid": 1}'):
        (tmp_path / ADDRESS_FILE).write_text(broken)
        assert running_server(tmp_path) is None


def test_a_later_server_of_the_directory_keeps_its_own(tmp_path: Path) -> None:
    later = json.dumps({"host": "127.0.0.1", "port": 24118, "pid": os.getpid()})
    with announce_server(tmp_path, HERE):
        (tmp_path / ADDRESS_FILE).write_text(later)
    assert (tmp_path / ADDRESS_FILE).read_text() == later


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "http://127.0.0.1:24117"), ("::", "http://[::1]:24117"), ("10.0.0.7", "http://10.0.0.7:24117")],
)
def test_an_address_can_be_followed(host: str, url: str) -> None:
    assert ServerAddress(host=host, port=24117).url == url


def test_console_and_doctor_look_where_the_server_is(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MNEMON_DATABASE_URL", database_url)
    monkeypatch.setenv("MNEMON_DATA_DIR", str(tmp_path / "data"))
    command = [sys.executable, "-c", "from mnemon.cli.main import main; main()", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        answers = next(line for line in server.stdout if "answers at" in line)
        found = re.search(r"http://127\.0\.0\.1:(\d+)", answers)
        assert found
        next(line for line in server.stdout if "mnemon demo" in line or "A new key" in line)
        _await_address(tmp_path / "data")
        told = json.loads(CliRunner().invoke(app, ["console", "--json"]).stdout)["url"]
        checks = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)["checks"]
        server.send_signal(signal.SIGTERM)
        server.wait()
    assert told.startswith(f"{found[0]}/sign-in/")
    [port] = [one for one in checks if one["name"] == "port"]
    assert (port["state"], f":{found[1]}." in port["detail"]) == ("ok", True), port
    assert running_server(tmp_path / "data") is None


def _await_address(data_dir: Path) -> None:
    end = time.monotonic() + HANGS_S
    while running_server(data_dir) is None:
        assert time.monotonic() < end, "the server wrote no address"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "http://127.0.0.1:24117"), ("::", "http://[::1]:24117"), ("::1", "http://[::1]:24117")],
)
def test_the_greeting_names_an_address_that_is_reached_from_this_machine(
    host: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    print_welcome(load_settings(host=host), 24117, key="mnk_x", link=f"{url}/sign-in/x", prefix="", over_http=True)
    said = capsys.readouterr().out
    assert f"answers at {url} " in said
    assert f"curl {url}/api/memories" in said
    assert ("every other address" in said) == (host != "::1")


def test_the_link_of_a_server_on_every_interface_can_be_opened_on_this_machine(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load_settings(host="0.0.0.0", database_url=database_url, data_dir=tmp_path / "data")

    async def link() -> str:
        async with open_services(settings, migrated=True) as house:
            await ensure_first_key(house)
            return await make_console_link(house, 24117)

    assert asyncio.run(link()).startswith("http://127.0.0.1:24117/sign-in/")
