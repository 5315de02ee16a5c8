"""A key bound to one person touches that person only, through every operation of the API and every tool of MCP.

The requests are made up from the OpenAPI document and from MCP's list of tools. A new one that nobody classified in
`support/bound_keys.py` fails the test.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from mnemon.access.grants import ALL_GRANTS, PERSONAL_GRANTS
from support.bound_keys import (
    BOUND_TOOLS,
    CANARY,
    ORGANIZATION_TOOLS,
    RULES,
    Belongings,
    Concerns,
    give_belongings,
)
from support.openapi import Operation, operations
from support.served import Served, served

LAST = {"DELETE /api/memories/{memory_id}": 1, "DELETE /api/users/{user_id}": 2}
"""What takes the person's belongings away comes after everything else."""
REFUSED_NOW = {409}
"""Allowed and understood, but not in this state: a reflection that is queued already."""


class Scene:
    """Ann and Ben of one organization, and a key with every scope that a key bound to Ann can have."""

    def __init__(self, server: Served) -> None:
        self.server = server
        self.everyone = server.client("acme")
        self.ann = give_belongings(self.everyone, "ann", "lisbon")
        self.ben = give_belongings(self.everyone, "ben", CANARY)
        self.shared = self._give_to_organization()
        self.key = server.key("acme", grants=PERSONAL_GRANTS, user="ann")
        self.bound = httpx2.Client(base_url=server.url, headers={"Authorization": f"Bearer {self.key}"}, timeout=60)
        self.document = self.everyone.get("/openapi.json").json()

    def _give_to_organization(self) -> dict[str, str]:
        """Give the organization a persona, an agent, a run and jobs; their texts have Ben's mark."""
        self.everyone.put("/api/personas/coach", json={"name": CANARY, "prompt": CANARY})
        body = {"name": CANARY, "adapter": "model", "skill": CANARY, "defaultPrompt": CANARY}
        agent = self.everyone.post("/api/agents", json=body).json()["data"]["id"]
        run = self.everyone.post(f"/api/agents/{agent}/runs", json={}).json()["data"]["id"]
        job = self.everyone.get("/api/jobs").json()["data"][0]["id"]
        model = self.everyone.get("/v1/models").json()["data"][0]["id"]
        return {
            "persona_id": "coach",
            "agent_id": agent,
            "run_id": run,
            "job_id": job,
            "model_id": model,
            # A bound key is refused before anybody looks for the hypothesis.
            "hypothesis_id": "hyp_any",
        }

    def call(self, op: Operation, whose: Belongings, client: httpx2.Client | None = None) -> tuple[int, str]:
        """Send the operation for this person's belongings; of a stream, the status alone."""
        path = op.path
        for name in op.placed:
            path = path.replace(f"{{{name}}}", {**self.shared, **whose.placed}[name])
        named = {"source": "seeded_profile"} if op.path.startswith("/api/sources/") and op.method == "GET" else {}
        options: dict[str, Any] = {"params": {**op.query, **named}, "headers": {"If-Match": "*"}}
        options |= self._body(op, whose)
        with (client or self.bound).stream(op.method, path, **options) as answer:
            if answer.status_code == 200 and op.path.endswith("/events"):
                return answer.status_code, ""
            return answer.status_code, answer.read().decode()

    def _body(self, op: Operation, whose: Belongings) -> dict[str, Any]:
        if op.path == "/api/import":
            return {"content": self.everyone.get(f"/api/users/{whose.user}/export").content}
        if op.path in ("/api/memories/{memory_id}", "/api/todos/{todo_id}") and op.method == "PATCH":
            return {"json": {"content": "Something else"}}
        if op.path == "/v1/chat/completions":
            return {"json": {**op.body, "messages": [{"role": "user", "content": "Good morning"}]}}
        if op.path == "/api/sources/withdraw":
            return {"json": {**op.body, "source": "seeded_profile"}}
        if op.path == "/api/chat":
            return {"json": {**op.body, "stream": False}}
        return {} if op.body is None else {"json": op.body}

    def operations(self, words: dict[str, str]) -> list[Operation]:
        found = operations(self.document, words)
        return sorted(found, key=lambda op: LAST.get(route(op), 0))

    def kept_of_others(self, *, jobs: bool = True) -> str:
        """Give all that is kept of Ben and of the organization, without what differs from call to call."""
        lines = self.everyone.get("/api/users/ben/export").text.splitlines()[1:]
        paths = ["/api/personas/coach", "/api/agents", "/api/runs", "/api/calibration"]
        paths += ["/api/jobs?limit=200"] if jobs else []
        texts = [json.dumps(self.everyone.get(path).json()["data"], sort_keys=True) for path in paths]
        return "\n".join([*sorted(lines), *texts])


def route(op: Operation) -> str:
    return f"{op.method} {op.path}"


@pytest.fixture
def scene(database_url: str, tmp_path: Path) -> Iterator[Scene]:
    """Nothing works in the background, so that whatever changes was changed by a request."""
    with served(database_url, tmp_path, worker=False) as server:
        made = Scene(server)
        with made.bound:
            yield made


def test_every_operation_is_classified_and_none_that_is_not_there(scene: Scene) -> None:
    there = {route(op) for op in scene.operations({})}
    assert there - set(RULES) == set(), "say in support/bound_keys.py whom these concern"
    assert set(RULES) - there == set()


