"""A schema is sent as the vendor library would send it, with its title, and called strict where that one would."""

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer

from mnemon.llm.completions.request import prepare_schema
from mnemon.llm.protocol import Json

LEAVES: list[Any] = [
    {"type": "string"},
    {"type": "integer"},
    {"type": "null"},
    {"enum": ["x"]},
    {"const": 1},
    {"$ref": "#/$defs/N"},
    {"$ref": "#/properties/a"},
    {"type": ["object", "null"]},
    {},
    {"type": "array"},
    {"type": "array", "items": {}},
    {"type": "array", "items": True},
    {"type": "object"},
]
BESIDE: list[Json] = [
    {},
    {"title": "T"},
    {"description": "d"},
    {"default": None},
    {"minLength": 1},
    {"format": "uri"},
    {"format": "date"},
    {"pattern": "a(?=b)"},
    {"pattern": r"a\(?=b"},
    {"discriminator": {}},
    {"additionalProperties": True},
    {"not": {}},
]
OBJECTS: list[Json] = [
    {},
    {"additionalProperties": False},
    {"additionalProperties": {"type": "object", "title": "Q"}},
    {"patternProperties": {"^a": {"type": "object"}}},
    {"anyOf": [{"type": "object", "title": "K"}]},
    {"$schema": "u", "description": "x"},
]
leaves = st.builds(lambda leaf, more: {**leaf, **more}, st.sampled_from(LEAVES), st.sampled_from(BESIDE))


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.builds(
        lambda properties, required, more: {
            "type": "object",
            "properties": properties,
            **({"required": list(properties)[: None if required else 1]} if required is not None else {}),
            **more,
        },
        st.dictionaries(st.sampled_from(["a", "b", "title"]), inner, max_size=3),
        st.sampled_from([None, True, True, False]),
        st.sampled_from(OBJECTS),
    )


def deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        objects(inner),
        st.builds(lambda items: {"type": "array", "items": items}, st.one_of(inner, several)),
        st.builds(lambda items: {"type": "array", "prefixItems": items}, several),
        st.builds(
            lambda kind, members, more: {kind: members, **more},
            st.sampled_from(["anyOf", "allOf", "oneOf"]),
            several,
            st.sampled_from(BESIDE[:4]),
        ),
    )


nodes = st.recursive(st.one_of(leaves, st.booleans()), deeper, max_leaves=6)
roots = st.builds(
    lambda root, definition, more: {**root, "$defs": {"N": definition}, **more},
    objects(nodes),
    nodes,
    st.sampled_from([{}, {"title": "Root"}, {"definitions": {"Z": {"type": "object", "title": "Z"}}}]),
)
recursive = objects(nodes).map(lambda inner: {"title": "Root", "$ref": "#/$defs/N", "$defs": {"N": inner}})


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(roots, recursive))
def test_it_is_what_the_library_makes_of_it(schema: Json) -> None:
    given_schema = copy.deepcopy(schema)
    theirs = OpenAIJsonSchemaTransformer(copy.deepcopy(schema))
    walked = theirs.walk()
    titled = {"title": schema["title"], **walked} if "title" in schema else walked
    assert prepare_schema(schema) == (titled, theirs.is_strict_compatible)
    assert schema == given_schema


def test_what_keeps_it_from_being_strict_keeps_all_of_it() -> None:
    whole = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert prepare_schema(whole) == ({**whole, "additionalProperties": False}, True)
    optional = {**whole, "required": []}
    assert prepare_schema(optional) == ({**optional, "additionalProperties": False}, False)
    within = {**whole, "properties": {"a": {"type": "array", "items": {"type": "string", "default": "x"}}}}
    assert prepare_schema(within)[1] is False


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"a": 7}, "required": "a"},
        {"type": "array", "items": 7},
        {"anyOf": {}, "$ref": 7},
        {"$defs": [], "definitions": 7, "pattern": 7, "format": "?"},
        {"$ref": "#/$defs/Nowhere"},
    ],
    ids=repr,
)
def test_a_callers_schema_that_is_none_is_passed_on_without_a_fault(schema: Json) -> None:
    made, strict = prepare_schema(schema)
    assert isinstance(made, dict)
    assert isinstance(strict, bool)
