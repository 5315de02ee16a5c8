"""Providers are imported only when used, so that the program starts quickly."""

import subprocess
import sys

import pytest

HEAVY = ("pydantic_ai", "openai", "anthropic", "google.genai", "wordllama", "tokenizers", "httpx2")


def loaded_by(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("module", ["mnemon", "mnemon.llm.connect", "mnemon.llm.protocol"])
def test_no_provider_is_imported_before_one_is_used(module: str) -> None:
    assert loaded_by(f"import {module}").isdisjoint(HEAVY)


def test_offline_needs_no_provider() -> None:
    assert loaded_by("from mnemon.llm.connect import connect_llm\nconnect_llm('offline')").isdisjoint(HEAVY)


@pytest.mark.parametrize("name", ["openai:tiny", "ollama:tiny"])
def test_a_model_on_openais_wire_needs_no_vendors_library(name: str) -> None:
    """Neither to be named nor to be asked, with the whole application around it."""
    asked = f"""
import asyncio, mnemon.app, mnemon.cli.main
from mnemon.errors import ModelDown
from mnemon.llm.connect import connect_llm
from mnemon.llm.protocol import LlmChatRequest, LlmMessage
llm = connect_llm({name!r}, base_url="http://127.0.0.1:9/v1", timeout=60)
async def ask():
    request = LlmChatRequest(system="", messages=(LlmMessage(role="user", content="hi"),), by_rule=str)
    try:
        [event async for event in llm.chat(request)]
    except ModelDown:
        await llm.close()
asyncio.run(ask())
"""
    assert loaded_by(asked).isdisjoint({"pydantic_ai", "openai", "anthropic", "google.genai"})


@pytest.mark.parametrize(("module", "most"), [("mnemon", 60), ("mnemon.llm.connect", 130), ("mnemon.cli.main", 350)])
def test_little_is_loaded_so_that_it_starts_quickly(module: str, most: int) -> None:
    """Modules are counted, for seconds depend on the machine: 35, 88 and 273 when this was written."""
    assert len(loaded_by(f"import {module}")) < most


def test_help_imports_no_provider() -> None:
    assert loaded_by("import mnemon.cli.main").isdisjoint({*HEAVY, "fastapi", "numpy", "psycopg"})
