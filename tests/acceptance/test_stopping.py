"""A server that is asked to stop while a model is still replying: whoever waits is answered, and the turn is sealed."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from mnemon.api import server as http_server
from support.bounds import HANGS_S
from support.served import served


@pytest.mark.parametrize("stream", [False, True])
def test_whoever_waits_for_a_reply_is_told_that_the_server_stops(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    monkeypatch.setattr(http_server, "REPLY_GRACE_S", 0.1)
    heard: list[httpx2.Response] = []
    with served(database_url, tmp_path, worker=False) as server:
        server.script.add_fault("hang", times=None, seconds=10 * HANGS_S)
        # A client of its own: the server's are closed before it stops.
        client = httpx2.Client(base_url=server.url, headers=server.client("acme").headers, timeout=HANGS_S)
        body: dict[str, Any] = {"userId": "ann", "message": "Hello?", "stream": stream}
        asking = threading.Thread(target=lambda: heard.append(client.post("/api/chat", json=body, timeout=HANGS_S)))
        asking.start()
        with psycopg.connect(database_url, autocommit=True) as owner:
            until = time.monotonic() + HANGS_S
            while owner.execute("select count(*) from turns").fetchone() != (1,):
                assert time.monotonic() < until
                time.sleep(0.02)
    asking.join(HANGS_S)
    client.close()
    (answer,) = heard
    if stream:
        last = [line for line in answer.text.splitlines() if line.startswith("data:")][-1]
        told = json.loads(last.removeprefix("data:"))
    else:
        assert answer.status_code == 503
        told = answer.json()
    assert told["code"] == "interrupted"
    assert "server was stopped" in told["detail"]
    with psycopg.connect(database_url) as owner:
        assert owner.execute("select status from turns").fetchone() == ("interrupted",)
