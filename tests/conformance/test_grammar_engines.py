"""The engines that hold local models to a schema compile every schema that is sent, and hold to it.

llama.cpp's converter, xgrammar (vLLM, SGLang), llguidance (llama.cpp, vLLM, OpenAI) and outlines-core, each in a
process of the environment `.venv/peers/engines`.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mnemon.llm.completions.request import prepare_schema
from support.asked_schemas import INSTRUCTIONS, SECTIONS, asked_schemas, bad_answers, good_answers, reflection_schema

pytestmark = pytest.mark.conformance
FOLDER = Path(__file__).parent
PYTHON = FOLDER.parents[1] / ".venv" / "peers" / "engines" / "bin" / "python"
DOCS = FOLDER.parents[1] / "docs" / "models.md"
MOST_TOKENS, MOST_WITHOUT_A_STATE = 1_200, 500
"""Tokens of the schema with all sections due, and of memories and todos alone."""


def run(program: str, *arguments: str, given: dict[str, Any]) -> dict[str, Any]:
    """What a program beside this file answers, run by the interpreter of the engines."""
    if not PYTHON.exists():
        pytest.skip("the engines come with `make conformance`")
    command: list[str | Path] = [PYTHON, FOLDER / program, *arguments]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-2000:]
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("engine", ["llama.cpp", "xgrammar", "llguidance", "outlines-core"])
def test_every_schema_is_compiled_and_held_to(engine: str) -> None:
    # As they leave us: the title apart, this is what `completions` sends.
    schemas = {name: prepare_schema(schema)[0] for name, schema in asked_schemas().items()}
    good = {name: good_answers(name, schema) for name, schema in schemas.items()}
    bad = {name: bad_answers(name, schema) for name, schema in schemas.items()}
    texts = {name: good[name] + bad[name] for name in schemas}
    made = run("grammar_engines.py", engine, given={"schemas": schemas, "texts": texts})
    expected = {name: [True] * len(good[name]) + [False] * len(bad[name]) for name in schemas}
    assert made == expected


@pytest.mark.parametrize("engine", ["llama.cpp", "xgrammar", "llguidance", "outlines-core"])
def test_the_trial_can_fail(engine: str) -> None:
    loose = {"type": "object", "properties": {"a": {"type": "string"}}}
    unknown = {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}, "required": ["a"]}
    given = {"schemas": {"loose": loose, "unknown": unknown}, "texts": {"loose": ["{}", "{"], "unknown": ["{}"]}}
    made = run("grammar_engines.py", engine, given=given)
    assert made["loose"] == [True, False]
    assert isinstance(made["unknown"], str), "a schema that cannot be compiled is told apart"


def test_the_sizes_are_within_the_bounds_and_as_documented() -> None:
    schemas = {name: reflection_schema(name) for name in SECTIONS}
    schemas |= {"all": reflection_schema(*SECTIONS), "memories, todos": reflection_schema("memories", "todos")}
    texts = {f"schema {name}": json.dumps(schema, separators=(",", ":")) for name, schema in schemas.items()}
    texts |= {f"prompt {name}": text for name, text in INSTRUCTIONS.items()}
    counted = run("count_tokens.py", given=texts)
    assert counted["schema all"] <= MOST_TOKENS
    assert counted["schema memories, todos"] <= MOST_WITHOUT_A_STATE
    rows = re.findall(
        r"^\| `(\w+)` \| \d+ \| (\d+) \| \d+ \| (\d+) \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE
    )
    shown = {name: (int(schema), int(prompt)) for name, schema, prompt in rows}
    assert shown == {name: (counted[f"schema {name}"], counted[f"prompt {name}"]) for name in SECTIONS}
