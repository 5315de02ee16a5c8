"""A reply that is kept for a retry tells nothing of what was forgotten since."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import psycopg
import pytest

from support.bounds import HANGS_S
from support.served import Served

FACT = "Keeps a heron called Quillon"
KEY = {"Idempotency-Key": "first"}


def seed(client: httpx2.Client) -> httpx2.Response:
    profile = {"profile": [{"type": "PROFILE", "content": FACT}]}
    return client.put("/api/users/ann/seed", json=profile, headers=KEY)


def pop(client: httpx2.Client) -> httpx2.Response:
    changes = [{"op": "put", "namespace": ["a"], "key": "k", "value": FACT}, {"op": "pop", "namespace": ["a"]}]
    return client.post("/api/notes/write", json={"userId": "ann", "changes": changes}, headers=KEY)


@pytest.mark.parametrize("ask", [seed, pop])
def test_a_reply_that_names_no_id_of_the_person_is_emptied_with_them(client: httpx2.Client, ask) -> None:  # type: ignore[no-untyped-def]
    assert FACT in ask(client).text
    assert FACT in ask(client).text, "the retry gets the first reply"
    assert client.delete("/api/users/ann").status_code == 200
    again = ask(client)
    assert again.status_code == 200
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Quillon" not in again.text


def test_the_receipt_of_a_forgetting_is_kept_for_its_retry(client: httpx2.Client) -> None:
    assert seed(client).status_code == 200
    first = client.delete("/api/users/ann", headers={"Idempotency-Key": "gone"})
    again = client.delete("/api/users/ann", headers={"Idempotency-Key": "gone"})
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json()["data"] == again.json()["data"]


@pytest.mark.scripted
@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
def test_a_chat_reply_of_a_forgotten_person_says_so(server: Served, client: httpx2.Client, path: str) -> None:
    asked = {
        "/api/chat": {"userId": "ann", "message": "Who is Quillon?", "stream": False},
        "/v1/chat/completions": {
            "model": "m",
            "user": "ann",
            "messages": [{"role": "user", "content": "Who is Quillon?"}],
        },
    }[path]
    server.script.add_replies("Your heron Quillon.")
    assert "Quillon" in client.post(path, json=asked, headers=KEY).text
    server.settled(client)
    assert client.delete("/api/users/ann").status_code == 200
    again = client.post(path, json=asked, headers=KEY)
    assert (again.status_code, again.json()["code"]) == (409, "reply_forgotten"), again.text


ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "whole": ("/api/chat", {"userId": "ann", "message": "Who is Quillon?", "stream": False}),
    "streamed": ("/api/chat", {"userId": "ann", "message": "Who is Quillon?"}),
    "openai": (
        "/v1/chat/completions",
        {"model": "m", "user": "ann", "messages": [{"role": "user", "content": "Who is Quillon?"}]},
    ),
    "openai streamed": (
        "/v1/chat/completions",
        {"model": "m", "user": "ann", "messages": [{"role": "user", "content": "Who is Quillon?"}], "stream": True},
    ),
}


def until_stored(server: Served) -> None:
    """Waits until the message is stored and the model has been asked for its reply."""
    end = time.monotonic() + HANGS_S
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        while not (server.script.requests_on("chat") and connection.execute("select 1 from turns").fetchone()):
            assert time.monotonic() < end, "the message was never stored"
            time.sleep(0.01)


@pytest.mark.scripted
@pytest.mark.parametrize("how", ASKED)
def test_a_person_forgotten_while_the_reply_is_written_has_no_reply_kept(
    server: Served, client: httpx2.Client, how: str
) -> None:
    path, body = ASKED[how]
    server.script.add_replies("Your heron Quillon.")
    server.script.add_fault("slow", on="chat", seconds=10 * HANGS_S)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(lambda: client.post(path, json=body, headers=KEY))
        try:
            until_stored(server)
            assert client.delete("/api/users/ann").status_code == 200
            early = client.post(path, json=body, headers=KEY)
        finally:
            server.script.clear_faults()
        first = asked.result(HANGS_S)
    assert (early.status_code, early.json()["code"]) == (409, "reply_forgotten"), early.text
    if "streamed" in how:
        assert first.status_code == 200
        assert '"code": "reply_forgotten"' in first.text
        assert "event: done" not in first.text
        assert '"finish_reason": "stop"' not in first.text
    else:
        assert (first.status_code, first.json()["code"]) == (409, "reply_forgotten"), first.text
    again = client.post(path, json=body, headers=KEY)
    assert (again.status_code, again.json()["code"]) == (409, "reply_forgotten"), again.text
    assert len(server.script.requests_on("chat")) == 1, "no retry asks the model again"
    with psycopg.connect(server.database_url) as connection:
        kept = connection.execute("select convert_from(body, 'UTF8') from replies where body is not null").fetchall()
        left = connection.execute("select count(*) from users").fetchone()
    assert "Quillon" not in str(kept)
    assert left == (0,), "the reply brings nobody back"
