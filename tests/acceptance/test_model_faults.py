"""Whatever happens to the model's endpoint: a clear answer in time, the turn kept, and work done once it is back."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from mnemon.llm.scripted.script import FaultKind
from support.bounds import HANGS_S
from support.served import Served, served
from support.sse import HeardEvent, heard_events

MEMORY = {
    "type": "PROFILE",
    "content": "Lives in Austin",
    "quote": "I live in Austin",
    "factType": "fact",
    "attribute": "lives in",
}


@pytest.fixture
def hasty(database_url: str, tmp_path: Path) -> Iterator[Served]:
    """A server that waits two seconds for its model, no longer."""
    with served(database_url, tmp_path, model_timeout_s=2.0) as running:
        yield running


def chat(client: httpx2.Client, text: str) -> list[HeardEvent]:
    with client.stream("POST", "/api/chat", json={"userId": "ana", "message": text}) as answer:
        return list(heard_events(answer))


@pytest.mark.parametrize("kind", ["dead", "slow", "hang", "rate_limited", "error", "garbage", "cut"])
def test_chat_answers_in_time_and_reflection_succeeds_when_the_model_is_back(hasty: Served, kind: FaultKind) -> None:
    client = hasty.client("acme")
    hasty.script.set_default_answer("Reflection", {"memories": [MEMORY]})
    hasty.script.add_fault(kind, times=None, seconds=10 * HANGS_S)
    heard = chat(client, "I live in Austin.")
    assert heard[0][0] == "turn"
    assert heard[-1][0] == "error"
    assert heard[-1][1]["code"].startswith("model_")
    turn = f"/api/turns/{heard[0][1]['turnId']}"
    assert client.get(turn).json()["data"]["messages"][0]["content"] == "I live in Austin."
    _until(client, turn, "failed", "parked")
    hasty.script.clear_faults()
    for _ in range(12):
        hasty.advance(minutes=10)
        hasty.settled(client)
        status = client.get(turn).json()["data"]["reflection"]["status"]
        if status == "parked":
            client.post(f"{turn}/reflect")
        elif status == "done":
            break
    assert client.get(turn).json()["data"]["reflection"]["sections"]["memory"]["stored"] == 1


def _until(client: httpx2.Client, turn: str, *wanted: str) -> None:
    for _ in range(round(HANGS_S / 0.05)):
        if client.get(turn).json()["data"]["reflection"]["status"] in wanted:
            return
        time.sleep(0.05)
    pytest.fail(f"the reflection never became {wanted}")
