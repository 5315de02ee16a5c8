"""No row crosses from one organization to another, whatever id is named and whichever connection is reused.

The requests are made up from the OpenAPI document, so a new route is covered by itself.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mnemon.access.grants import PERSONAL_GRANTS
from support.openapi import Operation, operations
from support.served import Served, served

CANARY = "zanzibar"
ENDLESS = re.compile(r"/events$")
PREFIXES = {
    "memory_id": "mem", "session_id": "ses", "turn_id": "trn", "run_id": "run", "agent_id": "agt", "todo_id": "tod",
    "job_id": "job", "hypothesis_id": "hyp",
}  # fmt: skip
NAMED = {"user_id": "ann", "persona_id": "coach", "key": "person:zanzibar_john"}
WORDS = {"userId": "ann", "personaId": "coach", "query": CANARY, "q": CANARY}
NOBODY = "01HW0000000000000000000000"


@pytest.fixture
def both(database_url: str, tmp_path: Path) -> Iterator[tuple[Served, httpx2.Client, httpx2.Client]]:
    """Two organizations on one server whose pool is so small that every connection is reused by both."""
    with served(database_url, tmp_path, pool_size=2) as server:
        yield server, server.client("acme"), server.client("globex")


def fill(server: Served, ours: httpx2.Client) -> set[str]:
    """Every room of `acme` holds something with the canary in it; gives all its ids."""
    script = server.script
    told: dict[str, Any] = {
        "memories": [
            {
                "type": "PEOPLE",
                "content": f"{CANARY} John is my cofounder",
                "quote": f"{CANARY} John is my cofounder",
                "entity": {"type": "person", "label": f"{CANARY} John"},
                "factType": "relationship",
            }
        ],
        "todos": [{"op": "add", "kind": "commitment", "content": f"call {CANARY}", "quote": f"I will call {CANARY}"}],
    }
    script.add_answers("Reflection", told, told)  # there are two turns, and either may be reflected first
    script.add_replies(f"Noted, {CANARY}.")
    said = f"{CANARY} John is my cofounder and I will call {CANARY} tomorrow."
    done = [
        ours.put("/api/personas/coach", json={"name": CANARY, "prompt": CANARY}),
        ours.post("/api/chat", json={"userId": "ann", "personaId": "coach", "message": said, "stream": False}),
        ours.post("/api/turns", json={
            "userId": "ann", "messages": [{"role": "user", "content": said}],
            "toolResults": [{"id": "c1", "action": "a", "entities": [{"id": CANARY, "kind": "task", "name": CANARY}]}],
        }),
        ours.post("/api/memories", json={"userId": "ann", "type": "PROFILE", "content": f"Lives in {CANARY}"}),
        ours.post("/api/agents", json={"name": CANARY, "adapter": "model", "skill": CANARY, "defaultPrompt": CANARY}),
    ]  # fmt: skip
    assert [response.status_code // 100 for response in done] == [2] * len(done), [r.text for r in done]
    agent = done[-1].json()["data"]["id"]
    assert ours.post(f"/api/agents/{agent}/runs", json={}).status_code == 202
    server.settled(ours)
    return set(re.findall(r"\b[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}\b", "".join(r.text for r in done) + snapshot(ours)))


def snapshot(client: httpx2.Client) -> str:
    """All an organization can list, without what differs from call to call."""
    document = client.get("/openapi.json").json()
    texts = []
    for op in operations(document, WORDS):
        if op.method == "GET" and not op.placed and op.path.startswith("/api") and not ENDLESS.search(op.path):
            body = client.get(op.path, params=op.query).json()
            texts.append(json.dumps([op.path, body.get("data")], sort_keys=True))
    return "\n".join(texts)


def placed(op: Operation, ids: set[str]) -> Iterator[tuple[str, str]]:
    """The operation's path with each id of the other organization in its place, beside one that never existed."""
    if not op.placed:
        yield op.path, op.path
        return
    (name, *_), candidates = op.placed, []
    if name in PREFIXES:
        candidates = sorted(i for i in ids if i.startswith(PREFIXES[name] + "_")) or [f"{PREFIXES[name]}_{NOBODY}"]
        nobody = f"{PREFIXES[name]}_{NOBODY}"
    else:
        candidates, nobody = [NAMED[name]], "nobody"
    for candidate in candidates[:3]:
        yield op.path.replace(f"{{{name}}}", candidate), op.path.replace(f"{{{name}}}", nobody)


