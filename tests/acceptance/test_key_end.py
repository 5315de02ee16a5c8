"""When a key expires or is revoked, what it opened ends within seconds: console sessions, live pages, streams."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psycopg
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from mnemon.access.grants import Grant
from mnemon.console.live import topic_names as known_topics
from mnemon_client import SyncMnemon
from mnemon_client.errors import ApiError
from mnemon_client.shapes import Expectation, Message
from support.bounds import HANGS_S
from support.problem import assert_problem
from support.served import Served, served
from support.sse import events_in


@pytest.fixture
def house(database_url: str, tmp_path: Path) -> Iterator[Served]:
    with served(database_url, tmp_path, worker=False) as server:
        yield server


def end_key(server: Served, key: str, *, how: str) -> None:
    """Revoke the only key of that name, or move the clock beyond its end."""
    if how == "expiry":
        server.set_time("2026-04-13T15:22:00Z")
        return
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        ended = connection.execute("update keys set revoked_at = now() where name = 'test' and expires_at is not null")
        assert ended.rowcount == 1, key


def short_lived_key(server: Served, *, grants: frozenset[Grant] | None = None) -> str:
    """Give a key that ends within the day; the only one of the database with an end."""
    key = server.key("acme", grants=grants)
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        connection.execute(
            "update keys set expires_at = '2026-04-13T00:00:00Z' where key_id = (select max(key_id) from keys)"
        )
    return key


@contextmanager
def signed_in(server: Served, key: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url, timeout=HANGS_S) as browser:
        assert browser.post("/sign-in", data={"key": key, "next": "/"}).status_code == 303
        yield browser


def stream_ends(client: httpx2.Client, path: str, then: Callable[[], None]) -> str | None:
    """The code of the event that a stream, once it has begun, ends with after `then`; None where it ends without."""
    begun, ended = threading.Event(), threading.Event()
    heard: list[str] = []

    def listen() -> None:
        with client.stream("GET", path) as answer:
            assert answer.status_code == 200, answer.status_code
            for line in answer.iter_lines():
                heard.append(line)
                begun.set()
        ended.set()

    reader = threading.Thread(target=listen, daemon=True)
    reader.start()
    assert begun.wait(HANGS_S)
    assert not ended.wait(2.5), "it must last while the key is good"
    then()
    assert ended.wait(HANGS_S), "it must end before a reader would give up"
    last = events_in("\n".join(heard))[-1:]
    assert all(data["detail"] for kind, data in last if kind == "error")
    return next((data["code"] for kind, data in last if kind == "error"), None)


@pytest.mark.parametrize("how", ["expiry", "revocation"])
def test_streams_end_with_their_key(house: Served, how: str) -> None:
    everyone = house.client("acme")
    said = {"userId": "ann", "messages": [{"role": "user", "content": "Good morning."}]}
    session = everyone.post("/api/turns", json=said).json()["data"]["sessionId"]
    key = short_lived_key(house)
    with httpx2.Client(base_url=house.url, headers={"Authorization": f"Bearer {key}"}, timeout=HANGS_S) as client:
        told = stream_ends(client, f"/api/sessions/{session}/events", lambda: end_key(house, key, how=how))
        assert told == {"expiry": "key_expired", "revocation": "key_revoked"}[how]
        assert client.get(f"/api/sessions/{session}/events").status_code == 401


def test_a_runs_events_end_with_their_key(house: Served) -> None:
    everyone = house.client("acme")
    made = everyone.post("/api/agents", json={"name": "a", "adapter": "model", "skill": "s", "defaultPrompt": "p"})
    run = everyone.post(f"/api/agents/{made.json()['data']['id']}/runs", json={}).json()["data"]["id"]
    key = short_lived_key(house)
    path, headers = f"/api/runs/{run}/events", {"Authorization": f"Bearer {key}"}
    with httpx2.Client(base_url=house.url, headers=headers, timeout=HANGS_S) as client:  # the run waits: nobody works
        assert stream_ends(client, path, lambda: end_key(house, key, how="revocation")) == "key_revoked"


def test_a_client_that_follows_is_told_of_its_keys_end_by_the_refusal(house: Served) -> None:
    key = short_lived_key(house)
    with SyncMnemon(house.url, key, user_id="ann") as mnemon:
        said: list[Message] = [{"role": "user", "content": "Good morning."}]
        plan: Expectation = {"action": "greet", "expected_outcome": "a greeting"}
        events = mnemon.events(mnemon.turn(said, expectations=[plan])["sessionId"])
        assert next(events).kind == "agent_state_update"
        end_key(house, key, how="revocation")
        with pytest.raises(ApiError, match="key_revoked"):
            next(events)


def test_streams_are_told_that_the_server_stops(house: Served) -> None:
    everyone = house.client("acme")
    said = {"userId": "ann", "messages": [{"role": "user", "content": "Good morning."}]}
    session = everyone.post("/api/turns", json=said).json()["data"]["sessionId"]
    closing = house.app.state.closing
    with signed_in(house, house.key("acme")) as browser:
        assert stream_ends(everyone, f"/api/sessions/{session}/events", closing.set) == "stopping"
        closing.clear()
        assert stream_ends(browser, "/live?topic=jobs", closing.set) == "stopping"


@pytest.mark.parametrize("how", ["expiry", "revocation"])
def test_a_console_session_ends_with_the_key_that_opened_it(house: Served, how: str) -> None:
    key = short_lived_key(house)
    with signed_in(house, key) as browser:
        assert browser.get("/settings/keys.json").status_code == 200
        told = stream_ends(browser, "/live?topic=jobs", lambda: end_key(house, key, how=how))
        assert told == "unauthenticated"
        assert_problem(browser.get("/settings/keys.json"), 401, "unauthenticated")
        assert browser.get("/live?topic=jobs").status_code == 401
        answer = browser.post("/settings/keys", data={"name": "for ever"})
    assert answer.status_code == 401


def test_a_session_makes_no_key_with_more_rights_or_a_longer_life(house: Served) -> None:
    key = short_lived_key(house, grants=frozenset({Grant.ADMIN, Grant.CHAT}))
    with signed_in(house, key) as browser:
        csrf = browser.get("/settings/keys").text.partition('name="csrf" value="')[2].partition('"')[0]
        form = {"csrf": csrf, "at": "/settings/keys", "name": "made", "everything": "yes"}
        assert (
            browser.post("/settings/keys", data={**form, "everything": "", "grant:custody": "yes"}).status_code == 403
        )
        assert browser.post("/settings/keys", data={**form, "days": "30"}).status_code == 403
        assert browser.post("/settings/keys", data={**form, "user": "ann"}).status_code == 200
        assert browser.post("/settings/keys", data=form).status_code == 200
    with psycopg.connect(house.database_url) as connection:
        made = connection.execute(
            "select bound_user, grants, expires_at is not null and expires_at <= '2026-04-13T00:00:00Z' from keys "
            "where name = 'made' order by bound_user nulls last"
        ).fetchall()
    assert made == [("ann", ["chat"], True), (None, ["admin", "chat"], True)]


def test_a_page_is_told_only_of_what_its_session_may_see(house: Served) -> None:
    topics = {
        "overview": Grant.MEMORY_READ, "sessions": Grant.MEMORY_READ, "session:ses_1": Grant.MEMORY_READ,
        "agent-state:ses_1": Grant.AGENT_STATE_READ, "engagement": Grant.ENGAGEMENT_READ, "jobs": Grant.JOBS,
        "agents": Grant.AGENTS_READ, "agent:agt_1": Grant.AGENTS_READ, "results": Grant.AGENTS_READ,
        "run:run_1": Grant.AGENTS_READ,
    }  # fmt: skip
    assert {topic.partition(":")[0] for topic in topics} == known_topics()
    with signed_in(house, house.key("acme", grants=frozenset({Grant.CHAT}))) as browser:
        for topic in topics:
            assert_problem(browser.get(f"/live?topic={topic}"), 403, "missing_scope")
    for topic, grant in topics.items():
        key = house.key("acme", grants=frozenset({grant}))
        with signed_in(house, key) as browser, browser.stream("GET", f"/live?topic={topic}") as answer:
            assert answer.status_code == 200, topic


def test_a_kept_reply_is_of_one_query_string(house: Served) -> None:
    everyone = house.client("acme")
    elsewhere = house.client("globex")
    elsewhere.post("/api/memories", json={"userId": "ann", "type": "PROFILE", "content": "Lives in Austin"})
    exported = elsewhere.get("/api/users/ann/export").content
    headers = {"Idempotency-Key": "one"}
    first = everyone.post("/api/import?userId=eve", content=exported, headers=headers)
    again = everyone.post("/api/import?userId=eve", content=exported, headers=headers)
    other = everyone.post("/api/import?userId=mallory", content=exported, headers=headers)
    assert first.status_code == 200, first.text
    assert (first.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_forgetting_a_memory_needs_custody_at_every_door(house: Served) -> None:
    made = house.client("acme").post("/api/memories", json={"userId": "ann", "type": "PROFILE", "content": "Sails"})
    held = made.json()["data"]
    path = f"/api/memories/{held.get('memory', held)['id']}"
    writer = house.client("acme", grants=frozenset({Grant.MEMORY_READ, Grant.MEMORY_WRITE}))
    assert (writer.delete(path).status_code, writer.delete(path).json()["code"]) == (403, "missing_scope")
    custodian = house.client("acme", grants=frozenset({Grant.CUSTODY}))
    for query, forgetting in (("", {"forget"}), ("?tools=server-memory", GRAPH_DELETIONS)):
        assert not tools_of(writer, query) & forgetting
        assert tools_of(custodian, query) == forgetting
    assert custodian.delete(path).status_code == 200


GRAPH_DELETIONS = {"delete_entities", "delete_observations", "delete_relations"}


def tools_of(client: httpx2.Client, query: str) -> set[str]:
    """The names of the MCP tools that the client's key is offered."""
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = client.post(f"/mcp{query}", json=ask, headers=headers)
    assert answer.status_code == 200, answer.text
    return {tool["name"] for tool in answer.json()["result"]["tools"]}


async def test_tools_over_stdio_end_with_their_key(house: Served, tmp_path: Path) -> None:
    key = await asyncio.to_thread(house.key, "acme")
    env = {"MNEMON_DATABASE_URL": house.database_url, "MNEMON_DATA_DIR": str(tmp_path), "MNEMON_KEY": key}
    env["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")  # the program under test is the one of this process
    program = StdioServerParameters(
        command=str(Path(sys.executable).parent / "mnemon"), args=["mcp", "--user", "ann"], env=env
    )
    async with stdio_client(program) as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        assert not (await session.call_tool("remember", {"content": "Is a morning person"})).is_error
        with psycopg.connect(house.database_url, autocommit=True) as connection:
            connection.execute("update keys set revoked_at = now()")
        with pytest.raises(MCPError, match="key_revoked"):
            await session.call_tool("recall", {"query": "morning"})
