"""Offline mode through the doors: what is plainly said is remembered, and nothing else is."""

from typing import Any

import httpx2
import pytest

from support.served import Served


def say(server: Served, client: httpx2.Client, text: str, **more: Any) -> dict[str, Any]:
    """Records a turn and gives its reflection."""
    body = {"userId": "ana", "messages": [{"role": "user", "content": text}], **more}
    made = client.post("/api/turns", json=body).json()["data"]
    server.settled(client)
    reflection: dict[str, Any] = client.get(f"/api/turns/{made['turnId']}").json()["data"]["reflection"]
    assert reflection["status"] == "done", reflection
    return reflection


def listed(client: httpx2.Client, what: str, **query: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.get(f"/api/{what}", params={"userId": "ana", **query}).json()["data"]
    return rows


@pytest.fixture
def offline(offline_server: Served) -> httpx2.Client:
    return offline_server.client("acme")


def test_facts_are_kept_with_the_words_they_rest_on(offline_server: Served, offline: httpx2.Client) -> None:
    told = "Hi! My name is Priya and I live in Austin, Texas. John is my cofounder; handles backend"
    assert say(offline_server, offline, told)["sections"]["memory"]["stored"] == 3
    kept = {memory["memoryKey"]: memory for memory in listed(offline, "memories")}
    assert set(kept) == {
        "profile|person|self|fact|name",
        "profile|person|self|fact|lives_in",
        "people|person|john|relationship",
    }
    for memory in kept.values():
        assert memory["provenance"][0]["quote"] in told
        assert memory["source"] == "shadow_extraction"


def test_a_new_value_replaces_the_old_one(offline_server: Served, offline: httpx2.Client) -> None:
    say(offline_server, offline, "I live in Austin.")
    offline_server.advance(minutes=1)
    assert say(offline_server, offline, "I moved to Denver last week.")["sections"]["memory"]["updated"] == 1
    (home,) = listed(offline, "memories")
    assert "Denver" in home["content"]
    history = offline.get(f"/api/memories/{home['id']}/history").json()["data"]
    assert any("Austin" in version["content"] for version in history)


@pytest.mark.parametrize(
    "text",
    [
        "Do I live in Austin?",
        "Please write a bio saying I live in Paris.",
        "If I lived in Tokyo, I'd eat ramen.",
        "I don't live in Austin.",
        'She said "I live in Boston".',
        "Thanks, that was great!",
    ],
)
def test_what_is_no_statement_leaves_zeros(offline_server: Served, offline: httpx2.Client, text: str) -> None:
    memory = say(offline_server, offline, text)["sections"]["memory"]
    assert [memory[count] for count in ("stored", "updated", "skipped", "rejected")] == [0, 0, 0, 0]
    assert listed(offline, "memories") == []


def test_a_promise_is_opened_and_closed_by_what_is_said(offline_server: Served, offline: httpx2.Client) -> None:
    say(offline_server, offline, "I'll send the report tomorrow.")
    (todo,) = listed(offline, "todos")
    assert (todo["kind"], todo["status"]) == ("commitment", "open")
    offline_server.advance(minutes=1)
    say(offline_server, offline, "I finally sent the report!")
    assert [todo["status"] for todo in listed(offline, "todos")] == ["done"]


def test_what_is_said_in_confidence_stays_with_the_persona(offline_server: Served, offline: httpx2.Client) -> None:
    say(offline_server, offline, "Just between us, I hate my job.", personaId="coach")
    assert listed(offline, "memories", personaId="coach")[0]["personaId"] == "coach"
    assert listed(offline, "memories") == []
    assert listed(offline, "memories", personaId="chef") == []


@pytest.mark.parametrize(
    "told",
    [
        ["Don't share this with the other assistants. I have diabetes."],
        ["Can you keep a secret? I have diabetes."],
        ["I have diabetes. That's private."],
        ["Can you keep a secret?", "OK, here goes.", "I have diabetes."],
    ],
)
def test_a_confidence_announced_before_or_after_reaches_no_other_persona(
    offline_server: Served, offline: httpx2.Client, told: list[str]
) -> None:
    for text in told:
        say(offline_server, offline, text, personaId="coach")
    assert [kept["personaId"] for kept in listed(offline, "memories", personaId="coach")] == ["coach"]
    assert listed(offline, "memories", personaId="chef") == []
