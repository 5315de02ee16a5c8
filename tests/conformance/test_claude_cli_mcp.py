"""The real Claude CLI, talking to our `/mcp` over HTTP with a key; its model is scripted."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from mnemon.llm.scripted.script import Script, tool_call_reply
from support.claude import claude_binary, needs_claude
from support.scripted_anthropic import ScriptedAnthropicServer
from support.served import Served
from support.tally import counted

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(300), needs_claude]


def test_it_remembers_and_recalls_by_our_tools(server: Served, tmp_path: Path) -> None:
    script = Script()
    script.add_replies(
        tool_call_reply("mcp__orchestrator__remember", content="Ann plays the cello", attribute="instrument"),
        tool_call_reply("mcp__orchestrator__recall", query="music"),
        "She plays the cello.",
    )
    door = {"type": "http", "url": f"{server.url}/mcp?userId=ann",
            "headers": {"Authorization": f"Bearer {server.key('acme')}"}}  # fmt: skip
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"orchestrator": door}}))
    tools = "mcp__orchestrator__remember,mcp__orchestrator__recall"
    with ScriptedAnthropicServer(script) as api:
        home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "ANTHROPIC_BASE_URL": api.root_url,
                "ANTHROPIC_API_KEY": "test-key", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}  # fmt: skip
        binary = claude_binary()
        assert binary is not None
        command: list[str | Path] = [
            binary, "-p", "What does Ann play?", "--output-format", "json", "--mcp-config", config,
            "--strict-mcp-config", "--allowedTools", tools,
        ]  # fmt: skip
        done = subprocess.run(command, env=home, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]
    assert json.loads(done.stdout)["result"] == "She plays the cello."
    assert "Ann plays the cello" in json.dumps(script.asked[-1].body)
    held = server.client("acme").get("/api/memories?userId=ann").json()["data"]
    assert [memory["content"] for memory in held] == ["Ann plays the cello"]
    counted("The real Claude CLI over `/mcp` (remember, recall)", "0.2.182", passed=1)
