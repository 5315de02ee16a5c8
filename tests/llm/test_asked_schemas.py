"""The schemas that a model is sent are strict and plain, and the worked examples are answers to them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mnemon.llm.answer_schema import is_strict
from mnemon.llm.completions.request import prepare_schema
from support.asked_schemas import FULL, INSTRUCTIONS, SECTIONS, asked_schemas, reflection_schema, worked_example

PLAIN = {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "title"}
"""All keywords that a schema may have: no pattern, length, bound, `oneOf`, `$ref`, default or description."""


def keywords(schema: Any, *, names: bool = False) -> Iterator[str]:
    """Every keyword of a schema; names of properties are none."""
    for key, value in schema.items():
        if not names:
            yield key
        if isinstance(value, dict):
            yield from keywords(value, names=key == "properties" and not names)
        elif isinstance(value, list):
            for one in value:
                if isinstance(one, dict):
                    yield from keywords(one)


@pytest.mark.parametrize("name", asked_schemas())
def test_a_schema_is_closed_requires_everything_and_is_plain(name: str) -> None:
    schema = asked_schemas()[name]
    assert is_strict(schema)
    assert set(keywords(schema)) <= PLAIN
    sent, strict = prepare_schema(schema)
    assert strict
    assert sent == schema


def test_a_schema_that_is_open_is_told_apart() -> None:
    open_one = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert not is_strict(open_one)
    assert not is_strict({"anyOf": [{**open_one, "additionalProperties": False, "required": []}]})


@pytest.mark.parametrize("name", SECTIONS)
def test_a_worked_example_is_read_as_the_answer_that_it_shows(name: str) -> None:
    example = worked_example(INSTRUCTIONS[name])
    assert set(example) == {name}
    read = getattr(SECTIONS[name].answer.model_validate(example), name)
    assert read
    assert getattr(SECTIONS[name].answer.model_validate({name: FULL[name]}), name)


def test_the_schemas_stay_small() -> None:
    # Four characters are about a token; `make conformance` counts them with a tokenizer.
    assert len(json.dumps(reflection_schema(*SECTIONS), separators=(",", ":"))) < 5_000
    assert len(json.dumps(reflection_schema("memories", "todos"), separators=(",", ":"))) < 2_000
