"""The MCP door, through the official client."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent, TextResourceContents

from mnemon.access.grants import Grant
from support.bounds import HANGS_S
from support.served import Served

TOOLS = {
    "remember",
    "recall",
    "forget",
    "get_context",
    "get_engagement",
    "get_state",
    "list_todos",
    "expect",
    "report_result",
}
"""The contract's nine but `get_my_decisions`, which is for the run of an agent."""


def text_of(result: CallToolResult) -> str:
    """The first words of what a tool gave back."""
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


async def words_at(session: ClientSession, uri: str) -> str:
    """What the resource says."""
    first = (await session.read_resource(uri)).contents[0]
    assert isinstance(first, TextResourceContents)
    return first.text


@asynccontextmanager
async def connected(server: Served, query: str = "?userId=ann", **options: Any) -> AsyncIterator[ClientSession]:
    key = await asyncio.to_thread(lambda: server.key("acme", **options))
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=HANGS_S)
    async with (
        http,
        streamable_http_client(f"{server.url}/mcp{query}", http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        hello = await session.initialize()
        assert hello.server_info.name == "orchestrator"
        yield session


async def test_every_tool_of_the_contract_is_offered(server: Served) -> None:
    async with connected(server) as session:
        tools = (await session.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS
    assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools)


async def test_a_key_is_offered_what_its_scopes_allow(server: Served) -> None:
    async with connected(server, grants=frozenset({Grant.MEMORY_READ})) as session:
        assert {tool.name for tool in (await session.list_tools()).tools} == {"recall", "list_todos"}
        refused = await session.call_tool("remember", {"content": "x"})
    assert refused.is_error


async def test_what_is_remembered_is_recalled_and_forgotten(server: Served) -> None:
    async with connected(server) as session:
        stored = await session.call_tool("remember", {"content": "Lives in Austin, Texas", "attribute": "lives_in"})
        assert not stored.is_error, stored.content
        found = await session.call_tool("recall", {"query": "where does she live"})
        (hit,) = found.structured_content["results"]
        assert hit["content"] == "Lives in Austin, Texas"
        assert json.loads(text_of(found)) == found.structured_content
        gone = await session.call_tool("forget", {"id": hit["id"]})
        assert gone.structured_content["removed"]["memories"] == 1
        assert (await session.call_tool("recall", {"query": "Austin"})).structured_content["results"] == []


async def test_a_wrong_call_is_explained_to_the_model(server: Served) -> None:
    async with connected(server) as session:
        missing = await session.call_tool("recall", {})
        unknown = await session.call_tool("forget", {"id": "mem_01HW0000000000000000000000"})
        no_tool = await session.call_tool("nope", {})
    assert missing.is_error
    assert "query" in text_of(missing)
    assert text_of(missing).endswith("(invalid_arguments)")
    assert no_tool.is_error
    assert text_of(no_tool).endswith("(no_such_tool)")
    assert unknown.is_error
    assert "not_found" in text_of(unknown)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"query": 1e400}', "The JSON has a number beyond 1.8e308. Send it as a text. (json_number_too_large)"),
        ('{"query": NaN}', "(malformed_json)"),
        (
            '{"query": ' + "[" * 120 + "]" * 120 + "}",
            "Flatten it, or send the inner part as one text. (json_too_deep)",
        ),
        ('{"query": "\\u0000"}', "The arguments do not fit: has a NUL character; remove it. (invalid_arguments)"),
    ],
    ids=["large", "NaN", "deep", "NUL"],
)
def test_arguments_beyond_the_limits_are_told_plainly_with_their_code(
    server: Served, arguments: str, told: str
) -> None:
    params = f'{{"name": "recall", "arguments": {arguments}}}'
    call = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    answer = server.client().post("/mcp?userId=ann", content=call, headers=headers)
    assert told in answer.text


def test_a_set_of_tools_that_is_not_there_is_refused(server: Served) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    refused = server.client().post("/mcp?userId=ann&tools=bogus", json=call)
    assert refused.status_code == 422
    assert "`tools` in the address is `server-memory`" in refused.json()["error"]["message"]


