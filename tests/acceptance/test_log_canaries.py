"""The log of a real server tells what happened and holds nothing that anybody said, sent or keeps secret."""

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from mnemon.access.keys import create_key, revoke_key
from mnemon.access.organizations import create_organization
from mnemon.clock import SystemClock
from mnemon.db.database import Database
from mnemon.llm.scripted.script import Script, tool_call_reply
from mnemon.llm.scripted.server import ScriptedServer
from mnemon.scope import Scope
from support.bounds import HANGS_S
from support.databases import new_database
from support.log_canaries import MARK, EchoingModel, canary, serving, sweep

EXPLODES = """
create function explode() returns trigger language plpgsql as $$
begin
  if new.content like '%explode%' then raise check_violation using message = 'this cannot be kept: ' || new.content;
  end if;
  return new;
end $$;
create trigger explode before insert on memories for each row execute function explode();
"""
"""Makes PostgreSQL refuse such a memory with an error that quotes it."""
MCP = {"Accept": "application/json, text/event-stream"}


@dataclass
class Story:
    """Everything that two servers logged, and what must not be in it."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    text: str = ""
    secrets: list[str] = field(default_factory=list)

    def take(self, log: Path) -> None:
        """Read a log whose server has stopped."""
        text = log.read_text()
        self.text += text
        self.lines += [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def of(self, event: str, **values: Any) -> list[dict[str, Any]]:
        """The lines of an event that have these values."""
        return [one for one in self.lines if one["event"] == event and values.items() <= one.items()]


def make_keys(database_url: str) -> tuple[str, str]:
    """A key that works and one that was revoked."""

    async def make() -> tuple[str, str]:
        db = Database(database_url, SystemClock(), pool_size=2)
        await db.open()
        async with db.tx("acme") as tx:
            scope = Scope(org_id="acme")
            await create_organization(tx)
            _, good = await create_key(tx, scope, name=canary())
            old, revoked = await create_key(tx, scope, name=canary())
            await revoke_key(tx, scope, old.id)
        await db.close()
        return good, revoked

    return asyncio.run(make())


@pytest.fixture(scope="module")
def story(cluster_url: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Two servers' logs: one with a model that answers, one with a model that fails and quotes."""
    folder = tmp_path_factory.mktemp("logs")
    told = Story()
    with new_database(cluster_url, template) as url, psycopg.connect(url, autocommit=True) as owner:
        owner.execute(EXPLODES)
        good, revoked = make_keys(url)
        told.secrets = [good.rpartition("_")[2], revoked.rpartition("_")[2]]
        with ScriptedServer() as model:
            options = {"model": "openai:scripted", "model_base_url": model.url, "model_api_key": f"{MARK}-key"}
            embedder = {"embedder": "openai:test@64", "embedder_base_url": model.url}
            with serving(folder, url, **options, **embedder) as (server, log), calling(server, good) as client:
                use_everything(client, model.script)
                fail_everywhere(client, model.script, revoked)
            told.take(log)
        with EchoingModel().answering() as echo:
            options |= {"model_base_url": echo.url, "embedder": "openai:test@64", "embedder_base_url": echo.url}
            bounds = {"model_timeout_s": "1", "rate_limit_per_minute": "150", "max_body_bytes": "4096"}
            with serving(folder, url, **options, **bounds) as (server, log), calling(server, good) as client:
                talk_to_an_echo(client, echo)
                ask_too_often(client)
            told.take(log)
    return told


def calling(server: str, key: str) -> httpx2.Client:
    return httpx2.Client(base_url=server, headers={"Authorization": f"Bearer {key}"}, timeout=HANGS_S)


