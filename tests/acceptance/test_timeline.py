"""The seed's timeline, played line by line through the API with a clock that stands until it is moved."""

from typing import Any

import httpx2
import pytest

from support.served import Served

USER, COACH = "marta", "coach"
REFLECTIONS: list[dict[str, Any]] = [
    {
        "memories": [
            {
                "type": "PROFILE",
                "content": "Lives in Austin",
                "quote": "I live in Austin",
                "entity": {"type": "person", "label": "self"},
                "factType": "fact",
                "attribute": "lives in",
            }
        ],
        "todos": [
            {
                "op": "add",
                "kind": "commitment",
                "content": "Go for a walk tomorrow",
                "quote": "I'll go for a walk tomorrow",
            }
        ],
    },
    {
        "memories": [
            {
                "type": "PEOPLE",
                "content": "John is her cofounder",
                "quote": "John is my cofounder",
                "entity": {"type": "person", "label": "John"},
                "factType": "relationship",
            }
        ],
        "todos": [],
    },
    {},
    {"rolling_summary": "Marta lives in Austin, works with John and will go for a walk tomorrow."},
]
SUMMARY = {
    "one_liner": "Marta told about Austin and John.",
    "what_mattered": ["Austin", "John"],
    "open_loops": ["the walk"],
    "commitments": ["go for a walk tomorrow"],
    "people": ["John"],
    "tone": "calm",
}


def state(client: httpx2.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/api/session-state", params={"userId": USER, "personaId": COACH}).json()["data"]
    return found


def sessions(client: httpx2.Client) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = client.get("/api/sessions", params={"userId": USER, "personaId": COACH}).json()[
        "data"
    ]
    return listed


def memories(client: httpx2.Client, persona: str | None) -> list[dict[str, Any]]:
    params = {"userId": USER} | ({"personaId": persona} if persona else {})
    listed: list[dict[str, Any]] = client.get("/api/memories", params=params).json()["data"]
    return listed


def todos(client: httpx2.Client, persona: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = client.get("/api/todos", params={"userId": USER, "personaId": persona}).json()[
        "data"
    ]
    return listed


def say(server: Served, client: httpx2.Client, text: str) -> dict[str, Any]:
    body = {"userId": USER, "personaId": COACH, "message": text, "stream": False}
    answer = client.post("/api/chat", json=body)
    assert answer.status_code == 200, answer.text
    server.settled(client)
    found: dict[str, Any] = answer.json()["data"]
    return found


@pytest.mark.scripted
def test_the_timeline(server: Served, client: httpx2.Client) -> None:
    server.script.add_answers("Reflection", *REFLECTIONS)
    server.script.add_answers("SessionSummary", SUMMARY)

    # t=0: the first message to the persona Coach
    first = say(server, client, "Hi! I live in Austin. I'll go for a walk tomorrow.")
    [session] = sessions(client)
    assert (session["id"], session["personaId"], session["turnCount"]) == (first["sessionId"], COACH, 1)
    assert session["startedAt"] == session["lastActivityAt"] == "2026-04-12T15:22:00Z"
    assert session["endedAt"] is None
    assert state(client)["state"]["messageCount"] == 1
    assert [one["content"] for one in memories(client, None)] == ["Lives in Austin"]
    assert memories(client, None)[0]["personaId"] is None
    assert [one["content"] for one in todos(client, COACH)] == ["Go for a walk tomorrow"]
    assert todos(client, "sage") == []

    # t=1: the second message
    server.advance(minutes=1)
    say(server, client, "John is my cofounder.")
    assert sessions(client)[0]["turnCount"] == 2
    assert state(client)["state"]["messageCount"] == 2
    assert {one["content"] for one in memories(client, "sage")} == {"Lives in Austin", "John is her cofounder"}
    assert state(client)["rollingSummary"] == ""

    # t=3: the fourth message
    server.advance(minutes=1)
    say(server, client, "The weather is fine.")
    assert state(client)["rollingSummary"] == ""
    server.advance(minutes=1)
    say(server, client, "That is all for today.")
    kept = state(client)
    assert kept["state"]["messageCount"] == 4
    assert kept["state"]["lastUserMessage"] == "That is all for today."
    assert kept["state"]["lastInteraction"] == "2026-04-12T15:25:00Z"
    assert kept["state"]["lastRollingAttemptAt"] == kept["state"]["lastRollingSuccessAt"] == "2026-04-12T15:25:00Z"
    assert kept["state"]["lastRollingError"] is None
    assert kept["rollingSummary"].startswith("Marta lives in Austin, works with John")

    # t=35min: no activity
    server.advance(minutes=35)
    server.settled(client)
    [session] = sessions(client)
    assert session["endedAt"] == "2026-04-12T15:55:00Z"
    assert session["summary"] == SUMMARY

    # t=36min: a message
    server.advance(minutes=1)
    next_one = say(server, client, "I am back.")
    newest, oldest = sessions(client)
    assert newest["id"] == next_one["sessionId"] != oldest["id"]
    assert (newest["turnCount"], newest["resumedFrom"]) == (1, oldest["id"])
    assert state(client)["state"]["messageCount"] == 5
    given = server.script.requests_on("chat")[-1].system
    assert str(SUMMARY["one_liner"]) in given
    assert "works with John and will go for a walk" in given
    assert "That is all for today." in given

    # t=n: more than 20 messages
    spine = client.get(f"/api/users/{USER}/spine")
    assert spine.status_code == 404 or spine.json()["data"] is None
    for number in range(6, 22):
        say(server, client, f"Message number {number}.")
    assert state(client)["state"]["messageCount"] == 21
    assert client.get(f"/api/users/{USER}/spine").json()["data"]["version"] == 1
    history = client.get("/api/session-state/rolling-summaries", params={"userId": USER, "personaId": COACH})
    assert [one["messageCount"] for one in history.json()["data"]] == [4]
