"""How many lists and objects JSON may have, counted before it is parsed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon import input_checks
from mnemon.input_checks import MAX_JSON_CONTAINERS, UnusableJson, parse_json

TEXTS = st.text(st.sampled_from('[]{}",:\\a é'), max_size=8)
VALUES = st.recursive(
    TEXTS | st.integers(0, 9), lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4)
)


def containers(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + sum(map(containers, inner))


@given(VALUES, st.integers(0, 6), st.integers(1, 9), st.booleans())
def test_lists_and_objects_are_counted_and_brackets_in_texts_are_not(
    value: Any, most: int, block: int, escaped: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(input_checks, "MAX_JSON_CONTAINERS", most)
        patch.setattr(input_checks, "_BLOCK_BYTES", block)
        raw = json.dumps(value, ensure_ascii=escaped)
        if containers(value) > most:
            with pytest.raises(UnusableJson) as refused:
                parse_json(raw)
            assert refused.value.code == "json_too_many_values"
        else:
            assert parse_json(raw.encode()) == value


def test_the_limit_itself_is_within_it() -> None:
    assert len(parse_json("[" + ",".join(["{}"] * (MAX_JSON_CONTAINERS - 1)) + "]")) == MAX_JSON_CONTAINERS - 1
    with pytest.raises(UnusableJson):
        parse_json("[" + ",".join(["[]"] * MAX_JSON_CONTAINERS) + "]")
    assert parse_json(json.dumps("[" * 2 * MAX_JSON_CONTAINERS)) == "[" * 2 * MAX_JSON_CONTAINERS
