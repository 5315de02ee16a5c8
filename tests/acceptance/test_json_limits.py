"""JSON from outside: what nests too deep or holds a number that cannot be stored is refused at every door."""

import json
from pathlib import Path

import httpx2
import psycopg
import pytest
from fastapi import APIRouter
from starlette.routing import Route

from mnemon.api.door import JsonRoute
from mnemon.api.routers import API_ROUTERS
from mnemon.input_checks import MAX_JSON_DEPTH
from support.served import Served

MIGRATION = Path(__file__).parents[2] / "src/mnemon/custody/migrations/0095_kept_replies_and_deep_notes.sql"
DEEP_NOTES = MIGRATION.read_text().partition("update notes")
HUGE = {"1e400": "json_number_too_large", "-1e400": "json_number_too_large", "9" * 309: "json_number_too_large"}
NO_JSON = {"NaN": "malformed_json", "Infinity": "malformed_json", "-Infinity": "malformed_json"}
WITHIN = ("[" * 40 + "{}" + "]" * 40, str(2**63), str(-(2**70)), "1.7e308")


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


BEYOND = {
    **{nested(levels): "json_too_deep" for levels in (MAX_JSON_DEPTH + 1, 500, 900, 5_000, 100_000)},
    '{"a":' * 500 + "1" + "}" * 500: "json_too_deep",
    "9" * 5_000: "json_number_too_large",
    **HUGE,
    **NO_JSON,
}


def bodies(value: str) -> dict[str, str]:
    """A body for every endpoint that takes any JSON, with the value in the place of it."""
    message = '{"role": "user", "content": "hello"}'
    said = f'"userId": "ann", "messages": [{message}]'
    note = f'"namespace": ["a"], "key": "k", "value": {value}'
    schema = f'{{"type": "object", "default": {value}}}'
    call = f'{{"type": "function", "function": {{"name": "f", "parameters": {schema}}}}}'
    return {
        "/api/turns": f'{{{said}, "toolResults": [{{"id": "r", "action": "look", "output": {value}}}]}}',
        "/api/notes/write": f'{{"userId": "ann", "changes": [{{"op": "put", {note}}}]}}',
        "/api/notes/search": f'{{"userId": "ann", "conditions": [{{"path": ["x"], "test": "eq", "value": {value}}}]}}',
        "/api/agents": f'{{"name": "Scout", "adapterConfig": {{"memoryEnabled": {value}}}}}',
        "/v1/chat/completions": f'{{"model": "m", "messages": [{message}], "tools": [{call}]}}',
        "/api/memories": f'{{"userId": "ann", "type": "PROFILE", "content": "Hi", "importance": {value}}}',
    }


def sent(client: httpx2.Client, path: str, body: str) -> httpx2.Response:
    return client.post(path, content=body.encode(), headers={"Content-Type": "application/json"})


@pytest.mark.parametrize("value", BEYOND, ids=lambda value: f"{value[:8]}-{len(value)}")
def test_every_door_refuses_what_is_beyond_the_limits(client: httpx2.Client, value: str) -> None:
    for path, body in bodies(value).items():
        answer = sent(client, path, body)
        told = answer.json()
        assert answer.status_code == (400 if BEYOND[value] == "malformed_json" else 422), (path, answer.text[:300])
        assert told["code"] == BEYOND[value], path
        assert "Send" in told["detail"] or "Flatten" in told["detail"], told["detail"]


@pytest.mark.parametrize("value", WITHIN)
def test_what_is_within_the_limits_is_kept_as_it_was_sent(client: httpx2.Client, value: str) -> None:
    for path in ("/api/turns", "/api/notes/write"):
        answer = sent(client, path, bodies(value)[path])
        assert answer.status_code in (200, 202), answer.text
    asked = {"userId": "ann", "notes": [{"namespace": ["a"], "key": "k"}]}
    [held] = client.post("/api/notes/read", json=asked).json()["data"]["notes"]
    whole = isinstance(held["value"], int)  # PostgreSQL gives 1.7e308 back as an integer
    assert (float(held["value"]) if whole else held["value"]) == json.loads(value)


def test_the_arguments_of_a_tool_that_a_client_resends_may_be_anything(client: httpx2.Client) -> None:
    for arguments in (nested(5_000), "1e400", '{"x": 1e400}', "NaN", "{"):
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
        messages = [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": arguments},
        ]
        answer = client.post("/v1/chat/completions", json={"model": "m", "messages": messages, "user": "ann"})
        assert answer.status_code < 500, (arguments[:10], answer.text)


def test_mcp_refuses_arguments_beyond_the_limits(client: httpx2.Client) -> None:
    for value in (nested(150), "1e400", "9" * 400, "NaN"):
        call = f'{{"name": "report_result", "arguments": {{"id": "r", "action": "look", "output": {value}}}}}'
        answer = client.post(
            "/mcp",
            content=f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {call}}}'.encode(),
            headers={"Content-Type": "application/json", "Accept": "application/json, text/event-stream"},
        )
        assert answer.status_code < 500, answer.text
        told = answer.json()
        assert "error" in told or told["result"]["isError"], answer.text


def test_an_import_says_which_line_cannot_be_stored(client: httpx2.Client) -> None:
    heading = json.dumps({"format": "mnemon-export", "version": 1, "userId": "ann"})
    for value in (nested(500), "1e400"):
        answer = client.post("/api/import", content=f"{heading}\n{value}\n".encode())
        assert (answer.status_code, answer.json()["code"]) == (422, "bad_export"), answer.text


@pytest.mark.alone
def test_a_note_that_was_too_deep_is_readable_after_the_migration(server: Served, client: httpx2.Client) -> None:
    for key in ("shallow", "deep"):
        change = {"op": "put", "namespace": ["a"], "key": key, "value": [1]}
        assert client.post("/api/notes/write", json={"userId": "ann", "changes": [change]}).status_code == 200
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        connection.execute("update notes set value = %s::jsonb where key = 'deep'", (nested(900),))
        connection.execute("update notes set value = %s::jsonb where key = 'shallow'", (nested(MAX_JSON_DEPTH),))
        connection.execute("".join(DEEP_NOTES[1:]))
    found = client.post("/api/notes/search", json={"userId": "ann", "namespace": ["a"], "order": "key"})
    assert found.status_code == 200, found.text
    values = {note["key"]: note["value"] for note in found.json()["data"]["notes"]}
    assert values == {"deep": nested(900), "shallow": json.loads(nested(MAX_JSON_DEPTH))}


@pytest.mark.parametrize("router", API_ROUTERS)
def test_every_endpoint_reads_its_body_within_the_limits(router: APIRouter) -> None:
    routes = [route for route in router.routes if isinstance(route, Route)]
    assert routes
    assert [route.path for route in routes if not isinstance(route, JsonRoute)] == []
