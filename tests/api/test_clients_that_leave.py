"""A client that leaves in the middle of its body: no answer, no fault of ours, one line that says so."""

import socket
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from support.bounds import HANGS_S
from support.served import served

FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("path", "kind", "begun"),
    [
        ("/sign-in", FORM, b"key=a"),
        ("/api/import", "application/x-ndjson", b'{"kind":'),
        ("/api/memories", "application/json", b'{"userId":'),
        ("/mcp", "application/json", b'{"jsonrpc":'),
    ],
)
def test_a_client_that_leaves_within_its_body_is_no_fault(
    database_url: str, tmp_path: Path, path: str, kind: str, begun: bytes
) -> None:
    with served(database_url, tmp_path, worker=False, model="offline") as server:
        url = httpx2.URL(server.url)
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {url.host}:{url.port}\r\nAuthorization: Bearer {server.key()}\r\n"
            f"Accept: application/json, text/event-stream\r\nContent-Type: {kind}\r\nContent-Length: 1000\r\n\r\n"
        )
        with capture_logs() as lines:
            with socket.create_connection((url.host, url.port or 80), timeout=HANGS_S) as connection:
                connection.sendall(head.encode() + begun)
            line = request_line(lines)
    assert [one["event"] for one in lines if one["log_level"] in ("warning", "error")] == []
    assert (line["route"], line["status"], line["ended"]) == (path, None, "client_left")


def request_line(lines: list[Any]) -> Any:
    """Wait for the line of the one request."""
    until = time.monotonic() + HANGS_S
    while not (found := [line for line in lines if line["event"] == "request"]):
        assert time.monotonic() < until, lines
        time.sleep(0.01)
    return found[0]
