"""Every door through which something can be read, and one word planted in every kind of data.

A kind is open to a key whose scopes name it in `OPENED_BY`, which says what docs/security.md says. What a door shows
to a key beyond that is a leak.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx2
import psycopg

from mnemon.access.grants import Grant
from mnemon.console.live import topic_names
from support.bounds import HANGS_S
from support.engaged import claim, piece
from support.openapi import Operation, operations
from support.served import Served

PERSONAL = frozenset({"memory", "private", "todo", "message", "summary", "source", "note"})
OPENED_BY: dict[Grant, frozenset[str]] = {
    **dict.fromkeys(Grant, frozenset()),
    # A chat is told what is known of its person, and shows its context on request.
    Grant.CHAT: frozenset({"memory", "private", "todo", "message", "summary", "persona", "source"}),
    Grant.MEMORY_READ: PERSONAL | {"persona"},
    Grant.CUSTODY: PERSONAL,
    Grant.ENGAGEMENT_READ: frozenset({"engagement"}),
    Grant.AGENT_STATE_READ: frozenset({"agent_state"}),
    Grant.AGENTS_READ: frozenset({"agent", "run", "decision"}),
    Grant.JOBS: frozenset({"job"}),
    Grant.ADMIN: frozenset({"key", "audit"}),
}
READING_POSTS = {
    "/api/context", "/api/memories/search", "/api/notes/read", "/api/notes/search", "/api/notes/namespaces",
}  # fmt: skip
READING_TOOLS = ("recall", "get_context", "get_engagement", "list_todos", "get_my_decisions")
CONSOLE_PAGES = (
    "/", "/memories?status=any", "/memories/{memory_id}", "/recall?q=zq&user=ann&kinds=both", "/context?user=ann&q=zq",
    "/entities?user=ann", "/sessions", "/sessions/{session_id}", "/sessions/{session_id}/agent-state", "/engagement",
    "/agents", "/agents/new", "/agents/{agent_id}", "/agents/{agent_id}/edit", "/runs/{run_id}",
    "/results", "/results/decisions", "/calibration", "/jobs", "/sources?user=ann",
    "/sources/withdraw?user=ann&source=tool:zqsourcex",
    "/settings", "/settings/keys", "/settings/organization", "/settings/personas", "/settings/privacy",
    "/settings/audit",
)  # fmt: skip
DOWNLOAD = "/settings/privacy/export?user=ann"
_STREAM_S = 0.3


@dataclass
class PlantedHouse:
    """A server with a word in every kind of data, and what its addresses need."""

    server: Served
    words: dict[str, str] = field(default_factory=dict)
    """The planted word of each kind."""
    placed: dict[str, str] = field(default_factory=dict)

    def plant(self) -> None:
        """Put a word into every kind of data of the organization and of Ann."""
        client = self.server.client("acme")
        names = (*sorted(PERSONAL), "persona", "engagement", "rejected", "agent_state", "agent", "run", "decision")
        self.words = {kind: f"zq{kind.replace('_', '')}x" for kind in names}
        self._plant_person(client)
        self._plant_agent(client)
        self.server.settled(client)
        keys = self._sql("select key_id from keys where name = 'test' order by key_id limit 1")
        # The key that planted everything stands in the list of keys, and as the actor of every entry of the audit log.
        self.words |= {"key": keys, "audit": keys, "job": self._job(client)}
        self.document = client.get("/openapi.json").json()

    def _plant_person(self, client: httpx2.Client) -> None:
        word, script = self.words, self.server.script
        done(client.put("/api/personas/coach", json={"name": "Coach", "prompt": f"You coach. {word['persona']}"}))
        self._plant_engagement(client)
        first = self._tell(client, "ann", f"I met {word['message']} today.", {})
        # Only the tone may be a word that nobody said.
        script.add_answers("SessionSummary", {"one_liner": f"Met {word['message']}.", "tone": word["summary"]})
        done(client.post(f"/api/sessions/{first['sessionId']}/close"))
        self.server.settled(client)
        self.server.advance(minutes=1)
        # In the session that runs: a context shows the state of no other.
        lie = claim(f"The CFO hides {word['rejected']}.", piece("never said by anybody"))
        turn = self._tell(client, "ann", "Good morning.", {"engagement": {"form": [lie]}})
        plan = {"expectations": [{"action": "book_room", "expected_outcome": word["agent_state"]}], "reason": "plan"}
        state = f"/api/sessions/{turn['sessionId']}/agent-state"
        done(client.patch(state, json=plan, headers={"If-Match": "*"}))
        made = done(stated(client, f"Likes {word['memory']}", type="PROFILE"))
        done(stated(client, f"Fears {word['private']}", type="PROFILE", personaId="coach", attribute="fear"))
        done(stated(client, "Has a boat", type="PROFILE", source=f"tool:{word['source']}", attribute="boat"))
        done(stated(client, f"Call {word['todo']}", type="OPEN_LOOP"))
        put = {"op": "put", "namespace": ["n"], "key": "k", "value": {"text": word["note"]}}
        done(client.post("/api/notes/write", json={"userId": "ann", "changes": [put]}))
        self.placed |= {"memory_id": made["id"], "session_id": turn["sessionId"], "turn_id": turn["turnId"]}

    def _plant_engagement(self, client: httpx2.Client) -> None:
        """Have somebody else say it: what Ann says herself is in her messages."""
        word = self.words["engagement"]
        unknown = {"question": f"Is {word} the cause?", "whyItMatters": f"The plan depends on {word}."}
        said = f"We do not know whether {word} is the cause, and the plan depends on {word}."
        # Lists of sessions show the first and the latest words of each, of Dana's too.
        self._tell(client, "dana", "Good morning.", {})
        self._tell(client, "dana", said, {"engagement": {"unknowns": [unknown]}})
        turn = self._tell(client, "dana", "Thank you.", {})
        self.server.script.add_answers("SessionSummary", {"one_liner": "A talk about the plan.", "tone": "calm"})
        done(client.post(f"/api/sessions/{turn['sessionId']}/close"))
        self.server.settled(client)

    def _tell(self, client: httpx2.Client, user: str, said: str, reflected: dict[str, Any]) -> Any:
        self.server.script.add_answers("Reflection", reflected)
        body = {"userId": user, "messages": [{"role": "user", "content": said}]}
        turn = done(client.post("/api/turns", json=body))
        self.server.settled(client)
        return turn

    def _plant_agent(self, client: httpx2.Client) -> None:
        word = self.words
        body = {"name": "Scout", "skill": word["agent"], "defaultPrompt": "Decide.", "schedule": "0 0 1 1 *"}
        agent = done(client.post("/api/agents", json=body))["id"]
        card = {"decision": "WAIT", "summary": word["decision"], "confidence": 0.6}
        self.server.script.add_answers("Card", card)
        run = done(client.post(f"/api/agents/{agent}/runs", json={"prompt": f"Look at {word['run']}"}))["id"]
        self.placed |= {"agent_id": agent, "run_id": run, "persona_id": "coach", "user_id": "ann", "key": "person:x"}

    def _job(self, client: httpx2.Client) -> str:
        waiting = [one for one in client.get("/api/jobs?limit=200").json()["data"] if one["kind"] == "heartbeat"]
        return str(waiting[0]["id"])

    def _sql(self, query: str) -> str:
        with psycopg.connect(self.server.database_url, autocommit=True) as connection:
            row = connection.execute(query.encode()).fetchone()
        assert row is not None
        return str(row[0])

    def kinds_in(self, text: str) -> set[str]:
        """Which kinds' words stand in the text."""
        return {kind for kind, word in self.words.items() if word in text}

    def seen_by(self, key: str, *, bound: bool) -> dict[str, set[str]]:
        """What every door shows to the key: kinds by door, without doors that show none."""
        doors: dict[str, str] = {}
        with httpx2.Client(base_url=self.server.url, timeout=HANGS_S) as client:
            client.headers["Authorization"] = f"Bearer {key}"
            doors |= dict(self._http(client))
            doors |= dict(self._tools(client))
            doors |= self._prompt(client)
        if not bound:
            doors |= dict(self._console(key))
        return {door: kinds for door, text in doors.items() if (kinds := self.kinds_in(text))}

    def _http(self, client: httpx2.Client) -> Iterator[tuple[str, str]]:
        for persona in ({}, {"personaId": "coach"}):
            words = {"userId": "ann", "user": "ann", "query": "zq", "limit": "50", "status": "ALL", **persona}
            for op in operations(self.document, words):
                if op.method == "GET" or op.path in READING_POSTS:
                    yield f"{op.method} {op.path} {persona}", self._call(client, op)

    def _call(self, client: httpx2.Client, op: Operation) -> str:
        path = op.path
        for name in op.placed:
            path = path.replace(f"{{{name}}}", self.placed.get(name, "none"))
        query = {} if op.path in {"/api/runs", "/api/agents", "/api/jobs"} else op.query
        if path.endswith("/events"):
            return beginning(client, path)
        answer = client.request(op.method, path, params=query, **({} if op.body is None else {"json": op.body}))
        assert answer.status_code < 500, (path, answer.text)
        return answer.text if answer.status_code < 300 else ""

    def _tools(self, client: httpx2.Client) -> Iterator[tuple[str, str]]:
        for place in ("?userId=ann", "?userId=ann&personaId=coach", "?userId=ann&tools=server-memory"):

            def ask(method: str, at: str = place, **params: Any) -> str:
                headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
                body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
                return client.post(f"/mcp{at}", json=body, headers=headers).text

            for name in (*READING_TOOLS, "read_graph", "search_nodes"):
                arguments = {"query": "zq"} if name in {"recall", "get_context", "search_nodes"} else {}
                yield f"mcp {name} {place}", ask("tools/call", name=name, arguments=arguments)
            listed = ask("resources/list")
            yield f"mcp resources {place}", listed
            for uri in ("mnemon://engagement", "mnemon://spine", "mnemon://entities/person:x"):
                yield f"mcp {uri} {place}", ask("resources/read", uri=uri)

    def _prompt(self, client: httpx2.Client) -> dict[str, str]:
        """What the model is given when the key chats: at the wire, as the provider gets it."""
        asked = self.server.script.asked
        before = len(asked)
        for persona in (None, "coach"):
            body = {"model": "any", "user": "ann", "messages": [{"role": "user", "content": "What of zq?"}]}
            client.post("/v1/chat/completions", json=body | ({"metadata": {"personaId": persona}} if persona else {}))
            client.post("/api/chat", json={"userId": "ann", "personaId": persona, "message": "zq?", "stream": False})
        # Reflections ask for the organization's sake, not for the key's: they are no door.
        chats = [one for one in asked[before:] if one.title is None]
        return {f"prompt {number}": json.dumps(one.body) for number, one in enumerate(chats)}

    def _console(self, key: str) -> Iterator[tuple[str, str]]:
        with httpx2.Client(base_url=self.server.url, timeout=HANGS_S) as browser:
            assert browser.post("/sign-in", data={"key": key, "next": "/"}).status_code == 303
            for page in CONSOLE_PAGES:
                path, _, query = page.format(**self.placed).partition("?")
                for shown in (path, "/index.json" if path == "/" else f"{path}.json"):
                    answer = browser.get(f"{shown}?{query}")
                    assert answer.status_code < 500, (shown, answer.text)
                    yield f"console {shown}", answer.text if answer.status_code == 200 else ""
            answer = browser.get(DOWNLOAD)
            yield "console export", answer.text if answer.status_code == 200 else ""
            for topic in sorted(topic_names()):
                yield f"live {topic}", beginning(browser, f"/live?topic={topic}:{self.placed['session_id']}")


def done(answer: httpx2.Response) -> Any:
    """The answer's data, of a request that succeeded."""
    assert answer.status_code < 300, answer.text
    return answer.json()["data"]


def stated(client: httpx2.Client, content: str, **more: object) -> httpx2.Response:
    return client.post("/api/memories", json={"userId": "ann", "content": content, **more})


def beginning(client: httpx2.Client, path: str) -> str:
    """What an event stream sends at once; empty where it is refused."""
    told = ""
    # The headers come when the stream begins: only the wait for a further event is cut short.
    with (
        client.stream("GET", path, timeout=httpx2.Timeout(HANGS_S, read=_STREAM_S)) as answer,
        suppress(httpx2.ReadTimeout),
    ):
        for one in answer.iter_text() if answer.status_code == 200 else ():
            told += one
    return told