def use_everything(client: httpx2.Client, script: Script) -> None:
    """What works, with canaries in what is said, stored, answered and called."""
    user, said = canary(), canary("I live in Austin")
    memory = {"type": "PROFILE", "content": said, "quote": said, "factType": "fact", "attribute": canary()}
    script.add_answers("Reflection", {"memories": [memory], "rolling_summary": canary()})
    script.add_replies(tool_call_reply("recall", query=canary()), canary("Hello"))
    assert client.post("/api/chat", json={"userId": user, "message": said}).status_code == 200
    settle(client)
    script.add_answers("Reflection", canary("no JSON at all"), {"memories": canary()}, {"memories": [canary()]})
    result = {"id": canary(), "action": canary(), "ids": [canary()], "output": {canary(): canary()}}
    turn = {"userId": user, "messages": [{"role": "user", "content": canary()}], "toolResults": [result]}
    posted = client.post("/api/turns", json=turn, headers={"Idempotency-Key": canary()})
    assert posted.status_code == 202, posted.text
    settle(client)
    assert client.post(f"/api/turns/{posted.json()['data']['turnId']}/reflect").status_code == 202
    settle(client)
    made = client.post("/api/memories", json={"userId": user, "type": "PROFILE", "content": canary()})
    assert client.post("/api/memories/search", json={"userId": user, "query": canary()}).status_code == 200
    assert client.delete(f"/api/memories/{made.json()['data']['id']}").status_code == 200
    agent = client.post("/api/agents", json={"name": canary(), "skill": canary(), "defaultPrompt": canary()})
    at = f"/api/agents/{agent.json()['data']['id']}"
    script.add_answers("Card", {"decision": canary()}, {"decision": "WAIT", "summary": canary(), "confidence": 0.6})
    for _ in range(2):
        assert client.post(f"{at}/runs", json={"prompt": canary()}).status_code == 202
        settle(client)
    assert client.post(f"{at}/chat", json={"message": canary()}).status_code < 300
    settle(client)
    completion = {"model": "mnemon", "user": user, "messages": [{"role": "user", "content": canary()}]}
    assert client.post("/v1/chat/completions", json=completion).status_code == 200
    exported = client.get(f"/api/users/{user}/export")
    assert client.delete(f"/api/users/{user}").status_code == 200
    assert client.post("/api/import", content=exported.content, params={"userId": canary()}).status_code == 200
    sign_in(client)


def sign_in(client: httpx2.Client) -> None:
    """The console: pages and forms, good and refused."""
    with httpx2.Client(base_url=client.base_url, timeout=HANGS_S) as browser:
        assert browser.post("/sign-in", data={"key": canary()}).status_code == 401
        key = client.headers["Authorization"].removeprefix("Bearer ")
        assert browser.post("/sign-in", data={"key": key}).status_code == 303
        for page in ("/", "/memories", "/entities", "/sessions", "/agents", "/runs", "/jobs", "/settings", "/recall"):
            assert browser.get(page, params={"q": canary(), "user": canary()}).status_code in (200, 303, 404)
        for form in ("/agents", "/settings/keys", "/settings/personas", "/settings/privacy/forget", "/entities/merge"):
            sent = {name: canary() for name in ("csrf", "name", "user", "at", "from", "into", "skill", "confirm")}
            assert browser.post(form, data=sent).status_code in (403, 404, 422)


