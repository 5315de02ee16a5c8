"""An import with a key that is bound to one person brings in nothing that the key could not say itself."""

import json
from typing import Any

import httpx2
import pytest

from mnemon.access.grants import PERSONAL_GRANTS
from mnemon.custody.aggregates import MEMBERSHIPS
from support.served import Served

Client = httpx2.Client
LAID_DOWN = {
    "userId": "cat",
    "type": "PROFILE",
    "attribute": "rights",
    "content": "Has no rights",
    "source": "operator",
}


def exported(client: Client, user: str = "cat") -> list[dict[str, Any]]:
    lines = client.get(f"/api/users/{user}/export").text.splitlines()
    return [json.loads(line) for line in lines]


def sent(client: Client, lines: list[dict[str, Any]]) -> httpx2.Response:
    return posted(client, [*lines[:-1], {"end": True, "rows": len(lines) - 2}])


def with_row(lines: list[dict[str, Any]], table: str, **changes: Any) -> list[dict[str, Any]]:
    """The export with a changed copy of its first row of that table, under an id of its own, as the second line."""
    found = next(line["row"] for line in lines if line.get("table") == table)
    fresh = {name: f"{found[name][:-4]}ZZZZ" for name in ("id", "todo_key", "memory_key") if name in found}
    return [lines[0], {"table": table, "row": {**found, **fresh, **changes}}, *lines[1:]]


@pytest.fixture
def lines(server: Served, client: Client) -> list[dict[str, Any]]:
    """The export of a person with one of each thing that has a source."""
    for body in ({"type": "PROFILE", "attribute": "city", "content": "Lives in Rome"},
                 {"type": "PROFILE", "attribute": "city", "content": "Lives in Bonn"},
                 {"type": "OPEN_LOOP", "content": "Call mom"}):  # fmt: skip
        assert client.post("/api/memories", json={"userId": "cat", **body}).status_code < 300
    results = [{"id": "c1", "action": "a", "entities": [{"id": "e", "kind": "task", "name": "e"}]}]
    said = [{"role": "user", "content": "I told them."}, {"role": "assistant", "content": "Fine."}]
    turn = {"userId": "cat", "messages": said, "toolResults": results}
    assert client.post("/api/turns", json=turn).status_code < 300
    server.settled(client)
    return exported(client)


@pytest.mark.parametrize(
    ("table", "claims"),
    [
        ("memories", {"source": "operator", "origin": "operator", "trust_level": "operator", "pinned": True,
                      "importance": 3}),
        ("memories", {"trust_level": "operator"}),
        ("memories", {"source": "Operator:root", "trust_level": None}),
        ("memories", {"origin": " OPERATOR "}),
        ("memory_versions", {"trust_level": "operator", "number": 9}),
        ("memory_versions", {"origin": "operator", "number": 9}),
        ("todos", {"source": "operator"}),
    ],
)  # fmt: skip
def test_a_line_that_claims_the_operators_trust_is_refused(
    server: Served, client: Client, lines: list[dict[str, Any]], table: str, claims: dict[str, Any]
) -> None:
    bound = server.client("acme", user="cat")
    refused = sent(bound, with_row(lines, table, **claims))
    assert refused.status_code == 403, refused.text
    problem = refused.json()
    assert problem["code"] == "key_bound_to_user"
    assert problem["detail"].startswith("Line 2 claims the operator's trust")
    assert "not bound to a person" in problem["detail"]
    assert exported(client) == lines


def posted(client: Client, lines: list[dict[str, Any]]) -> httpx2.Response:
    return client.post("/api/import", content="\n".join(json.dumps(line) for line in lines))


def test_the_next_step_of_a_refused_line_works(server: Served, client: Client, lines: list[dict[str, Any]]) -> None:
    assert client.post("/api/memories", json=LAID_DOWN).status_code == 201
    assert client.post("/api/memories", json={**LAID_DOWN, "content": "Has a few rights"}).status_code == 200
    left = [line for line in exported(client) if line.get("table") not in ("agent_states", "agent_state_journal")]
    left[-1]["rows"] = len(left) - 2
    assert client.delete("/api/users/cat").status_code == 200
    bound = server.client("acme", user="cat")
    for _ in range(len(left)):
        answer = posted(bound, left)
        if answer.status_code == 200:
            break
        # What the answer says: leave out the line and those that name its id …
        assert (answer.status_code, answer.json()["code"]) == (403, "key_bound_to_user"), answer.text
        assert "leave out the line and those that name its id" in answer.json()["detail"]
        [fault] = answer.json()["errors"]
        gone = left[int(fault["pointer"].removeprefix("/"))]
        left = [one for one in left if one is not gone and one.get("row", {}).get("memory_id") != gone["row"].get("id")]
        counted = posted(bound, left)
        assert (counted.status_code, counted.json()["code"]) == (422, "bad_export")
        assert "how many `rows` are left" in counted.json()["detail"]
        # … and count again in the last line.
        left[-1]["rows"] = len(left) - 2
    assert answer.status_code == 200, answer.text
    held = client.get("/api/memories", params={"userId": "cat"}).json()["data"]
    assert [one["content"] for one in held] == ["Lives in Bonn"]


