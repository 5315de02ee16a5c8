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


def told_and_replaced(server: Served, client: Client) -> tuple[str, list[dict[str, Any]]]:
    """Austin said twice and then Denver, each reflected; give the memory's id and the turns."""
    turns = []
    for before, city in (("", "Austin"), ("Yes, ", "Austin"), ("Now ", "Denver")):
        fact = memory(f"Lives in {city}", f"I live in {city}", attribute="city")
        server.script.add_answers("Reflection", {"memories": [fact]})
        turns.append(turn(server, client, f"{before}I live in {city}."))
        server.advance(days=1)
    [kept] = listed(client, "memories")
    return kept["id"], turns


def history(client: Client, memory_id: str) -> list[dict[str, Any]]:
    return list(client.get(f"/api/memories/{memory_id}/history").json()["data"])


@pytest.mark.scripted
def test_each_version_has_its_own_mentions_and_quotes(server: Served, client: Client) -> None:
    memory_id, turns = told_and_replaced(server, client)
    austin, denver = history(client, memory_id)
    assert (austin["content"], austin["mentions"]) == ("Lives in Austin", 2)
    assert [one["turnId"] for one in austin["provenance"]] == [turns[1]["id"], turns[0]["id"]]
    assert [(one["start"], one["end"]) for one in austin["provenance"]] == [(5, 21), (0, 16)]
    assert (denver["content"], denver["mentions"], denver["current"]) == ("Lives in Denver", 1, True)
    assert [one["quote"] for one in denver["provenance"]] == ["I live in Denver"]
    shown = client.get(f"/api/memories/{memory_id}").json()["data"]
    assert (shown["mentions"], shown["provenance"]) == (1, denver["provenance"])
    asked = {"userId": "anna", "query": "Where did Anna live?", "asOf": "2026-04-14T00:00:00Z"}
    [then] = client.post("/api/memories/search", json=asked).json()["data"]["results"]
    assert (then["memory"]["content"], then["memory"]["mentions"]) == ("Lives in Austin", 2)
    assert {one["quote"] for one in then["memory"]["provenance"]} == {"I live in Austin"}


@pytest.mark.scripted
def test_a_text_corrected_by_the_operator_is_theirs_and_quotes_nobody(server: Served, client: Client) -> None:
    memory_id, _ = told_and_replaced(server, client)
    edited = client.patch(f"/api/memories/{memory_id}", json={"content": "Lives in Dover"}).json()["data"]
    current = history(client, memory_id)[-1]
    for one in (edited, current):
        assert (one["source"], one["trustLevel"], one["confidence"]) == ("operator", "operator", 1.0)
        assert (one["mentions"], one["provenance"]) == (1, [])
    said = history(client, memory_id)[1]
    assert (said["source"], said["trustLevel"], said["confidence"]) == ("shadow_extraction", "person", 0.9)
    assert [one["quote"] for one in said["provenance"]] == ["I live in Denver"]


@pytest.mark.scripted
def test_a_text_that_is_brought_back_brings_its_own_quotes(server: Served, client: Client) -> None:
    memory_id, _ = told_and_replaced(server, client)
    restored = client.post(f"/api/memories/{memory_id}/restore", json={"version": 1}).json()["data"]
    assert (restored["content"], restored["mentions"], restored["confidence"]) == ("Lives in Austin", 2, 0.9)
    assert [one["quote"] for one in restored["provenance"]] == ["I live in Austin", "I live in Austin"]
    client.patch(f"/api/memories/{memory_id}", json={"content": "Lives in Dover"})
    client.post("/api/sources/withdraw", json={"userId": "anna", "source": "operator"})
    [kept] = listed(client, "memories")
    assert (kept["content"], kept["source"]) == ("Lives in Austin", "shadow_extraction")
    assert {one["quote"] for one in kept["provenance"]} == {"I live in Austin"}


@pytest.mark.scripted
def test_a_confidence_is_private_whatever_the_model_says(server: Served, client: Client) -> None:
    fact = memory("Has diabetes", "I have diabetes", private=False)
    server.script.add_answers("Reflection", {"memories": []}, {"memories": [fact]})
    turn(server, client, "Can I tell you something in confidence?", personaId="coach")
    turn(server, client, "I have diabetes.", personaId="coach")
    kept = client.get("/api/memories", params={"userId": "anna", "personaId": "coach"}).json()["data"]
    assert [one["personaId"] for one in kept] == ["coach"]
