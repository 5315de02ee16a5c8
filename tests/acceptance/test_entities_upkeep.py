"""Upkeep through the doors: the spine after more than twenty messages, the curator's folds, importance that grows."""

from typing import Any

import httpx2
import pytest

from mnemon.llm.scripted.script import ScriptedRequest
from support.served import Served


def say(client: httpx2.Client, text: str, **more: Any) -> None:
    body = {"userId": "ann", "messages": [{"role": "user", "content": text}], **more}
    assert client.post("/api/turns", json=body).status_code == 202


@pytest.mark.scripted
def test_the_spine_comes_after_more_than_twenty_messages_and_keeps_to_what_is_global(
    server: Served, client: httpx2.Client
) -> None:
    client.post("/api/memories", json={"userId": "ann", "type": "PROFILE", "content": "Lives in Leeds"})
    private = {"userId": "ann", "type": "PROFILE", "content": "Fears dogs", "personaId": "coach"}
    client.post("/api/memories", json=private)
    server.script.set_default_answer("Spine", {"PROFILE": ["Lives in Leeds", "Fears dogs"]})
    for number in range(20):
        say(client, f"message {number}", **({"personaId": "coach"} if number % 2 else {}))
    server.settled(client)
    assert client.get("/api/users/ann/spine").json()["data"] is None
    say(client, "one more")
    server.settled(client)
    spine = client.get("/api/users/ann/spine").json()["data"]
    assert (spine["version"], spine["messageCount"]) == (1, 21)
    assert spine["content"] == {"PROFILE": ["Lives in Leeds"], "PROJECTS": [], "PEOPLE": [], "OPEN_LOOPS": []}


@pytest.mark.scripted
def test_the_curator_folds_after_enough_new_memories_and_tells_of_it(server: Served, client: httpx2.Client) -> None:
    facts = [("habit", "John plays chess"), ("preference", "John drinks tea"), ("fact", "John has a red bike")]
    john = {"type": "person", "label": "John"}

    def plan(asked: ScriptedRequest) -> dict[str, Any]:
        ids = [line.split()[1] for line in asked.prompt.splitlines() if "[person:john]" in line]
        return {
            "folds": [{"memories": ids, "content": "John plays chess, drinks tea and has a red bike"}],
            "archive": [],
        }

    server.script.set_default_answer("CuratorPlan", plan)
    batch = [
        {"userId": "ann", "type": "PEOPLE", "content": text, "entity": john, "factType": kind} for kind, text in facts
    ]
    batch += [{"userId": "ann", "type": "PROFILE", "content": f"Fact number {n}"} for n in range(22)]
    assert client.post("/api/memories/batch", json=batch).status_code == 200
    server.settled(client)
    listed = client.get("/api/memories", params={"userId": "ann", "entity": "person:john", "status": "ALL"}).json()[
        "data"
    ]
    (fold,) = [one for one in listed if one["source"] == "curated_fold"]
    assert fold["content"] == "John plays chess, drinks tea and has a red bike"
    assert {one["status"] for one in listed if one["id"] != fold["id"]} == {"ARCHIVED"}
    state = client.get("/api/session-state", params={"userId": "ann"}).json()["data"]["state"]
    assert state["curator"]["lastMemoryCountAtRun"] == 23