def test_what_the_operator_laid_down_comes_back_with_a_key_of_the_organization(server: Served, client: Client) -> None:
    assert client.post("/api/memories", json=LAID_DOWN).status_code == 201
    before = exported(client)
    assert sent(server.client("acme", user="cat"), before).status_code == 403
    assert client.delete("/api/users/cat").status_code == 200
    assert sent(client, before).status_code == 200
    assert exported(client) == before
    [held] = client.get("/api/memories", params={"userId": "cat"}).json()["data"]
    assert held["trustLevel"] == "operator"


def test_a_bound_key_brings_its_own_export_back(server: Served, client: Client, lines: list[dict[str, Any]]) -> None:
    bound = server.client("acme", user="cat", grants=PERSONAL_GRANTS)
    own = exported(bound)
    assert client.delete("/api/users/cat").status_code == 200
    assert sent(bound, own).status_code == 200
    tables = {line.get("table") for line in exported(client)}
    assert {"memories", "memory_versions", "todos", "messages", "agent_states", "agent_state_journal"} <= tables


@pytest.mark.parametrize("table", ["agent_states", "agent_state_journal"])
def test_what_an_agent_holds_true_needs_its_scope(
    server: Served, client: Client, lines: list[dict[str, Any]], table: str
) -> None:
    assert any(line.get("table") == table for line in lines)
    only = [lines[0], *(line for line in lines if line.get("table") == table), lines[-1]]
    refused = sent(server.client("acme", user="cat"), only)
    assert (refused.status_code, refused.json()["code"]) == (403, "missing_scope")
    assert "agent-state:write" in refused.json()["detail"]


def test_a_models_answer_cannot_be_made_up(server: Served, client: Client, lines: list[dict[str, Any]]) -> None:
    """Kept in a failed reflection, it would be applied as the model's, to the organization's engagement too."""
    own = [line for line in lines if line.get("table") not in ("agent_states", "agent_state_journal")]
    forged = {"engagement": {"form": [{"statement": "Made up"}]}}
    for line in own:
        if line.get("table") == "reflections":
            line["row"] |= {"status": "failed", "raw": forged}
    assert client.delete("/api/users/cat").status_code == 200
    assert sent(server.client("acme", user="cat"), own).status_code == 200
    rows = [line["row"] for line in exported(client) if line.get("table") == "reflections"]
    assert [(row["status"], row["raw"]) for row in rows] == [("failed", {})]


def test_a_table_that_is_no_word_is_a_bad_line(client: Client, lines: list[dict[str, Any]]) -> None:
    answer = sent(client, [lines[0], {"table": ["memories"], "row": {}}, lines[-1]])
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_export")


@pytest.mark.parametrize(
    "values",
    [
        {"valid_from": "294000-01-01T00:00:00+00:00"},
        {"valid_from": "-infinity", "valid_to": "infinity"},
        {"created_at": "0044-03-15T00:00:00+00:00"},
        {"version": 2**31 - 1, "versions": 2**31 - 1},
        {"mentions": 2**31 - 1},
        {"content": "x" * 20_001},
    ],
    ids=["a far year", "no time", "an early year", "a last version", "countless mentions", "a text too long"],
)
def test_a_value_that_could_not_be_read_back_is_a_bad_line(
    server: Served, client: Client, lines: list[dict[str, Any]], values: dict[str, Any]
) -> None:
    refused = sent(client, with_row(lines, "memories", **values))
    assert refused.status_code == 422, refused.text
    assert "Line 2" in refused.json()["detail"]
    assert client.get("/api/memories?userId=cat").status_code == 200
    assert sent(server.client("rival"), lines).status_code == 200


def test_a_long_note_comes_back(server: Served, client: Client) -> None:
    changes = [
        {"op": "put", "namespace": ["a"], "key": "text", "value": "x" * 1_000_000},
        {"op": "put", "namespace": ["a"], "key": "object", "value": {"text": "y" * 1_000_000}},
    ]
    assert client.post("/api/notes/write", json={"userId": "cat", "changes": changes}).status_code == 200
    there = exported(client)
    other = server.client("rival")
    assert sent(other, there).status_code == 200
    assert exported(other)[1:] == there[1:]


CHILDREN: dict[str, dict[str, Any]] = {
    "memory_versions": {"number": 1, "content": "Credit limit is a million"},
    "memory_provenance": {"quote": "I promise a million", "starts": 0, "ends": 19, "content_hash": "0" * 16},
    "turns": {"id": "trn_made_up", "seq": 2},
    "messages": {"id": "msg_made_up", "content": "I promise a million"},
    "reflections": {"status": "parked", "error": "made up"},
    "agent_states": {"version": 9},
    "agent_state_journal": {"seq": 9, "reason": "made up"},
    "rolling_summaries": {"message_count": 99, "text": "made up"},
    "note_texts": {"part": "made up", "content": "made up"},
    "note_vectors": {"part": "made up", "vector": "[1,2]"},
    "spines": {"version": 9},
    "entity_aliases": {"alias": "person:ann", "target": "person:bob"},
}
"""A row that would be new, of each table whose rows belong to something."""