async def test_decisions_are_an_agents_own_and_a_key_is_told_so(server: Served) -> None:
    async with connected(server) as session:
        refused = await session.call_tool("get_my_decisions", {})
    assert refused.is_error
    assert "not_an_agent" in text_of(refused)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("expect", {"action": "a\0b", "expected_outcome": "two tasks"}),
        ("expect", {"action": "a", "expected_outcome": "two", "expected_ids": ["t\0"]}),
        ("report_result", {"action": "a", "entities": [{"id": "t1", "kind": "task", "name": "\0"}]}),
        ("remember", {"content": "Lives in \0", "about": {"type": "person", "label": "Ann"}}),
        ("recall", {"query": "\0"}),
        ("forget", {"id": "\0"}),
        ("get_context", {"query": "\0"}),
    ],
)
async def test_text_that_no_database_holds_is_refused_with_the_reason(
    server: Served, tool: str, arguments: dict[str, Any]
) -> None:
    client = await asyncio.to_thread(server.client)
    turn = {"userId": "ann", "messages": [{"role": "user", "content": "Hi"}]}
    session_id = (await asyncio.to_thread(lambda: client.post("/api/turns", json=turn))).json()["data"]["sessionId"]
    async with connected(server, f"?userId=ann&sessionId={session_id}") as session:
        refused = await session.call_tool(tool, arguments)
    assert refused.is_error
    assert "NUL" in text_of(refused)


async def test_expectations_are_verified_in_the_named_session(server: Served) -> None:
    client = await asyncio.to_thread(server.client)
    turn = {"userId": "ann", "messages": [{"role": "user", "content": "Hi"}]}
    session_id = (await asyncio.to_thread(lambda: client.post("/api/turns", json=turn))).json()["data"]["sessionId"]
    async with connected(server, f"?userId=ann&sessionId={session_id}") as session:
        wish = {"action": "create_tasks", "expected_outcome": "two tasks", "expected_count": 2}
        assert not (await session.call_tool("expect", wish)).is_error
        told = await session.call_tool("report_result", {"action": "create_tasks", "count": 1})
        assert not told.is_error, told.content
        again = await session.call_tool("report_result", {"action": "create_tasks", "count": 2})
    state = (await asyncio.to_thread(lambda: client.get(f"/api/sessions/{session_id}/agent-state"))).json()["data"]
    [failed] = state["expectations"]
    assert failed["status"] == "failed"
    told_back = {"id": failed["id"], "expected": "two tasks", "status": "failed"}
    discrepancy = 'Expected "two tasks" but got "count 1"'
    verdict = {"reported": "create_tasks", "expectation": told_back, "discrepancy": discrepancy}
    assert told.structured_content == verdict
    assert again.structured_content == {"reported": "create_tasks", "expectation": None}, "none was pending"
    [assumed] = state["assumptions"]
    assert assumed["hypothesis"] == 'Expected "two tasks" but got "count 1"'


async def test_a_tool_that_answers_an_expectation_of_itself_tells_how_it_turned_out(server: Served) -> None:
    client = await asyncio.to_thread(server.client)
    turn = {"userId": "ann", "messages": [{"role": "user", "content": "Hi"}]}
    session_id = (await asyncio.to_thread(lambda: client.post("/api/turns", json=turn))).json()["data"]["sessionId"]
    async with connected(server, f"?userId=ann&sessionId={session_id}") as session:
        wish = {"action": "list_todos", "expected_outcome": "no todo is open", "expected_count": 0}
        await session.call_tool("expect", wish)
        first = (await session.call_tool("list_todos", {})).structured_content
        second = (await session.call_tool("list_todos", {})).structured_content
    assert first is not None
    assert second is not None
    assert first["expectation"]["status"] == "confirmed"
    assert "expectation" not in second


async def test_resources_show_the_engagement_the_spine_and_entity_cards(server: Served) -> None:
    async with connected(server) as session:
        await session.call_tool("remember", {"content": "Alice Chen runs design", "type": "PEOPLE",
                                             "about": {"type": "person", "label": "Alice Chen"}})  # fmt: skip
        uris = {str(resource.uri) for resource in (await session.list_resources()).resources}
        assert uris == {"mnemon://engagement", "mnemon://spine", "mnemon://entities/person:alice_chen"}
        assert (await words_at(session, "mnemon://entities/person:alice_chen")).startswith("[person:alice_chen]")
        assert await words_at(session, "mnemon://engagement") == "null"


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer nonsense"}])
def test_without_a_key_nothing_is_answered(server: Served, headers: dict[str, str]) -> None:
    response = httpx2.post(
        f"{server.url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=headers, timeout=HANGS_S
    )
    assert response.status_code == 401
    assert "mnk_" in response.json()["error"]["message"]


