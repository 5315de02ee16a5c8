"""What a key bound to one person may bring in."""

from typing import Any

import pytest

from mnemon.custody.import_rules import (
    AGENT_STATE_TABLES,
    TRUSTED_TABLES,
    admit_any_row,
    bound_key_rule,
    claims_operator_trust,
)
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
