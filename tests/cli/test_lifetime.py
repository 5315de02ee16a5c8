"""What a server and a worker leave on stderr from their start to their stop, and that the stop comes last."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.processes import end_servers, servers_on

MNEMON = str(Path(sys.executable).with_name("mnemon"))
_WAIT_S = 120.0


class Service:
    """One `mnemon serve` or `mnemon worker` on its own data directory, with its log in a file."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._log = folder / f"{arguments[0]}.jsonl"
        self._pgdata = folder / "data" / "postgres"
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("MNEMON_")},
            "MNEMON_DATA_DIR": str(folder / "data"),
        }
        with self._log.open("wb") as log, (folder / f"{arguments[0]}.out").open("wb") as out:
            self._process = subprocess.Popen([MNEMON, *arguments], env=environment, stdout=out, stderr=log, cwd=folder)

    def lines(self) -> list[dict[str, Any]]:
        """Every complete line of the log."""
        return [json.loads(line) for line in self._log.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def wait_for(self, event: str) -> None:
        end = time.monotonic() + _WAIT_S
        while event not in [line["event"] for line in self.lines()]:
            assert time.monotonic() < end, self._log.read_text()
            assert self._process.poll() is None or event == "stopped", self._log.read_text()
            time.sleep(0.002)

    def stop(self) -> tuple[int, ...]:
        """Ask it to stop; give the processes of its database that run when `stopped` stands in the log."""
        self._process.send_signal(signal.SIGTERM)
        self.wait_for("stopped")
        running = servers_on(self._pgdata)
        assert self._process.wait(60) == 0
        return running

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def services(tmp_path: Path) -> Iterator[list[Service]]:
    started: list[Service] = []
    yield started
    for one in started:
        one.kill()
    end_servers(tmp_path / "data")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def test_stderr_is_json_from_the_first_start_on_and_stopped_is_logged_when_all_is_closed(
    tmp_path: Path, services: list[Service]
) -> None:
    port = free_port()
    (tmp_path / "mnemon.toml").write_text(f"modle = 'offline'\nworker_metrics_port = {port}\n")
    server = Service(tmp_path, "serve", "--port", "0")
    services.append(server)
    server.wait_for("started")
    assert "making a new database" in next(x["said"] for x in server.lines() if x["event"] == "embedded_database")
    assert server.stop() == ()
    assert "mnk_" in (tmp_path / "serve.out").read_text()
    worker = Service(tmp_path, "worker")
    services.append(worker)
    worker.wait_for("started")
    assert worker.stop() == ()
    began = [next(line for line in one.lines() if line["event"] == "started") for one in services]
    assert [line["metrics_port"] for line in began] == [None, port]
    for service in services:
        assert service.lines()[-1]["event"] == "stopped"
        (unknown,) = [line for line in service.lines() if line["event"] == "setting_unknown"]
        assert (unknown["name"], unknown["place"]) == ("modle", "mnemon.toml")
        assert unknown["next_step"].startswith("write model in mnemon.toml")


def test_a_taken_metrics_port_of_a_worker_is_a_sentence(tmp_path: Path, services: list[Service]) -> None:
    assert subprocess.run([MNEMON, "migrate", "--data-dir", str(tmp_path / "data")], check=False).returncode == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        environment = {**os.environ, "MNEMON_WORKER_METRICS_PORT": str(taken.getsockname()[1])}
        done = subprocess.run(
            [MNEMON, "worker", "--data-dir", str(tmp_path / "data")],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "MNEMON_WORKER_METRICS_PORT" in done.stderr
    assert "Traceback" not in done.stderr