def said(response: httpx2.Response) -> dict[str, Any]:
    body = response.json()
    body.pop("requestId", None)
    return dict(body)


def test_no_operation_leaks_or_changes_anything_of_another_organization(
    both: tuple[Served, httpx2.Client, httpx2.Client],
) -> None:
    server, ours, theirs = both
    ids = fill(server, ours)
    assert {i[:3] for i in ids} >= {"mem", "ses", "trn", "agt", "run", "tod"}, "the test must have something to leak"
    before = snapshot(ours)
    assert CANARY in before
    tried = 0
    for op in operations(theirs.get("/openapi.json").json(), WORDS):
        if ENDLESS.search(op.path) or op.path.startswith("/v1") or op.path == "/api/chat":
            continue
        for path, empty in placed(op, ids):
            ours.get("/api/memories", params={"userId": "ann"})  # the connection carried our organization just before
            headers = {"If-Match": '"1"'}
            response = theirs.request(op.method, path, params=op.query, json=op.body, headers=headers)
            tried += 1
            echoed = json.dumps(op.body) + json.dumps(op.query) + path
            assert response.status_code < 500, (op.method, path, response.text)
            assert CANARY not in response.text.replace(CANARY, "", echoed.count(CANARY)) or response.status_code >= 400
            name = op.placed[0] if op.placed else ""
            if name in PREFIXES:
                nothing = theirs.request(op.method, empty, params=op.query, json=op.body, headers=headers)
                assert (response.status_code, said(response)) == (nothing.status_code, said(nothing)), (op.method, path)
                assert response.status_code == 404, (op.method, path, response.text)
    assert tried > 40
    assert snapshot(ours) == before


def test_streams_of_another_organization_are_not_there(both: tuple[Served, httpx2.Client, httpx2.Client]) -> None:
    server, ours, theirs = both
    ids = fill(server, ours)
    for op in operations(theirs.get("/openapi.json").json(), WORDS):
        if ENDLESS.search(op.path):
            for path, _ in placed(op, ids):
                assert theirs.get(path).status_code == 404, path


def test_a_key_bound_to_one_person_reaches_no_other(both: tuple[Served, httpx2.Client, httpx2.Client]) -> None:
    server, ours, _ = both
    ids = fill(server, ours)
    bound = server.client("acme", user="bob", grants=PERSONAL_GRANTS)
    personal = {"memory_id", "session_id", "turn_id", "todo_id"}
    for op in operations(ours.get("/openapi.json").json(), WORDS):
        if op.placed and op.placed[0] in personal and not ENDLESS.search(op.path):
            for path, _ in placed(op, ids):
                response = bound.request(op.method, path, params=op.query, json=op.body, headers={"If-Match": '"1"'})
                assert response.status_code in (403, 404), (op.method, path, response.text)
        elif "userId" in op.query or (isinstance(op.body, dict) and "userId" in op.body):
            if op.path == "/api/import":
                continue  # its body is an export file, which names the person: see below
            body = op.body
            if op.path == "/api/sources/withdraw" and isinstance(body, dict):
                body = {"userId": body["userId"], "source": "email"}  # of its two names for one thing, one
            response = bound.request(op.method, op.path, params=op.query, json=body)
            assert (response.status_code, response.json()["code"]) == (403, "key_bound_to_user"), (op.method, op.path)


def test_a_bound_key_brings_in_nobody_else(both: tuple[Served, httpx2.Client, httpx2.Client]) -> None:
    server, ours, _ = both
    ours.post("/api/memories", json={"userId": "ann", "type": "PROFILE", "content": "Lives in Austin"})
    exported = ours.get("/api/users/ann/export").content
    refused = server.client("acme", user="bob").post("/api/import", content=exported)
    assert (refused.status_code, refused.json()["code"]) == (403, "key_bound_to_user")