def fail_everywhere(client: httpx2.Client, script: Script, revoked: str) -> None:
    """Whatever a caller can get wrong, and two faults of ours that quote what was sent."""
    user = canary()
    document = client.get("/openapi.json").json()
    assert sweep(client, document) > 130
    for path, item in document["paths"].items():
        if "post" in item and "{" not in path:
            client.post(
                path, content=f'{{"userId": "{canary()}", {canary()}', headers={"Content-Type": "application/json"}
            )
            client.post(path, json=[canary()])
    for bearer in (canary(), f"mnk_{MARK}_{'0' * 64}", f"mnk_acme_{canary()}", revoked, f"mnr_{MARK}_{'0' * 64}"):
        for address in ("/api/memories", "/mcp", f"/{canary()}"):
            answer = client.get(address, headers={"Authorization": f"Bearer {bearer}", "X-Forwarded-For": canary()})
            assert answer.status_code in (401, 404)
    tools = [
        ("remember", {"content": canary()}),
        ("remember", {"content": canary("explode")}),
        ("recall", {"query": canary(), canary(): canary()}),
        (canary(), {canary(): canary()}),
    ]
    for name, arguments in tools:
        call = {
            "jsonrpc": "2.0",
            "id": canary(),
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        assert client.post("/mcp", json=call, params={"userId": user}, headers=MCP).status_code == 200
    for request in ({"jsonrpc": "2.0", "id": 1, "method": canary(), "params": canary()}, [canary()], canary()):
        client.post("/mcp", json=request, headers=MCP)
    client.post("/mcp", json={}, headers={**MCP, "Host": canary().strip()})
    failed = client.post("/api/memories", json={"userId": user, "type": "PROFILE", "content": canary("explode")})
    assert failed.status_code == 500, failed.text
    said = canary("explode")
    script.add_answers("Reflection", {"memories": [{"type": "PROFILE", "content": said, "quote": said}]})
    client.post("/api/turns", json={"userId": user, "messages": [{"role": "user", "content": said}]})
    settle(client)


def talk_to_an_echo(client: httpx2.Client, echo: EchoingModel) -> None:
    """A model that refuses in every way and quotes what it was sent."""
    for status in (400, 401, 404, 429, 500, 200, -1):
        echo.status = status
        assert client.post("/api/chat", json={"userId": canary(), "message": canary()}).status_code == 200
        completion = {"model": "mnemon", "user": canary(), "messages": [{"role": "user", "content": canary()}]}
        assert client.post("/v1/chat/completions", json=completion).status_code == 503
    settle(client)
    assert client.post("/api/chat", json={"userId": canary(), "message": canary() * 2_000}).status_code == 413


def ask_too_often(client: httpx2.Client) -> None:
    refused = [client.get("/api/memories", params={"userId": canary()}).status_code for _ in range(250)]
    assert 429 in refused


def settle(client: httpx2.Client) -> None:
    """Wait until nothing is due or running; what was parked stays so."""
    for _ in range(600):
        jobs = client.get("/api/jobs?limit=200").json()["data"]
        now = client.get("/healthz").headers["date"]
        if not [one for one in jobs if one["status"] == "running" or _is_due(one)]:
            return
        time.sleep(0.05)
    raise AssertionError(f"work did not settle: {jobs} at {now}")


def _is_due(one: dict[str, Any]) -> bool:
    return one["status"] == "queued" and str(one["dueAt"]) <= time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def test_no_line_holds_a_canary_or_a_key(story: Story) -> None:
    wrong = [line for line in story.text.splitlines() if MARK in line.lower()]
    assert not wrong, (Counter(json.loads(line)["event"] for line in wrong), wrong[0])
    assert [secret for secret in story.secrets if secret in story.text] == []


def test_every_line_is_json(story: Story) -> None:
    assert [line for line in story.text.splitlines() if not line.startswith("{")] == []


def test_what_happened_stands_in_the_log(story: Story) -> None:
    kinds = Counter(line["event"] for line in story.lines)
    expected = {
        "started", "stopped", "request", "request_failed", "key_refused", "rate_limited", "unavailable", "model_call",
        "answer_rejected", "embedding_call", "turn_sealed", "reflection", "run_finished", "agent_replied",
        "memory_forgotten", "person_forgotten", "person_exported", "person_imported", "library", "work_finished",
    }  # fmt: skip
    assert expected - set(kinds) == set(), kinds
    assert {line["outcome"] for line in story.of("model_call")} >= {"ok", "bad_answer", "refused", "unavailable"}
    assert {line["status"] for line in story.of("model_call")} >= {None, 400, 401, 404, 429, 500}
    assert {line["outcome"] for line in story.of("embedding_call")} >= {"ok", "refused"}
    assert story.of("model_call", status=401, next_step="check MNEMON_MODEL_API_KEY")
    assert story.of("request", route="/api/chat", status=200, ended="complete", org="acme")
    assert story.of("request", route="/healthz", level="debug")
    assert {line["code"] for line in story.of("key_refused")} >= {"unauthenticated", "key_revoked"}


def test_a_fault_of_ours_is_told_by_its_type_and_its_lines(story: Story) -> None:
    (failed,) = story.of("request_failed", route="/api/memories")
    assert failed["exception"].endswith("CheckViolation")
    assert "memory/remember.py" in failed["exception"]
    (work,) = story.of("work_finished", error="CheckViolation")
    assert story.of("reflection", turn=work["key"])[0]["sections"]["memory"] == "internal: CheckViolation"
    of_the_request = [line["event"] for line in story.lines if line.get("request_id") == failed["request_id"]]
    assert of_the_request[-2:] == ["request_failed", "request"]


def test_every_line_within_a_request_has_its_id(story: Story) -> None:
    assert all("request_id" in line for line in story.of("request"))
    chats = {line["request_id"] for line in story.of("request", route="/api/chat", status=200)}
    assert chats <= {line.get("request_id") for line in story.of("model_call", purpose="chat")}
    assert chats <= {line.get("request_id") for line in story.of("turn_sealed")}
