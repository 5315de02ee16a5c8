"""One rate limit for all doors, each refusing in its own protocol's form, by a clock the test moves."""

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from fastapi import FastAPI
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from mnemon.access.grants import Grant
from mnemon.access.rate import RateLimit
from mnemon.clock import SystemClock
from mnemon.db.database import Database
from mnemon.runs.tokens import issue_token
from mnemon.scope import Scope
from mnemon.services import Services
from support.bounds import HANGS_S
from support.console_door import signed_in
from support.problem import assert_problem
from support.served import Served, served

LIMIT = 4
"""One request is free again after 15 s."""
PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
SPOKEN = {"Accept": "application/json, text/event-stream"}


@dataclass
class Limited:
    """A server of four requests a minute, and the time that its rate limit goes by."""

    server: Served
    seconds: float = 0

    def spend(self, client: httpx2.Client, times: int = LIMIT) -> None:
        for _ in range(times):
            assert client.get("/api/todos?userId=ann").status_code == 200


@pytest.fixture
def limited(database_url: str, tmp_path: Path) -> Iterator[Limited]:
    box: list[Limited] = []

    def dress(app: FastAPI, services: Services) -> None:
        limit: RateLimit = app.state.rate_limit
        limit._nanoseconds = lambda: int(box[0].seconds * 1e9)

    options: dict[str, Any] = {"rate_limit_per_minute": LIMIT}
    with served(database_url, tmp_path, worker=False, dress=dress, **options) as running:
        box.append(Limited(running))
        yield box[0]


def test_a_refused_request_says_when_to_come_back_and_then_is_served(limited: Limited) -> None:
    client = limited.server.client("acme")
    limited.spend(client)
    refused = client.get("/api/todos?userId=ann")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "15")
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert (refused.json()["code"], refused.json()["status"]) == ("rate_limited", 429)
    limited.seconds = 14.9
    assert client.get("/api/todos?userId=ann").status_code == 429
    limited.seconds = 15
    assert client.get("/api/todos?userId=ann").status_code == 200
    assert client.get("/api/todos?userId=ann").status_code == 429


def test_another_key_is_not_held_up(limited: Limited) -> None:
    busy, other = limited.server.client("acme"), limited.server.client("acme")
    limited.spend(busy)
    assert busy.get("/api/todos?userId=ann").status_code == 429
    assert other.get("/api/todos?userId=ann").status_code == 200


def test_what_the_key_lacks_the_scope_for_counts_too(limited: Limited) -> None:
    client = limited.server.client("acme", grants=frozenset({Grant.CHAT}))
    assert [client.get("/api/todos?userId=ann").status_code for _ in range(LIMIT + 1)] == [403] * LIMIT + [429]


def test_health_needs_no_key_and_is_never_refused(limited: Limited) -> None:
    client = limited.server.client("acme")
    limited.spend(client)
    assert [client.get("/healthz").status_code for _ in range(LIMIT + 2)] == [200] * (LIMIT + 2)


def test_openais_client_sees_its_own_rate_limit_error(limited: Limited) -> None:
    key = limited.server.key("acme")
    with openai.OpenAI(base_url=f"{limited.server.url}/v1", api_key=key, max_retries=0) as client:
        for _ in range(LIMIT):
            assert client.models.list().data
        with pytest.raises(openai.RateLimitError) as caught:
            client.models.list()
    assert caught.value.response.headers["Retry-After"] == "15"


def test_mcp_takes_from_the_same_bucket_and_refuses_in_json_rpc(limited: Limited) -> None:
    client = limited.server.client("acme")
    limited.spend(client, LIMIT - 1)
    assert client.post("/mcp", json=PING, headers=SPOKEN).status_code == 200
    refused = client.post("/mcp", json=PING, headers=SPOKEN)
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "15")
    assert refused.headers["Content-Type"] == "application/json"
    assert refused.json() == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {
            "code": -32001,
            "message": "More than 4 requests a minute with this key. Wait 15 s and try again. (rate_limited)",
        },
    }
    assert client.get("/api/todos?userId=ann").status_code == 429
    limited.seconds = 15
    assert client.post("/mcp", json=PING, headers=SPOKEN).status_code == 200


def test_what_mcp_refuses_a_bound_key_counts_too(limited: Limited) -> None:
    client = limited.server.client("acme", user="ann")
    answers = [client.post("/mcp?userId=ben", json=PING, headers=SPOKEN).status_code for _ in range(LIMIT + 1)]
    assert answers == [403] * LIMIT + [429]


def run_token(limited: Limited, agent_id: str, run_id: str) -> str:
    """A fresh token of the run, which is under way, as the adapter that drives it is given one."""

    async def issue() -> str:
        db = Database(limited.server.database_url, SystemClock(), pool_size=2)
        await db.open()
        try:
            async with db.tx("acme") as tx:
                await tx.execute(
                    "update runs set status = 'running' where org_id = 'acme' and run_id = %(id)s", id=run_id
                )
                return await issue_token(tx, Scope(org_id="acme"), run_id=run_id, agent_id=agent_id)
        finally:
            await db.close()

    return asyncio.run(issue())