def test_a_bound_key_changes_and_sees_nothing_of_others(scene: Scene) -> None:
    before = scene.kept_of_others()
    assert CANARY in before
    for op in scene.operations(scene.ben.words):
        status, text = scene.call(op, scene.ben)
        match RULES[route(op)]:
            case Concerns.PERSON | Concerns.ORGANIZATION:
                assert status == 403, (route(op), status, text)
            case Concerns.OBJECT:
                assert status == 404, (route(op), status, text)
            case Concerns.NOBODY:
                assert status == 200, (route(op), status, text)
        assert CANARY not in text.replace(scene.ben.key, ""), (route(op), text)
    assert scene.kept_of_others() == before


def test_a_bound_key_does_for_its_own_person_what_its_scopes_allow(scene: Scene) -> None:
    foreign = set(re.findall(r"\b(?:mem|ses|trn|msg|tod|job|run|agt)_[0-9A-Z]{26}\b", scene.kept_of_others()))
    foreign -= set(scene.ann.placed.values())
    ours = set(re.findall(r"\b[a-z]{3}_[0-9A-Z]{26}\b", scene.everyone.get("/api/users/ann/export").text))
    foreign -= ours
    assert foreign
    for op in scene.operations(scene.ann.words):
        status, text = scene.call(op, scene.ann)
        if RULES[route(op)] is Concerns.ORGANIZATION:
            assert status == 403, (route(op), status, text)
        else:
            assert status < 300 or status in REFUSED_NOW, (route(op), status, text)
        assert CANARY not in text, (route(op), text)
        assert not [one for one in foreign if one in text and one not in ours_now(scene)], (route(op), text)


def ours_now(scene: Scene) -> str:
    """Everything that is kept of Ann now: what she did meanwhile has ids too."""
    return scene.everyone.get("/api/users/ann/export").text


def test_a_bound_key_names_no_session_of_another_for_its_own_person(scene: Scene) -> None:
    words = {**scene.ann.words, "sessionId": scene.ben.session_id}
    named = 0
    for op in scene.operations(words):
        if isinstance(op.body, dict) and "sessionId" in json.dumps(op.body):
            status, text = scene.call(op, scene.ann)
            assert status == 404, (route(op), status, text)
            named += 1
    assert named >= 3
    mixed = [{"userId": user, "type": "PROFILE", "content": "Sails"} for user in ("ann", "ben")]
    assert scene.bound.post("/api/memories/batch", json=mixed).status_code == 403


def test_the_same_person_is_meant_by_every_tool(scene: Scene) -> None:
    def ask(query: str, method: str, **params: Any) -> httpx2.Response:
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return scene.bound.post(f"/mcp{query}", json=body, headers=headers)

    assert ask("?userId=ben", "tools/list").status_code == 403
    assert ask(f"?sessionId={scene.ben.session_id}", "tools/list").status_code == 404
    before = scene.kept_of_others(jobs=False)  # what Ann remembers makes jobs
    for query in ("", "?tools=server-memory"):
        tools = ask(query, "tools/list").json()["result"]["tools"]
        names = {tool["name"] for tool in tools}
        if not query:
            assert names == BOUND_TOOLS
            assert not names & ORGANIZATION_TOOLS
        for tool in tools:
            words = {"id": scene.ben.memory_id, "query": CANARY}
            given = next(operations(one_tool(tool["inputSchema"]), words)).body
            answer = ask(query, "tools/call", name=tool["name"], arguments=given)
            assert answer.status_code == 200, answer.text
            assert f"{CANARY} John" not in answer.text, tool["name"]
    resources = [one["uri"] for one in ask("", "resources/list").json()["result"]["resources"]]
    assert "mnemon://engagement" not in resources
    assert not [uri for uri in resources if CANARY in uri]
    assert "error" in ask("", "resources/read", uri="mnemon://engagement").json()
    assert scene.kept_of_others(jobs=False) == before


def one_tool(schema: dict[str, Any]) -> dict[str, Any]:
    """The tool's arguments as a document of one operation."""
    content = {"application/json": {"schema": {key: part for key, part in schema.items() if key != "$defs"}}}
    return {"$defs": schema.get("$defs", {}), "paths": {"/tool": {"post": {"requestBody": {"content": content}}}}}


def test_a_stored_scope_beyond_the_person_opens_nothing(scene: Scene) -> None:
    """As an earlier version made bound keys, and as somebody may write into the table."""
    with psycopg.connect(scene.server.database_url, autocommit=True) as connection:
        connection.execute("update keys set grants = %s where bound_user = 'ann'", (sorted(ALL_GRANTS),))
    for op in scene.operations(scene.ann.words):
        if RULES[route(op)] is Concerns.ORGANIZATION:
            status, text = scene.call(op, scene.ann)
            assert status == 403, (route(op), status, text)


def test_the_engagement_reaches_no_context_of_a_key_that_may_not_read_it(scene: Scene) -> None:
    ask = {"userId": "ann", "query": "How are we doing?"}
    full = {one["name"] for one in scene.everyone.post("/api/context", json=ask).json()["data"]["layers"]}
    less = {one["name"] for one in scene.bound.post("/api/context", json=ask).json()["data"]["layers"]}
    assert full - less == {"L8"}
