"""A small story told through the doors, for tests that look at what it left: two people, two personas, three days."""

from dataclasses import dataclass, field
from typing import Any

import httpx2

from support.served import Served


@dataclass
class Told:
    """Ids of what the story left."""

    sessions: list[str] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)
    memories: list[str] = field(default_factory=list)


def fact(content: str, quote: str, **more: Any) -> dict[str, Any]:
    return {"type": "PROFILE", "content": content, "quote": quote, "factType": "fact", **more}


def about(kind: str, label: str, content: str, quote: str, **more: Any) -> dict[str, Any]:
    entity = {"type": kind, "label": label}
    return {"type": "PEOPLE", "content": content, "quote": quote, "factType": "fact", "entity": entity, **more}


def tell(server: Served, client: httpx2.Client, *, mark: str = "") -> Told:
    """The story, told; `mark` is put into every text of it."""
    told = Told()

    def turn(said: str, reply: str, reflected: dict[str, Any], user: str = f"ann{mark}", **more: Any) -> None:
        server.script.add_answers("Reflection", reflected)
        messages = [{"role": "user", "content": said + mark}, {"role": "assistant", "content": reply + mark}]
        taken = client.post("/api/turns", json={"userId": user, "messages": messages, **more})
        assert taken.status_code == 202, taken.text
        told.turns.append(taken.json()["data"]["turnId"])
        session = taken.json()["data"]["sessionId"]
        if session not in told.sessions:
            told.sessions.append(session)
        server.settled(client)
        server.advance(minutes=2)

    persona = {"name": f"Coach{mark}", "prompt": f"You are a patient running coach.{mark}", "engagement": "shared"}
    assert client.put("/api/personas/coach", json=persona).status_code == 201
    turn(
        "I live in Austin. My sister Maria lives in Lisbon and works at Globex.",
        "Lisbon is lovely in spring.",
        {
            "memories": [
                fact(f"Lives in Austin{mark}", "I live in Austin", attribute="city"),
                about("person", f"Maria{mark}", f"Maria is her sister{mark}", "My sister Maria", importance=2),
                about("person", f"Maria{mark}", f"Maria works at Globex{mark}", "works at Globex", attribute="job"),
                fact(f"Owns a yacht{mark}", "I own a yacht"),
            ]
        },
        personaId="coach",
        expectations=[
            {"action": "create_tasks", "expected_outcome": f"two tasks exist{mark}", "expected_count": 2},
            {"action": "book_room", "expected_outcome": f"a room is booked{mark}", "expected_type": "room"},
        ],
        toolResults=[
            {
                "id": "res_1",
                "action": "create_tasks",
                "count": 1,
                "ids": ["t1"],
                "entities": [{"id": "t1", "kind": "task", "name": f"Shoes{mark}"}],
            }
        ],
    )
    turn(
        "Mariah called today. I will run the Austin marathon in February.",
        "That is a plan.",
        {
            "memories": [
                about("person", f"Mariah{mark}", f"Mariah called{mark}", "Mariah called today"),
                about(
                    "project",
                    f"Austin marathon{mark}",
                    f"Runs the Austin marathon in February{mark}",
                    "I will run the Austin marathon in February",
                    importance=2,
                ),
            ],
            "todos": [
                {
                    "op": "add",
                    "kind": "commitment",
                    "content": f"Run the Austin marathon{mark}",
                    "quote": "I will run the Austin marathon in February",
                }
            ],
        },
        personaId="coach",
    )
    server.advance(minutes=90)
    server.script.add_answers(
        "SessionSummary", {"one_liner": f"Ann told of Maria and the marathon.{mark}", "tone": "warm"}
    )
    server.settled(client)
    turn(
        "I moved to Denver last week.",
        "How do you like the mountains?",
        {"memories": [fact(f"Lives in Denver{mark}", "I moved to Denver last week", attribute="city")]},
        personaId="coach",
    )
    turn(
        "Just between us: I am looking for another job.",
        "Your secret is safe.",
        {"memories": [fact(f"Looks for another job{mark}", "I am looking for another job", private=True)]},
        personaId="coach",
    )
    turn(
        "Globex is a customer of ours.",
        "Noted.",
        {"memories": [about("org", f"Globex{mark}", f"Globex is a customer{mark}", "Globex is a customer of ours")]},
        user=f"ben{mark}",
    )
    for content in (f"Allergic to peanuts{mark}", f"Drinks tea, no coffee{mark}"):
        made = client.post("/api/memories", json={"userId": f"ann{mark}", "type": "PROFILE", "content": content})
        assert made.status_code in (200, 201), made.text
    server.settled(client)
    found = client.get("/api/memories", params={"userId": f"ann{mark}", "limit": 100}).json()["data"]
    told.memories.extend(one["id"] for one in found)
    return told
