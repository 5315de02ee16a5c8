"""Providers are imported only when used, so that the program starts quickly."""

import subprocess
import sys
import time

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
    assert loaded_by("from mnemon.llm.connect import connect\nconnect('offline')").isdisjoint(HEAVY)


@pytest.mark.parametrize("arguments", [["-c", "import mnemon"], ["-c", "import mnemon.llm.connect"]])
def test_the_import_takes_less_than_half_a_second(arguments: list[str]) -> None:
    assert min(_seconds([sys.executable, *arguments]) for _ in range(3)) < 0.5


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began
