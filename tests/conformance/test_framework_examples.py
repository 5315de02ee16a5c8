"""The programs in `examples/` that need a framework, in processes that end and start again."""

from pathlib import Path

import pytest

from mnemon.llm.scripted.script import Script
from support.claude import needs_claude
from support.examples import run_example
from support.scripted_anthropic import ScriptedAnthropicServer
from support.served import Served

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(300)]


def test_a_langgraph_agent_remembers_across_restarts(server: Served) -> None:
    pytest.importorskip("langgraph")
    key = server.key("acme")
    first = run_example("langgraph_agent.py", server, "My name is Ann", key=key)
    assert first == "Hello Ann, this is message 1 of our thread.\n"
    assert (
        run_example("langgraph_agent.py", server, "Hello", key=key) == "Hello Ann, this is message 3 of our thread.\n"
    )


def test_an_openai_agents_program_remembers_across_restarts(server: Served) -> None:
    pytest.importorskip("agents")
    key = server.key("acme")
    first = run_example("openai_agents_session.py", server, "My name is Ann", key=key)
    assert "earlier:" not in first
    assert "now:" in first
    assert "earlier: user My name is Ann" in run_example("openai_agents_session.py", server, "Who am I?", key=key)


@needs_claude
def test_a_claude_session_is_resumed_on_a_machine_that_never_saw_it(server: Served, tmp_path: Path) -> None:
    key, script = server.key("acme"), Script()
    script.add_replies("Nice to meet you, Ann.", "You are Ann.")
    with ScriptedAnthropicServer(script) as api:
        scripted = {"ANTHROPIC_BASE_URL": api.root_url, "ANTHROPIC_API_KEY": "test-key",
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}  # fmt: skip
        for machine in ("one", "two"):
            (tmp_path / machine).mkdir()
        home = {machine: str(tmp_path / machine) for machine in ("one", "two")}
        name = "claude_agent_session.py"
        first = run_example(name, server, "My name is Ann", key=key, HOME=home["one"], **scripted)
        session_id, _, reply = first.strip().partition(" ")
        assert reply == "Nice to meet you, Ann."
        second = run_example(name, server, "Who am I?", session_id, key=key, HOME=home["two"], **scripted)
    assert second.strip().endswith("You are Ann.")
    said = [message.content for message in script.asked[-1].messages if message.role != "system"]
    assert "My name is Ann" in said[0]  # among reminders that the CLI adds by itself
    assert said[1] == "Nice to meet you, Ann."
