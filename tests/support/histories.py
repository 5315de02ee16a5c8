"""Random histories of one person through the doors, and every write that must work whatever was imported before."""

from collections.abc import Iterator
from random import Random
from typing import Any

import httpx2

Client = httpx2.Client
NDJSON = {"Content-Type": "application/x-ndjson"}
_CITIES = ("Austin", "Berlin", "Madrid", "Rome", "Oslo")
_PEOPLE = ("Ann Lee", "Bob Ray", "Cem Oz")


class History:
    """What a person says and what is done for them, one random step after the other."""

    def __init__(self, client: Client, user: str, random: Random) -> None:
        """Begin a history without a step."""
        self._client, self._user, self._random = client, user, random

    def step(self) -> None:
        """Do one thing, chosen at random."""
        steps = (
            self._turn, self._turn, self._turn, self._fact, self._fact, self._person, self._edit, self._forget,
            self._note, self._seed, self._todo, self._close, self._merge, self._split, self._state,
        )  # fmt: skip
        self._random.choice(steps)()

    def _turn(self) -> None:
        sessions = rows(self._client, "/api/sessions", userId=self._user)
        body = turn(self._user, f"I like {self._random.choice(_CITIES)}. I will call Mia.")
        if sessions and self._random.random() < 0.5:
            body["sessionId"] = self._random.choice(sessions)["id"]
        self._send("POST", "/api/turns", body)

    def _fact(self) -> None:
        attribute = self._random.choice(("wish", "hobby", "drink"))
        content = f"Has {attribute} {self._random.choice(_CITIES)}"
        source = self._random.choice(("api", "operator", "tool:crm"))
        fact = {"userId": self._user, "type": "PROFILE", "content": content, "attribute": attribute, "source": source}
        self._send("POST", "/api/memories", fact)

    def _person(self) -> None:
        label = self._random.choice(_PEOPLE)
        fact = {"userId": self._user, "type": "PEOPLE", "content": f"{label} is a friend", "attribute": "job"}
        self._send("POST", "/api/memories", {**fact, "entity": {"type": "person", "label": label}})

    def _edit(self) -> None:
        for memory in self._some(rows(self._client, "/api/memories", userId=self._user)):
            content = f"Edited {self._random.randrange(5)}"
            self._send("PATCH", f"/api/memories/{memory['id']}", {"content": content, "reason": "x"})

    def _forget(self) -> None:
        for memory in self._some(rows(self._client, "/api/memories", userId=self._user)):
            self._send("DELETE", f"/api/memories/{memory['id']}")

    def _note(self) -> None:
        key = self._random.choice(("a", "b"))
        put = {"op": "put", "namespace": ["n"], "key": key, "value": {"n": self._random.randrange(9)}}
        put["texts" if self._random.random() < 0.5 else "vectors"] = self._random.choice(({}, {"p": None}))
        filled = {"texts": "some words", "vectors": [0.5, 1.0]}
        put = {name: {"p": filled[name]} if value == {"p": None} else value for name, value in put.items()}
        self._send("POST", "/api/notes/write", {"userId": self._user, "changes": [put]})

    def _seed(self) -> None:
        profile = self._random.sample(["I collect stamps.", "I like tea.", "I sail."], 2)
        self._send("PUT", f"/api/users/{self._user}/seed", {"profile": profile})

    def _todo(self) -> None:
        for todo in self._some(rows(self._client, "/api/todos", userId=self._user)):
            self._send("PATCH", f"/api/todos/{todo['id']}", {"status": self._random.choice(("done", "open"))})

    def _close(self) -> None:
        for session in self._some(rows(self._client, "/api/sessions", userId=self._user)):
            self._send("POST", f"/api/sessions/{session['id']}/close")

    def _merge(self) -> None:
        one, two = self._random.sample(["person:ann_lee", "person:bob_ray", "person:cem_oz"], 2)
        self._send("POST", "/api/entities/merge", {"userId": self._user, "from": one, "into": two})

    def _split(self) -> None:
        one, two = self._random.sample(["person:ann_lee", "person:bob_ray", "person:cem_oz"], 2)
        self._send("POST", "/api/entities/split", {"userId": self._user, "from": one, "key": two})

    def _state(self) -> None:
        for session in self._some(rows(self._client, "/api/sessions", userId=self._user)):
            change_state(self._client, session["id"], f"thing {self._random.randrange(5)}")

    def _some(self, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return self._random.sample(found, min(1, len(found)))

    def _send(self, method: str, path: str, body: Any = None) -> None:
        answer = self._client.request(method, path, json=body) if body else self._client.request(method, path)
        assert answer.status_code < 500, (method, path, body, answer.text)


def turn(user: str, said: str) -> dict[str, Any]:
    """A turn with a tool's result and what was expected of it."""
    return {
        "userId": user,
        "messages": [{"role": "user", "content": said}, {"role": "assistant", "content": "Fine."}],
        "toolResults": [
            {"id": "c1", "action": "crm.get", "count": 1, "ids": ["q"], "entities": [{"id": "q", "kind": "task"}]}
        ],
        "expectations": [{"action": "crm.get", "expected_outcome": "it is there", "expected_count": 1}],
    }


def rows(client: Client, path: str, **params: str) -> list[dict[str, Any]]:
    """The first page of a list."""
    answer = client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


def change_state(client: Client, session: str, title: str) -> httpx2.Response:
    """Add an item to the session's agent state."""
    version = client.get(f"/api/sessions/{session}/agent-state").json()["data"]["version"]
    item = {"kind": "note", "title": title, "status": "active"}
    body = {"agent_state_item_updates": [{"op": "add", "item": item}]}
    headers = {"If-Match": f'"{version}"'}
    return client.patch(f"/api/sessions/{session}/agent-state", json=body, headers=headers)


def every_write(client: Client, user: str) -> Iterator[tuple[str, httpx2.Response]]:
    """Each write to what a person has, with its answer."""
    yield "a new session", client.post("/api/turns", json=turn(user, "I have seen Lima."))
    for one in rows(client, "/api/sessions", userId=user):
        body = {**turn(user, "I have seen Quito. I will write to Cleo."), "sessionId": one["id"]}
        yield "a turn", client.post("/api/turns", json=body)
        yield "a state", change_state(client, one["id"], "more")
        chat = {"userId": user, "sessionId": one["id"], "message": "What have I seen?", "stream": False}
        yield "a chat", client.post("/api/chat", json=chat)
        yield "a close", client.post(f"/api/sessions/{one['id']}/close")
    for one in rows(client, "/api/memories", userId=user):
        path = f"/api/memories/{one['id']}"
        yield "an edit", client.patch(path, json={"content": f"{one['content']} indeed", "reason": "x"})
        for version in rows(client, f"{path}/history"):
            yield "a restore", client.post(f"{path}/restore", json={"version": version["version"]})
        yield "an archive", client.patch(path, json={"status": "ARCHIVED", "reason": "x"})
        yield "a return", client.post(f"{path}/restore", json={})
    facts = ("wish", "hobby", "drink")
    for attribute in facts:
        fact = {"userId": user, "type": "PROFILE", "content": f"Has {attribute} now", "attribute": attribute}
        yield "a fact", client.post("/api/memories", json={**fact, "source": "operator"})
    merge = {"userId": user, "from": "person:ann_lee", "into": "person:cem_oz"}
    yield "a merge", client.post("/api/entities/merge", json=merge)
    split = {"userId": user, "from": "person:ann_lee", "key": "person:cem_oz"}
    yield "a split", client.post("/api/entities/split", json=split)
    put = {"op": "put", "namespace": ["n"], "key": "a", "value": 1, "texts": {"p": "words"}}
    yield "a note", client.post("/api/notes/write", json={"userId": user, "changes": [put]})
    yield "a seed", client.put(f"/api/users/{user}/seed", json={"profile": ["I collect coins."]})
    yield "a withdrawal", client.post("/api/sources/withdraw", json={"userId": user, "source": "tool:crm"})
