"""What a key bound to one person may bring in, and which values nobody may."""

from typing import Any

import pytest

from mnemon.custody.import_rules import (
    AGENT_STATE_TABLES,
    TRUSTED_TABLES,
    admit_any_row,
    bound_key_rule,
    claims_operator_trust,
    find_unusable_value,
)
from mnemon.custody.tables import OwnedTable
from mnemon.errors import NotAllowed

OPERATORS = [{"trust_level": "operator"}, {"source": "operator"}, {"origin": "Operator"}]
OWN: list[dict[str, Any]] = [{}, {"trust_level": "person"}, {"source": "api"}, {"source": 5, "origin": None}]


@pytest.mark.parametrize("row", OPERATORS)
def test_a_row_that_claims_the_operators_word_is_seen(row: dict[str, Any]) -> None:
    assert claims_operator_trust(row)


@pytest.mark.parametrize("row", OWN)
def test_the_persons_own_row_claims_nothing(row: dict[str, Any]) -> None:
    assert not claims_operator_trust(row)


@pytest.mark.parametrize("table", sorted(TRUSTED_TABLES))
def test_a_bound_key_brings_in_its_persons_word_and_not_the_operators(table: str) -> None:
    admit = bound_key_rule(agent_state=True)
    assert admit(3, table, OWN[1]) == OWN[1]
    with pytest.raises(NotAllowed) as refused:
        admit(3, table, OPERATORS[0])
    assert refused.value.code == "key_bound_to_user"
    assert refused.value.detail.startswith("Line 3 claims")
    assert [fault.pointer for fault in refused.value.faults] == ["/2"]


@pytest.mark.parametrize("table", sorted(AGENT_STATE_TABLES))
def test_an_agents_state_needs_its_scope(table: str) -> None:
    assert bound_key_rule(agent_state=True)(1, table, OPERATORS[0]) == OPERATORS[0]
    with pytest.raises(NotAllowed) as refused:
        bound_key_rule(agent_state=False)(1, table, {})
    assert refused.value.code == "missing_scope"


def test_only_a_finished_reflection_keeps_its_answer() -> None:
    admit = bound_key_rule(agent_state=False)
    done, open_ = {"status": "done", "raw": {"a": 1}}, {"status": "failed", "raw": {"a": 1}}
    assert admit(1, "reflections", done) == done
    assert admit(1, "reflections", open_) == {"status": "failed", "raw": {}}
    assert admit(1, "messages", open_) == open_
    assert admit_any_row(1, "reflections", open_) == open_


def table(name: str = "things") -> OwnedTable:
    columns = ("at", "few", "some", "many", "content", "words", "tags", "amount")
    types = ("timestamp with time zone", "smallint", "integer", "bigint", "text", "text", "jsonb", "double precision")
    return OwnedTable(name=name, columns=columns, types=types, identities=(), key=("at",), refers_to=())


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"at": "0999-12-31T00:00:00+00:00"}, "a time in at"),
        ({"at": "9001-01-01T00:00:00+00:00"}, "a time in at"),
        ({"at": "infinity"}, "a time in at"),
        ({"few": 2**15}, "a number in few"),
        ({"few": -(2**15)}, "a number in few"),
        ({"some": 10**9 + 1}, "a number in some"),
        ({"many": 10**15 + 1}, "a number in many"),
        ({"words": "x" * 400_001}, "a text in words that is longer than 400,000"),
        ({"content": "x" * 400_001}, "a text in content that is longer than 400,000"),
        ({"words": "x", "many": 10**16}, "a number in many"),
    ],
)
def test_a_value_that_could_not_be_read_back_is_named(row: dict[str, Any], why: str) -> None:
    assert why in (find_unusable_value(table(), row) or "")


@pytest.mark.parametrize(
    "row",
    [
        {"at": "1000-01-01T00:00:00+00:00"},
        {"at": "9000-12-31T00:00:00+00:00"},
        {"at": None, "few": None, "words": None},
        {"few": 2**15 - 1, "some": -(10**9), "many": 10**15},
        {"amount": 10**20, "few": "text", "words": 5, "at": 7},
        {"words": "x" * 400_000, "tags": "x" * 400_001},
    ],
)
def test_a_value_at_the_border_can_be_used(row: dict[str, Any]) -> None:
    assert find_unusable_value(table(), row) is None


@pytest.mark.parametrize(
    ("name", "most"), [("memories", 20_000), ("memory_versions", 20_000), ("note_texts", 8_000_000)]
)
def test_the_content_of_a_memory_or_a_note_has_a_limit_of_its_own(name: str, most: int) -> None:
    assert find_unusable_value(table(name), {"content": "x" * most}) is None
    assert f"{most:,}" in (find_unusable_value(table(name), {"content": "x" * (most + 1)}) or "")
    assert find_unusable_value(table(name), {"words": "x" * 20_001}) is None
