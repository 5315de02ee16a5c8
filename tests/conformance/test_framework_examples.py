"""The programs in `examples/` that need a framework, in processes that end and start again."""

import pytest

from support.examples import run_example
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
