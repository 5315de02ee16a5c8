"""A server that other machines can reach says that it speaks plain HTTP, and lets no foreign web page call `/mcp`."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from mnemon.cli.startup import warn_without_tls
from mnemon.services import Services
from mnemon.settings import Settings
from support.bounds import HANGS_S
from support.problem import assert_problem
from support.served import Served, served


@pytest.fixture
def on_loopback(database_url: str, tmp_path: Path) -> Iterator[Served]:
    with served(database_url, tmp_path, model="offline", worker=False) as server:
        yield server


def as_if_reachable(app: FastAPI, services: Services) -> None:
    """The MCP door takes the server for one on every address; the test's own listens on loopback."""
    open_to_all = services.settings.model_copy(update={"host": "0.0.0.0"})
    app.state.mcp._basement = replace(services, settings=open_to_all)


@pytest.fixture
def reachable(database_url: str, tmp_path: Path) -> Iterator[Served]:
    with served(database_url, tmp_path, model="offline", worker=False, dress=as_if_reachable) as server:
        yield server


@pytest.mark.parametrize("reached", ["reachable", "on_loopback"])
def test_what_mcp_refuses_before_it_reads_the_key_is_a_problem(reached: str, request: pytest.FixtureRequest) -> None:
    server: Served = request.getfixturevalue(reached)
    port = httpx2.URL(server.url).port

    def refused(**headers: str) -> httpx2.Response:
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
        return httpx2.post(f"{server.url}/mcp", content=b"{}", headers=sent, timeout=HANGS_S)

    for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example:80", "http://["):
        assert_problem(refused(Origin=origin), 403, "foreign_origin")
    assert_problem(refused(**{"Content-Type": "text/plain"}), 415, "wrong_media_type")
    if reached == "on_loopback":
        for host in ("evil.example", f"127.0.0.1.evil.example:{port}", f"127.0.0.1:{port}.evil.example"):
            assert_problem(refused(Host=host), 421, "foreign_host")
    assert refused(Origin=f"http://127.0.0.1:{port}").status_code == 401


def test_no_page_of_another_site_calls_the_tools(reachable: Served) -> None:
    key, host = reachable.key("acme"), reachable.url.removeprefix("http://")

    def status(**headers: str) -> int:
        ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        sent = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream", **headers}
        return httpx2.post(f"{reachable.url}/mcp", json=ask, headers=sent, timeout=HANGS_S).status_code

    assert status() == 200
    assert status(Origin=f"http://{host}") == 200
    assert status(Origin="https://evil.example") == 403
    assert status(Origin="null") == 403
    assert status(Origin=f"http://{host}.evil.example") == 403


@pytest.mark.parametrize(
    ("host", "warned"), [("127.0.0.1", False), ("::1", False), ("localhost", False), ("0.0.0.0", True), ("::", True)]
)  # fmt: skip
def test_whoever_listens_to_other_machines_is_warned(host: str, warned: bool, tmp_path: Path) -> None:
    with capture_logs() as lines:
        warn_without_tls(Settings(host=host, data_dir=tmp_path))
    assert [(line["event"], line["log_level"]) for line in lines] == [("listening_without_tls", "warning")] * warned
