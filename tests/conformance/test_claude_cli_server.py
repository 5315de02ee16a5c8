"""The real Claude CLI against the real server: its own decisions over `/mcp`, with a token that dies with the run."""

import json
import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mnemon.llm.scripted.script import Script, ScriptedReply, ScriptedRequest, tool_call_reply
from support.claude import claude_binary, needs_claude
from support.scripted_anthropic import ScriptedAnthropicServer
from support.served import Served, served
from support.sse import events_in

pytestmark = [pytest.mark.conformance, needs_claude]
REVIEW = "mcp__orchestrator__get_my_decisions"


def acting(asked: ScriptedRequest) -> ScriptedReply:
    """Looks at its decisions first, then decides."""
    if REVIEW in asked.tools and not any(said.role == "tool" for said in asked.messages):
        return tool_call_reply(REVIEW)
    return tool_call_reply("StructuredOutput", decision="WAIT", summary="range unresolved")


def run_now(server: Served, client: httpx2.Client, agent_id: str) -> dict[str, Any]:
    started = client.post(f"/api/agents/{agent_id}/runs", json={"prompt": "Decide."}).json()["data"]
    server.settled(client)
    run: dict[str, Any] = client.get(f"/api/runs/{started['id']}").json()["data"]
    assert run["status"] == "succeeded", run["error"]
    return run


def test_the_cli_reads_its_own_decisions_and_nothing_else(database_url: str, tmp_path: Path) -> None:
    script = Script(fallback=acting)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    cli: dict[str, Any] = {"claude_cli": claude_binary(), "claude_api_key": "test-key"}
    with (
        ScriptedAnthropicServer(script) as api,
        served(database_url, tmp_path, port=port, claude_base_url=api.root_url, **cli) as server,
    ):
        client = server.client("acme")
        body = {"name": "Scout", "adapter": "claude-cli", "adapterConfig": {"reviewDecisions": True}}
        agent, other = (client.post("/api/agents", json=body).json()["data"] for _ in range(2))
        run_now(server, client, other["id"])
        run_now(server, client, agent["id"])
        server.advance(days=2)
        second = run_now(server, client, agent["id"])

        events = events_in(client.get(f"/api/runs/{second['id']}/events").text)
        calls = [data["name"] for name, data in events if name == "tool_call"]
        assert calls == [REVIEW, "StructuredOutput"]
        (told,) = [data["content"] for name, data in events if name == "tool_result" and data["name"] == REVIEW]
        lines = [one["line"] for one in json.loads(told)["decisions"]]
        assert lines == ["2d ago · WAIT · range unresolved"]
        assert script.asked[-1].tools.count(REVIEW) == 1
        assert {tool for asked in script.asked for tool in asked.tools} == {REVIEW, "StructuredOutput"}

        off = {"adapterConfig": {"reviewDecisions": False}}
        client.patch(f"/api/agents/{agent['id']}", json=off)
        script.asked.clear()
        run_now(server, client, agent["id"])
        assert {tool for asked in script.asked for tool in asked.tools} == {"StructuredOutput"}