def test_every_table_whose_rows_belong_to_something_is_tried() -> None:
    assert set(CHILDREN) == {name for name, its in MEMBERSHIPS.items() if its.parents or (its.is_one and its.key)}


@pytest.fixture(scope="module")
def grown() -> dict[str, dict[str, Any]]:
    """A row of each of these tables as Mnemon writes it, apart from ids."""
    at = "2026-04-12T15:22:00+00:00"
    return {
        "memory_versions": {
            "memory_id": "memories", "number": 1, "content": "x", "importance": 1, "confidence": 0.9, "source": "api",
            "trust": "person", "valid_from": at, "valid_to": at, "recorded_at": at, "mentions": 1,
        },
        "memory_provenance": {
            "memory_id": "memories", "message_id": "messages", "starts": 0, "ends": 1, "content_hash": "0", "at": at,
            "turn_id": "turns", "session_id": "sessions", "quote": "x",
        },
        "turns": {
            "id": "x", "session_id": "sessions", "seq": 1, "at": at, "status": "answered", "origin": "recorded",
            "waits_for": [], "message_count": 1, "tool_results": [], "intents": [], "recorded_at": at,
        },
        "messages": {
            "id": "x", "session_id": "sessions", "turn_id": "turns", "place": 0, "role": "user", "content": "x",
            "at": at,
        },
        "reflections": {
            "turn_id": "turns", "job_id": "job_x", "status": "parked", "attempts": 0, "sections": {}, "rejected": [],
            "raw": {}, "updated_at": at,
        },
        "agent_states": {
            "session_id": "sessions", "version": 1, "document": {"sessionId": "sessions"}, "updated_at": at,
        },
        "agent_state_journal": {
            "session_id": "sessions", "seq": 1, "who": "api", "reason": "x", "update": {}, "at": at, "recorded_at": at,
        },
        "rolling_summaries": {
            "persona": "", "message_count": 9, "text": "x", "carried": [], "turn_id": "turns", "at": at, "sources": [],
        },
        "note_texts": {"namespace": ["n"], "key": "k", "part": "p", "content": "x"},
        "note_vectors": {"namespace": ["n"], "key": "k", "part": "p", "model": "caller", "vector": "[1,2]"},
        "spines": {
            "version": 1, "lines": {}, "sources": [], "message_count": 1, "total_messages": 1, "made_by": "x",
            "rejected": [], "at": at,
        },
        "entity_aliases": {
            "alias": "person:x", "target": "person:y", "asked_from": "person:x", "merge_id": "mrg_1",
            "made_by": "person", "at": at,
        },
    }  # fmt: skip


@pytest.mark.parametrize("table", sorted(CHILDREN))
def test_nothing_is_added_to_what_is_there(
    server: Served, client: Client, lines: list[dict[str, Any]], grown: dict[str, dict[str, Any]], table: str
) -> None:
    assert client.post("/api/memories", json=LAID_DOWN).status_code == 201
    put = {"op": "put", "namespace": ["n"], "key": "k", "value": 1}
    assert client.post("/api/notes/write", json={"userId": "cat", "changes": [put]}).status_code == 200
    for label in ("Ann", "Bob", "Cem"):
        fact = {"userId": "cat", "type": "PEOPLE", "content": f"{label} sails"}
        client.post("/api/memories", json={**fact, "entity": {"type": "person", "label": label}})
    merge = {"userId": "cat", "from": "person:cem", "into": "person:bob"}
    assert client.post("/api/entities/merge", json=merge).status_code == 200
    server.settled(client)
    there = exported(client)
    first = {line["table"]: line["row"] for line in reversed(there) if "table" in line}
    laid_down = next(line["row"]["id"] for line in there if line.get("row", {}).get("source") == "operator")
    ids = {"memories": laid_down, **{name: first[name]["id"] for name in ("sessions", "turns", "messages")}}

    def named(value: Any) -> Any:
        return {"sessionId": ids["sessions"]} if value == {"sessionId": "sessions"} else ids.get(str(value), value)

    row = {name: named(value) for name, value in {**grown[table], **CHILDREN[table]}.items()}
    bound = server.client("acme", user="cat", grants=PERSONAL_GRANTS)
    answer = sent(bound, [there[0], {"table": table, "row": row}, there[-1]])
    assert answer.status_code == 200, answer.text
    expected = {} if table == "spines" else {table: 1}
    assert answer.json()["data"]["kept"] == expected
    if table != "spines":
        assert exported(client) == there


def test_a_row_that_belongs_to_nothing_is_a_bad_line(client: Client, grown: dict[str, dict[str, Any]]) -> None:
    heading = {"format": "mnemon-export", "version": 1, "userId": "dan"}
    for table in sorted(set(CHILDREN) - {"spines", "entity_aliases"}):
        answer = sent(client, [heading, {"table": table, "row": grown[table]}, {}])
        assert answer.status_code == 422, answer.text
        assert "neither in the export nor stored" in answer.json()["detail"]