async def test_a_bound_key_names_nobody_else(server: Served) -> None:
    key = await asyncio.to_thread(lambda: server.key("acme", user="bob"))
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=HANGS_S) as http:
        refused = await http.post(f"{server.url}/mcp?userId=ann", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert refused.status_code == 403


async def test_a_bound_key_over_stdio_needs_no_name_of_its_person(server: Served, tmp_path: Path) -> None:
    key = await asyncio.to_thread(lambda: server.key("acme", user="bob"))
    program = StdioServerParameters(
        command=str(Path(sys.executable).parent / "mnemon"),
        args=["mcp", "--key", key],
        env={**os.environ, "MNEMON_DATABASE_URL": server.database_url, "MNEMON_DATA_DIR": str(tmp_path)},
    )
    async with stdio_client(program) as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        await session.call_tool("remember", {"content": "Is a morning person"})
    with httpx2.Client(base_url=server.url, headers={"Authorization": f"Bearer {key}"}, timeout=HANGS_S) as client:
        (held,) = client.get("/api/memories", params={"userId": "bob"}).json()["data"]
        own = client.get("/api/key").json()["data"]
    assert held["content"] == "Is a morning person"
    assert (own["userId"], "memory:write" in own["scopes"], own["expiresAt"]) == ("bob", True, None)


async def test_the_same_over_stdio(database_url: str, tmp_path: Path) -> None:
    program = StdioServerParameters(
        command=str(Path(sys.executable).parent / "mnemon"),
        args=["mcp", "--user", "ann", "--org", "acme"],
        env={"MNEMON_DATABASE_URL": database_url, "MNEMON_DATA_DIR": str(tmp_path)},
    )
    made = await asyncio.create_subprocess_exec(
        program.command, "orgs", "create", "acme", env=program.env, stdout=asyncio.subprocess.DEVNULL
    )
    assert await made.wait() == 0
    async with stdio_client(program) as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        await session.call_tool("remember", {"content": "Is a morning person"})
        found = await session.call_tool("recall", {"query": "morning"})
    assert found.structured_content["results"][0]["content"] == "Is a morning person"


async def piped(lines: bytes, database_url: str, tmp_path: Path) -> list[dict[str, Any]]:
    """Return what `mnemon mcp` answers to these lines; it ends by itself."""
    program = str(Path(sys.executable).parent / "mnemon")
    environment = {**os.environ, "MNEMON_DATABASE_URL": database_url, "MNEMON_DATA_DIR": str(tmp_path)}
    made = await asyncio.create_subprocess_exec(
        program, "orgs", "create", "acme", env=environment, stdout=asyncio.subprocess.DEVNULL
    )
    assert await made.wait() == 0
    process = await asyncio.create_subprocess_exec(
        *(program, "mcp", "--user", "ann", "--org", "acme"),
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    written, _ = await asyncio.wait_for(process.communicate(lines), HANGS_S)
    assert process.returncode == 0
    return [json.loads(line) for line in written.splitlines()]


HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "printf", "version": "1"}}
OPENED = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
DEEP = '{"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"a": ' + "[" * 300 + "]" * 300 + "}}"
RECALL = '{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "recall", "arguments": %s}}'
REFUSED_LINES = (
    (b"nope", -32700, "malformed_json"),
    (b"{", -32700, "malformed_json"),
    (b"NaN", -32700, "malformed_json"),
    (b'"\xff"', -32700, "malformed_json"),
    (b'{"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"x": NaN}}', -32700, "malformed_json"),
    (b"[]", -32600, "malformed_message"),
    (b'{"id": 7}', -32600, "malformed_message"),
    (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, "malformed_message"),
    (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600, "malformed_message"),
    (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600, "malformed_message"),
    (b'{"jsonrpc": "2.0", "id": 3, "method": "ping", "params": []}', -32600, "malformed_message"),
    (DEEP.encode(), -32600, "json_too_deep"),
    (b'{"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"x": 1e999}}', -32600, "json_number_too_large"),
    ((RECALL % '{"query": "boat", "limit": 1e999}').encode(), -32600, "json_number_too_large"),
    ((RECALL % '{"query": "\\ud800"}').encode(), -32600, "invalid_request"),
)
"""Lines that are no message, with the number and the code of their error, the same as over HTTP."""


async def test_a_line_over_stdio_that_is_no_message_is_answered_as_over_http(
    server: Served, database_url: str, tmp_path: Path
) -> None:
    ping = b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}'
    lines = [OPENED.encode(), b"", *(line for line, *_ in REFUSED_LINES), b"  ", ping]
    answers = await piped(b"\n".join(lines), database_url, tmp_path)
    refused = [one["error"] for one in answers if one["id"] is None]
    assert [(one["code"], one["message"].rpartition(" ")[2]) for one in refused] == [
        (number, f"({code})") for _, number, code in REFUSED_LINES
    ]
    assert sorted(one["id"] for one in answers if one["id"] is not None) == [1, 2]
    key = await asyncio.to_thread(lambda: server.key("acme"))
    over_http = [(await asyncio.to_thread(call, line, server, key)).json() for line, *_ in REFUSED_LINES]
    assert over_http == [{"jsonrpc": "2.0", "id": None, "error": one} for one in refused]