def test_a_run_counts_for_its_agent_and_not_for_the_key_that_asked_for_it(limited: Limited) -> None:
    client = limited.server.client("acme")
    agent = client.post("/api/agents", json={"name": "Scout", "defaultPrompt": "Look."}).json()["data"]
    runs = [client.post(f"/api/agents/{agent['id']}/runs", json={}).json()["data"] for _ in range(2)]
    answers = []
    for run in (runs[0], runs[1], runs[0], runs[1], runs[0]):
        bearer = {"Authorization": f"Bearer {run_token(limited, agent['id'], run['id'])}"}
        answers.append(
            httpx2.post(f"{limited.server.url}/mcp", json=PING, headers={**SPOKEN, **bearer}, timeout=HANGS_S)
        )
    assert [answer.status_code for answer in answers] == [200] * LIMIT + [429]
    assert answers[-1].headers["Retry-After"] == "15"
    limited.spend(client, LIMIT - 3)


async def test_the_official_mcp_client_is_told_and_can_go_on_later(limited: Limited) -> None:
    key = await asyncio.to_thread(limited.server.key, "acme")
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=HANGS_S)
    async with (
        http,
        streamable_http_client(f"{limited.server.url}/mcp?userId=ann", http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        for _ in range(LIMIT):
            try:
                await session.list_tools()
            except MCPError:
                break
        with pytest.raises(MCPError):
            await session.list_tools()
        limited.seconds = 60
        assert (await session.list_tools()).tools


@contextmanager
def signed_in_with(limited: Limited, key: str) -> Iterator[httpx2.Client]:
    """A browser that signed in with the key."""
    with httpx2.Client(base_url=limited.server.url, timeout=HANGS_S) as browser:
        answer = browser.post("/sign-in", data={"key": key})
        assert answer.status_code == 303, answer.text
        yield browser


def test_the_console_counts_for_the_key_that_opened_it_and_refuses_with_a_page(limited: Limited) -> None:
    key = limited.server.key("acme")
    client = httpx2.Client(base_url=limited.server.url, headers={"Authorization": f"Bearer {key}"}, timeout=HANGS_S)
    with client, signed_in_with(limited, key) as browser:
        assert browser.get("/memories").status_code == 200
        limited.spend(client, LIMIT - 2)
        refused = browser.get("/memories")
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "15")
        assert refused.headers["Content-Type"].startswith("text/html")
        assert "Wait 15 s and try again." in refused.text
        assert "default-src 'none'" in refused.headers["Content-Security-Policy"]
        live = browser.get("/live?topic=jobs")
        assert_problem(live, 429, "rate_limited")
        assert live.headers["Retry-After"] == "15"
        twin = browser.get("/memories.json")
        assert_problem(twin, 429, "rate_limited")
        assert twin.headers["Retry-After"] == "15"
        again = browser.post("/sign-in", data={"key": key})
        assert (again.status_code, again.headers["Retry-After"]) == (429, "15")
        assert "Wait 15 s and try again." in again.text
        assert client.get("/api/todos?userId=ann").status_code == 429
        limited.seconds = 15
        assert browser.get("/memories").status_code == 200


def test_the_operators_console_of_one_organization_does_not_hold_up_anothers(limited: Limited) -> None:
    with signed_in(limited.server, "acme") as busy, signed_in(limited.server, "globex") as other:
        assert [busy.get("/memories").status_code for _ in range(LIMIT + 1)] == [200] * LIMIT + [429]
        assert other.get("/memories").status_code == 200


def test_whoever_is_refused_may_still_sign_out(limited: Limited) -> None:
    with signed_in(limited.server, "acme") as browser:
        for _ in range(LIMIT):
            page = browser.get("/memories").text
        assert browser.get("/memories").status_code == 429
        found = re.search(r'data-csrf="(\w+)"', page)
        assert found is not None
        assert browser.post("/sign-out", data={"csrf": found[1]}).status_code == 303


async def test_tools_over_stdio_count_for_their_key_and_not_for_the_operator(limited: Limited, tmp_path: Path) -> None:
    key = await asyncio.to_thread(limited.server.key, "acme")
    assert await is_refused_over_stdio(limited.server, tmp_path, "--key", key)
    assert not await is_refused_over_stdio(limited.server, tmp_path, "--org", "acme")


async def is_refused_over_stdio(server: Served, data_dir: Path, *options: str) -> bool:
    """Whether one of many requests, of which two a minute are allowed, is refused for the rate limit."""
    program = StdioServerParameters(
        command=str(Path(sys.executable).parent / "mnemon"),
        args=["mcp", "--user", "ann", *options],
        env={
            "MNEMON_DATABASE_URL": server.database_url,
            "MNEMON_DATA_DIR": str(data_dir),
            "MNEMON_RATE_LIMIT_PER_MINUTE": "2",
            **({"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}),
        },
    )
    async with stdio_client(program) as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        try:
            for _ in range(20):
                await session.list_tools()
        except MCPError as error:
            if "rate_limited" not in str(error):
                raise
            return True
    return False
