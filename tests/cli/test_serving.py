"""Commands in another terminal find the server of their data directory, whatever port it has."""

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
from mnemon.cli.serving import FILE, Address, announce_server, running_server
from support.bounds import HANGS_S

HERE = Address(host="127.0.0.1", port=24117)


def test_the_address_is_there_while_the_server_runs(tmp_path: Path) -> None:
    assert running_server(tmp_path) is None
    with announce_server(tmp_path / "data", HERE):
        assert running_server(tmp_path / "data") == HERE
    assert running_server(tmp_path / "data") is None
    assert not (tmp_path / "data" / FILE).exists()


def test_what_a_killed_server_left_behind_counts_for_nothing(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as gone:
        gone.wait()
    (tmp_path / FILE).write_text(json.dumps({"host": "127.0.0.1", "port": 24117, "pid": gone.pid}))
    assert running_server(tmp_path) is None
    for broken in ("", "[]", '{"host": "x"}', '{"host": "x", "port": "y", "pid": 1}'):
        (tmp_path / FILE).write_text(broken)
        assert running_server(tmp_path) is None


def test_a_later_server_of_the_directory_keeps_its_own(tmp_path: Path) -> None:
    later = json.dumps({"host": "127.0.0.1", "port": 24118, "pid": os.getpid()})
    with announce_server(tmp_path, HERE):
        (tmp_path / FILE).write_text(later)
    assert (tmp_path / FILE).read_text() == later


@pytest.mark.parametrize(
    ("host", "url"),
    [("0.0.0.0", "http://127.0.0.1:24117"), ("::", "http://[::1]:24117"), ("10.0.0.7", "http://10.0.0.7:24117")],
)
def test_an_address_can_be_followed(host: str, url: str) -> None:
    assert Address(host=host, port=24117).url == url


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