async def test_requests_that_were_read_before_stdin_ended_are_answered(database_url: str, tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "remember", "arguments": {"content": "Owns a boat"}}},
        {"id": 3, "method": "tools/call", "params": {"name": "list_todos", "arguments": {}}},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in messages)
    answers = {one["id"]: one for one in await piped(lines.encode(), database_url, tmp_path)}
    assert sorted(answers) == [1, 2, 3]
    assert answers[2]["result"]["structuredContent"]["content"] == "Owns a boat"
    assert "error" not in answers[3]


async def test_what_needs_a_session_says_where_to_name_it(server: Served) -> None:
    async with connected(server) as session:
        expected = await session.call_tool("expect", {"action": "save", "expected_outcome": "a file"})
        reported = await session.call_tool("report_result", {"action": "save"})
    for refused in (expected, reported):
        assert "(no_session)" in text_of(refused)
        assert "/mcp?userId=…&sessionId=…" in text_of(refused)


def call(message: str | bytes, server: Served, key: str, **headers: str) -> httpx2.Response:
    """A message to `/mcp` as a program without a library sends it."""
    sent = {"Authorization": f"Bearer {key}", "Accept": "application/json", "Content-Type": "application/json"}
    return httpx2.post(f"{server.url}/mcp?userId=ann", content=message, headers=sent | headers, timeout=HANGS_S)


REMEMBER = '"method": "tools/call", "params": {"name": "remember", "arguments": {"content": "Owns a boat"}}'


@pytest.mark.parametrize(
    ("message", "step"),
    [
        *((f'{{"jsonrpc": "2.0", "id": {odd}, {REMEMBER}}}', "a string or an integer")
          for odd in ('{"a": 1}', "1e400", "null", "[1]", "true", "1.5")),
        ("null", "Send an object"),
        ("{}", "Send an object"),
        ('{"id": 1, "method": "tools/list"}', "Send an object"),
        ("[]", "not a batch"),
        (f'[{{"jsonrpc": "2.0", "id": 1, {REMEMBER}}}]', "not a batch"),
        ('{"jsonrpc": "2.0", "id": 1}', "names no `method`"),
        ('{"jsonrpc": "2.0", "id": 1, "method": 7}', "names no `method`"),
        ('{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": []}', "are an object"),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused_in_plain_words(server: Served, message: str, step: str) -> None:
    key = server.key("acme")
    refused = call(message, server, key)
    assert refused.status_code == 400, refused.text
    body = refused.json()
    assert (body["jsonrpc"], body["id"], body["error"]["code"]) == ("2.0", None, -32600)
    assert step in body["error"]["message"]
    assert body["error"]["message"].endswith(" (malformed_message)")
    with httpx2.Client(base_url=server.url, headers={"Authorization": f"Bearer {key}"}, timeout=HANGS_S) as client:
        assert client.get("/api/memories", params={"userId": "ann"}).json()["data"] == []


@pytest.mark.parametrize("body", ["", "{", '{"jsonrpc": "2.0", "id": 1,}', "nope"])
def test_what_is_no_json_is_refused_with_its_code(server: Served, body: str) -> None:
    refused = call(body, server, server.key("acme"))
    error = {"code": -32700, "message": "The body is not JSON. Send valid JSON. (malformed_json)"}
    assert (refused.status_code, refused.json()) == (400, {"jsonrpc": "2.0", "id": None, "error": error})


@pytest.mark.parametrize(
    ("value", "status", "number", "code"),
    [
        ("NaN", 400, -32700, "malformed_json"),
        ("-Infinity", 400, -32700, "malformed_json"),
        ("1e400", 422, -32600, "json_number_too_large"),
        ("[" * 200 + "]" * 200, 422, -32600, "json_too_deep"),
        ("[" * 100_000 + "]" * 100_000, 422, -32600, "json_too_deep"),
        (r'"\ud800"', 422, -32600, "invalid_request"),
        (r'{"\ud800": 1}', 422, -32600, "invalid_request"),
    ],
    ids=lambda value: str(value)[:12],
)
@pytest.mark.parametrize("method", ["ping", "tools/call"])
def test_json_beyond_the_limits_is_refused_as_at_every_door(
    server: Served, method: str, value: str, status: int, number: int, code: str
) -> None:
    params = f'{{"name": "recall", "arguments": {{"query": {value}}}}}'
    refused = call(f'{{"jsonrpc": "2.0", "id": 1, "method": "{method}", "params": {params}}}', server, server.key())
    assert (refused.status_code, refused.json()["error"]["code"]) == (status, number), refused.text
    assert refused.json()["error"]["message"].endswith(f" ({code})")


@pytest.mark.parametrize("body", [b'"\xff"', b'"\xed\xa0\x80"', '{"jsonrpc": "2.0"}'.encode("utf-16")])
def test_what_is_not_utf8_is_refused_with_its_code(server: Served, body: bytes) -> None:
    refused = call(body, server, server.key())
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32700)
    assert refused.json()["error"]["message"].endswith(" (malformed_json)")


@pytest.mark.parametrize("name", ["userId", "personaId", "sessionId"])
@pytest.mark.parametrize("value", ["", "%20", "%C2%A0", "a%0Ab", "x" * 201], ids=lambda value: value[:6] or "empty")
def test_a_bad_name_in_the_address_is_refused_as_at_every_door(server: Served, name: str, value: str) -> None:
    client, message = server.client(), {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    refused = client.post(f"/mcp?{name}={value}", json=message)
    assert refused.status_code == 422, refused.text
    error = refused.json()["error"]
    assert error["message"].startswith(f"`{name}` in the address ")
    assert error["message"].endswith(" (invalid_request)")
    if name == "userId":
        elsewhere = client.get(f"/api/memories?userId={value}")
        assert (elsewhere.status_code, elsewhere.json()["code"]) == (422, "invalid_request")


def test_an_error_of_the_protocol_itself_has_its_number_and_no_code_of_ours(server: Served) -> None:
    error = call('{"jsonrpc": "2.0", "id": 1, "method": "tools/knit"}', server, server.key("acme")).json()["error"]
    assert error["code"] == -32601
    assert not error["message"].endswith(")")


def test_a_resource_that_does_not_exist_is_refused_with_its_code(server: Served) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "mnemon://entities/person:no"}}
    error = call(json.dumps(message), server, server.key("acme")).json()["error"]
    assert error["code"] == -32602
    assert error["message"].endswith(" (not_found)")


