"""From a turn to memories and todos and back into the next prompt, through the doors."""

from typing import Any

import httpx2
import pytest

from support.served import Served

Client = httpx2.Client


def turn(server: Served, client: Client, said: str, reply: str = "I see.", **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": said}, {"role": "assistant", "content": reply}]
    taken = client.post("/api/turns", json={"userId": "anna", "messages": messages, **more})
    assert taken.status_code == 202, taken.text
    server.settled(client)
    turned = client.get(f"/api/turns/{taken.json()['data']['turnId']}").json()["data"]
    return dict(turned)


def listed(client: Client, noun: str, **params: Any) -> list[dict[str, Any]]:
    return list(client.get(f"/api/{noun}", params={"userId": "anna", **params}).json()["data"])


def memory(content: str, quote: str, **more: Any) -> dict[str, Any]:
    return {"type": "PROFILE", "content": content, "quote": quote, "factType": "fact", **more}


@pytest.mark.scripted
def test_what_is_said_is_remembered_with_its_source_and_told_in_the_next_prompt(server: Served, client: Client) -> None:
    server.script.add_answers(
        "Reflection",
        {
            "memories": [
                memory("Lives in Austin", "I live in Austin", attribute="city"),
                memory("Owns a yacht", "I own a yacht"),
            ],
            "todos": [{"op": "add", "kind": "commitment", "content": "Call mom", "quote": "I'll call mom tomorrow"}],
        },
    )
    turned = turn(server, client, "I live in Austin. I'll call mom tomorrow.", personaId="coach")
    sections = turned["reflection"]["sections"]
    assert {name: sections["memory"][name] for name in ("stored", "updated", "skipped")} == {
        "stored": 1,
        "updated": 0,
        "skipped": 0,
    }
    assert any(one["what"] == "Owns a yacht" for one in turned["reflection"]["rejected"])
    kept = listed(client, "memories")
    assert [(one["content"], one["source"], one["personaId"]) for one in kept] == [
        ("Lives in Austin", "shadow_extraction", None)
    ]
    assert [one["quote"] for one in kept[0]["provenance"]] == ["I live in Austin"]
    assert [one["content"] for one in listed(client, "todos", personaId="coach")] == ["Call mom"]
    assert listed(client, "todos") == []
    for persona, has_todo in (("coach", True), ("boss", False)):
        body = {"userId": "anna", "personaId": persona, "query": "where do I live"}
        system = client.post("/api/context", json=body).json()["data"]["system"]
        assert "Lives in Austin" in system
        assert ("Call mom" in system) is has_todo
        assert "I'll call mom tomorrow" not in system  # said in the session that runs, so shown beside it


@pytest.mark.scripted
def test_recalled_memories_do_not_breed(server: Served, client: Client) -> None:
    server.script.add_answers(
        "Reflection", {"memories": [memory("Lives in Austin", "I live in Austin", attribute="city")]}
    )
    turn(server, client, "I live in Austin.")
    parrot = {
        "memories": [memory("Lives in Austin", "You live in Austin", attribute="city"), memory("Is Texan", "a Texan")]
    }
    for _ in range(10):
        server.script.add_answers("Reflection", parrot)
        turned = turn(server, client, "What do you know about me?", "You live in Austin, so you are a Texan.")
        assert len(turned["reflection"]["rejected"]) == 2
    kept = listed(client, "memories")
    assert [(one["content"], one["mentions"]) for one in kept] == [("Lives in Austin", 1)]


@pytest.mark.scripted
def test_just_between_us_reaches_no_other_persona(server: Served, client: Client) -> None:
    fact = memory("Looks for another job", "I am looking for another job", private=True)
    server.script.add_answers("Reflection", {"memories": [fact]})
    turn(server, client, "Just between us: I am looking for another job.", personaId="coach")

    def finds(persona: str | None) -> bool:
        body = {"userId": "anna", "query": "another job", "kinds": ["memories", "messages"]}
        found = client.post("/api/memories/search", json={**body, **({"personaId": persona} if persona else {})}).json()
        context = client.post("/api/context", json={**{k: body[k] for k in ("userId", "query")}, "personaId": persona})
        told = "another job" in context.json()["data"]["system"]
        assert bool(found["data"]["results"]) == told
        return told

    assert finds("coach")
    assert not finds("boss")
    assert not finds(None)


def test_offline_a_conversation_is_remembered_by_rule(offline_server: Served) -> None:
    client = offline_server.client()
    turned = turn(offline_server, client, "My name is Anna and I live in Austin. I'll call my mom tomorrow.")
    assert turned["reflection"]["sections"]["memory"]["stored"] >= 2
    contents = " ".join(one["content"] for one in listed(client, "memories"))
    assert "Anna" in contents
    assert "Austin" in contents
    assert len(listed(client, "todos", status="open")) == 1
