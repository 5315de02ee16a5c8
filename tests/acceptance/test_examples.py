"""The programs in `examples/` that need no framework."""

from pathlib import Path

import pytest

from support.examples import EXAMPLES, run_example
from support.served import Served

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("http_turns.py", "Maya is Ann's sister"),
        ("openai_client.py", "> Where do I live?"),
        ("mcp_client.py", "recalled: Ann plays the cello"),
        ("python_client.py", "recalled: Is allergic to peanuts"),
        ("anthropic_memory_tool.py", "Coffee: black"),
    ],
)
def test_it_runs_and_says(offline_server: Served, name: str, told: str) -> None:
    assert told in run_example(name, offline_server)


def test_pydantic_ai_remembers_across_restarts(offline_server: Served) -> None:
    key = offline_server.key("acme")
    assert run_example("pydantic_ai_history.py", offline_server, key=key).startswith("0 messages before")
    assert run_example("pydantic_ai_history.py", offline_server, key=key).startswith("2 messages before")


def test_the_notebook_remembers_across_restarts(database_url: str, tmp_path: Path) -> None:
    env = {"MNEMON_DATABASE_URL": database_url, "MNEMON_DATA_DIR": str(tmp_path)}
    assert "I knew already" not in run_example("notebook.py", None, **env)
    assert "I knew already: Drinks green tea" in run_example("notebook.py", None, **env)


def test_every_example_is_run_by_a_test() -> None:
    said = "".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    assert [path.name for path in sorted(EXAMPLES.glob("*.py")) if f'"{path.name}"' not in said] == []
