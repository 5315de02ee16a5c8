"""A conversation over HTTP whose reflections are scripted, for tests of the engagement through the doors."""

from typing import Any

import httpx2

from support.served import Served


class Talk:
    """A conversation whose reflections are scripted."""

    def __init__(self, server: Served, client: httpx2.Client) -> None:
        self.server = server
        self.client = client

    def say(
        self, text: str, *, user: str = "dana", at: str | None = None, persona: str | None = None, **parts: Any
    ) -> Any:
        """A chat turn, reflected; gives its engagement report."""
        if at is not None:
            self.server.set_time(at)
        self.server.script.add_answers("Reflection", {"engagement": parts})
        body = {"userId": user, "message": text, "stream": False}
        reply = self.client.post("/api/chat", json=body if persona is None else {**body, "personaId": persona})
        assert reply.status_code == 200, reply.text
        self.server.settled(self.client)
        self.turn_id = reply.json()["data"]["turnId"]
        reflection = self.client.get(f"/api/turns/{self.turn_id}").json()["data"]["reflection"]
        assert reflection["status"] == "done", reflection
        return {**reflection["sections"]["engagement"], "why": [each["why"] for each in reflection["rejected"]]}

    def state(self, query: str = "") -> Any:
        reply = self.client.get(f"/api/engagement{query}")
        assert reply.status_code == 200, reply.text
        return reply.json()["data"]

    def layer(self, persona: str | None = None) -> str:
        """L8 as chat would be given it."""
        body = {"userId": "dana", "query": "what now?", **({} if persona is None else {"personaId": persona})}
        layers = self.client.post("/api/context", json=body).json()["data"]["layers"]
        return next((layer["text"] for layer in layers if layer["name"] == "L8"), "")


def history(client: httpx2.Client) -> list[Any]:
    """All changes, page by page."""
    found: list[Any] = []
    cursor = None
    while True:
        page = client.get(
            "/api/engagement/history", params={"limit": 5, **({"cursor": cursor} if cursor else {})}
        ).json()
        found += page["data"]
        cursor = page["meta"]["nextCursor"]
        if cursor is None:
            return found


def ready(talk: Talk) -> None:
    """Three user turns that say something have been heard."""
    for text in ("We make valves.", "Orders run late.", "The plant waits for sales."):
        talk.say(text)