@pytest.mark.parametrize("number", ["7", '"seven"', "0", "12345678901234567890"])
def test_an_id_that_the_protocol_allows_comes_back(server: Served, number: str) -> None:
    answer = call(f'{{"jsonrpc": "2.0", "id": {number}, {REMEMBER}}}', server, server.key("acme"))
    assert (answer.status_code, answer.json()["id"]) == (200, json.loads(number))


def test_a_call_with_an_idempotency_key_runs_once(server: Served) -> None:
    key = server.key("acme")
    named = {"Idempotency-Key": "boat"}
    first = call(f'{{"jsonrpc": "2.0", "id": 1, {REMEMBER}}}', server, key, **named).json()["result"]
    again = call(f'{{"jsonrpc": "2.0", "id": 2, {REMEMBER}}}', server, key, **named).json()["result"]
    assert not first.get("isError"), first
    assert again["structuredContent"] == first["structuredContent"]
    with httpx2.Client(base_url=server.url, headers={"Authorization": f"Bearer {key}"}, timeout=HANGS_S) as client:
        (held,) = client.get("/api/memories", params={"userId": "ann"}).json()["data"]
        assert held["mentions"] == 1, "the second call had no effect"
        other = call(f'{{"jsonrpc": "2.0", "id": 3, {REMEMBER.replace("boat", "car")}}}', server, key, **named)
        assert "idempotency_key_reused" in other.json()["result"]["content"][0]["text"]
        assert client.delete("/api/users/ann").status_code == 200
        gone = call(f'{{"jsonrpc": "2.0", "id": 4, {REMEMBER}}}', server, key, **named).json()["result"]
        assert "reply_forgotten" in gone["content"][0]["text"]
        assert client.get("/api/memories", params={"userId": "ann"}).json()["data"] == []


def test_an_idempotency_key_that_is_none_is_refused(server: Served) -> None:
    refused = call(
        f'{{"jsonrpc": "2.0", "id": 1, {REMEMBER}}}', server, server.key("acme"), **{"Idempotency-Key": "x" * 256}
    )
    assert refused.status_code == 422
    assert "bad_idempotency_key" in refused.json()["error"]["message"]
