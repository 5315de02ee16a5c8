"""A model that does not stop: its reply is cut, sealed with the reason, and nothing of the rest is kept."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.served import Served, served
from support.sse import events_in

MOST = 5_000


@pytest.fixture
def brief(database_url: str, tmp_path: Path) -> Iterator[Served]:
    with served(database_url, tmp_path, max_reply_chars=MOST) as running:
        yield running


@pytest.fixture
def caller(brief: Served) -> httpx2.Client:
    return brief.client("acme")


def test_a_reply_beyond_the_limit_is_cut_and_sealed_with_the_reason(brief: Served, caller: httpx2.Client) -> None:
    brief.script.add_replies("word " * 100_000)
    asked = {"userId": "ann", "message": "Talk.", "stream": False}
    reply = caller.post("/api/chat", json=asked).json()["data"]
    assert len(reply["reply"]) == MOST
    turn = caller.get(f"/api/turns/{reply['turnId']}").json()["data"]
    assert turn["status"] == "answered"
    assert turn["error"]["code"] == "reply_too_long"
    assert f"{MOST:,}" in turn["error"]["detail"]
    assert len(turn["messages"][-1]["content"]) == MOST


def test_a_cut_reply_says_so_in_its_json_in_its_last_event_and_when_it_is_replayed(
    brief: Served, caller: httpx2.Client
) -> None:
    for stream in (False, True):
        brief.script.add_replies("word " * 100_000)
        asked = {"userId": "ann", "message": "Talk.", "stream": stream}
        for _ in range(2):
            answer = caller.post("/api/chat", json=asked, headers={"Idempotency-Key": f"cut-{stream}"})
            if not stream:
                assert answer.json()["data"]["finishReason"] == "length"
                continue
            told = events_in(answer.text)
            assert told[-1][0] == "done"
            assert told[-1][1]["finishReason"] == "length"
            assert all(data["text"] for name, data in told if name == "delta")


def test_the_openai_wire_says_length(brief: Served, caller: httpx2.Client) -> None:
    brief.script.add_replies("word " * 100_000)
    asked = {"model": "m", "user": "ann", "messages": [{"role": "user", "content": "Talk."}]}
    [choice] = caller.post("/v1/chat/completions", json=asked).json()["choices"]
    assert (choice["finish_reason"], len(choice["message"]["content"])) == ("length", MOST)


def test_the_openai_wire_says_length_to_a_retry_too(brief: Served, caller: httpx2.Client) -> None:
    brief.script.add_replies("word " * 100_000)
    asked = {"model": "m", "user": "ann", "messages": [{"role": "user", "content": "Talk."}]}
    for _ in range(2):
        answer = caller.post("/v1/chat/completions", json=asked, headers={"Idempotency-Key": "once"})
        assert answer.json()["choices"][0]["finish_reason"] == "length"


def test_a_reply_of_just_the_limit_is_whole(brief: Served, caller: httpx2.Client) -> None:
    brief.script.add_replies("x" * MOST)
    reply = caller.post("/api/chat", json={"userId": "ann", "message": "Talk.", "stream": False}).json()["data"]
    assert (reply["reply"], reply["finishReason"]) == ("x" * MOST, "stop")
    assert caller.get(f"/api/turns/{reply['turnId']}").json()["data"]["error"] is None
