"""An export with a row of every table, its fields one by one with a value that Mnemon never writes, and every read."""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import httpx2

from support.histories import History, turn
from support.served import Served

Client = httpx2.Client
Line = dict[str, Any]
VALUES: tuple[Any, ...] = (
    None, 10**30, 2**62, -1, 30_000, "", "a\0b", "infinity", "NaN", True, {"a": 1}, {}, [], ["x"], [[[]]], [None],
    "x" * 300_000, "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2026-11-19", "operator", "ARCHIVED", "\u001b[31m",
    {"one_liner": 5}, 1.5, -0.0, {"items": [5]}, "mem_01M7TQMSHN7KN0CFCSXQWW71MH", "\ud800", ["x" * 300_000],
    {"input_tokens": -(10**30)}, {"code": "x"}, [{"what": 1}], "answering", "1e400",
)  # fmt: skip
"""What a column could hold, or not."""


def rich_export(server: Served, client: Client, bound: Client, user: str) -> list[Line]:
    """The lines of a person's export, with a row of most tables, all written with a key that is bound to them."""
    history = History(bound, user, Random(7))
    for _ in range(30):
        history.step()
    # After what is drawn, which may forget or split what comes here.
    for number in range(24):
        bound.post("/api/turns", json=turn(user, f"I have seen {number} ships. I will call Mia."))
    bound.post("/api/turns", json=turn(user, "I like tea."))
    for label in ("Ann Lee", "Bob Ray", "Cem Oz"):
        fact = {"userId": user, "type": "PEOPLE", "content": f"{label} sails", "source": "tool:crm"}
        bound.post("/api/memories", json={**fact, "entity": {"type": "person", "label": label}})
    pair = {"userId": user, "from": "person:ann_lee"}
    bound.post("/api/entities/merge", json={**pair, "into": "person:bob_ray"})
    bound.post("/api/entities/split", json={**pair, "key": "person:bob_ray"})
    bound.post("/api/entities/merge", json={**pair, "into": "person:cem_oz"})
    for part in ({"texts": {"p": "words"}}, {"vectors": {"p": [0.5, 1.0]}}):
        put = {"op": "put", "namespace": ["n"], "key": next(iter(part)), "value": {"a": 1}, "ttl_minutes": 60, **part}
        bound.post("/api/notes/write", json={"userId": user, "changes": [_camel(put)]})
    server.settled(client)
    return [json.loads(line) for line in bound.get(f"/api/users/{user}/export").text.splitlines()]


def _camel(put: Line) -> Line:
    return {"ttlMinutes" if name == "ttl_minutes" else name: value for name, value in put.items()}


def odd_lines(lines: list[Line]) -> Iterator[tuple[str, str, Any, list[Line]]]:
    """Table, field and value, and the export in which the first row of the table has that value there."""
    seen: set[str] = set()
    for place, line in enumerate(lines):
        table = line.get("table")
        if table is None or table in seen:
            continue
        seen.add(table)
        for field in line["row"]:
            for value in VALUES:
                changed = [*lines]
                changed[place] = {**line, "row": {**copy.copy(line["row"]), field: value}}
                yield table, field, value, changed


def body_of(lines: list[Line]) -> bytes:
    """The lines as a request's body."""
    return "\n".join(map(json.dumps, lines)).encode()


def every_read(client: Client, user: str, lines: list[Line]) -> Iterator[httpx2.Response]:
    """Every read of what the person has, and writes that read it first, with the answers."""
    ids = {
        table: [line["row"]["id"] for line in lines if line.get("table") == table and "id" in line["row"]]
        for table in ("memories", "sessions", "turns")
    }
    memory, session = ids["memories"][0], ids["sessions"][0]
    whose = {"userId": user}
    for path in (
        f"memories/{memory}", f"memories/{memory}/history", "memories", "sessions", f"sessions/{session}",
        f"sessions/{session}/messages", f"sessions/{session}/agent-state", f"sessions/{session}/agent-state/history",
        "session-state", "session-state/rolling-summaries", f"users/{user}/seed", f"users/{user}/spine", "todos",
        "entities", "entities/suggestions", "sources", "agent-state/hit-rate", f"users/{user}/curator-runs",
        f"turns/{ids['turns'][0]}", f"users/{user}/export", "jobs",
    ):  # fmt: skip
        yield client.get(f"/api/{path}", params=whose)
    yield client.get("/api/sources/preview", params={**whose, "source": "tool:crm"})
    yield client.post("/api/notes/search", json={**whose, "namespace": ["n"], "query": "words"})
    address = [{"namespace": ["n"], "key": key} for key in ("texts", "vectors")]
    yield client.post("/api/notes/read", json={**whose, "notes": address, "refresh": True})
    yield client.post("/api/context", json={**whose, "sessionId": session, "query": "where does Ann sail?"})
    search = {**whose, "query": "Austin", "kinds": ["memories", "messages"], "explain": True}
    yield client.post("/api/memories/search", json=search)
    yield client.post("/api/memories/search", json={**search, "ranking": "blended", "asOf": "2026-11-19T20:30:00Z"})
    yield client.post("/api/turns", json={**turn(user, "I have seen Rome."), "sessionId": session})
    yield client.post(f"/api/turns/{ids['turns'][0]}/reflect")
    for version in (1, 2):
        yield client.post(f"/api/memories/{memory}/restore", json={"version": version})
    yield client.patch(f"/api/memories/{memory}", json={"content": "I have seen Oslo", "pinned": True, "reason": "x"})
    yield client.patch(f"/api/memories/{memory}", json={"pinned": False, "reason": "x"})
    yield client.put(f"/api/users/{user}/seed", json={"profile": ["I collect stamps."]})
    yield client.post(f"/api/sessions/{session}/close")
    yield client.post("/api/sources/withdraw", json={**whose, "source": "tool:crm"})
    yield client.delete(f"/api/memories/{memory}")
