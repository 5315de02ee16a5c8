"""Which rows of an import belong together, and whether their counters cover them."""

from typing import Any

import pytest

from mnemon.custody.aggregates import IMPORT_ORDER, MEMBERSHIPS, ImportedRow, find_broken_counter, key_in

MEMORY = {"id": "m", "version": 3, "versions": 3}
SESSION = {"id": "s", "seq": 2}
STATE = {"session_id": "s", "version": 2}


def gathered(**tables: list[dict[str, Any]]) -> dict[str, list[ImportedRow]]:
    return {name: [ImportedRow(number, row) for number, row in enumerate(found, 2)] for name, found in tables.items()}


def test_what_rows_belong_to_comes_before_them() -> None:
    assert set(IMPORT_ORDER) == set(MEMBERSHIPS)
    for place, name in enumerate(IMPORT_ORDER):
        assert {one.table for one in MEMBERSHIPS[name].parents} <= set(IMPORT_ORDER[:place])
        for parent in MEMBERSHIPS[name].parents:
            assert len(parent.columns) == len(MEMBERSHIPS[parent.table].key)


def test_a_key_is_made_of_the_rows_values() -> None:
    assert key_in({"namespace": ["a", "b"], "key": "k"}, ("namespace", "key")) == (("a", "b"), "k")
    assert key_in({}, ("id",)) == (None,)


@pytest.mark.parametrize(
    "tables",
    [
        {"memories": [MEMORY], "memory_versions": [{"memory_id": "m", "number": n} for n in (1, 2, -1)]},
        {"memory_versions": [{"memory_id": "elsewhere", "number": 9}]},
        {"sessions": [SESSION], "turns": [{"session_id": "s", "seq": 1}, {"session_id": "s", "seq": 2}]},
        {"turns": [{"session_id": "elsewhere", "seq": 9}]},
        {"messages": [{"turn_id": "t", "place": 1}, {"turn_id": "t", "place": 0}]},
        {"agent_states": [STATE], "agent_state_journal": [{"session_id": "s", "seq": 2}]},
        {"sessions": [{"id": "a", "resumed_from": "gone"}, {"id": "b", "resumed_from": "a"}, {"id": "c"}]},
        {
            "entity_aliases": [
                {"alias": "a", "target": "b"},
                {"alias": "b", "target": "c"},
                {"alias": "d", "target": "b"},
            ]
        },
        {},
    ],
)
def test_what_mnemon_writes_is_counted(tables: dict[str, list[dict[str, Any]]]) -> None:
    assert find_broken_counter(gathered(**tables)) is None


@pytest.mark.parametrize(
    ("tables", "number"),
    [
        ({"memories": [{**MEMORY, "version": 4}]}, 2),
        ({"sessions": [{"id": "a"}, {"id": "b", "resumed_from": "b"}]}, 3),
        ({"sessions": [{"id": "a", "resumed_from": "b"}, {"id": "b", "resumed_from": "a"}]}, 2),
        ({"memories": [{**MEMORY, "version": 0}]}, 2),
        ({"memories": [{"id": "m"}]}, 2),
        ({"memories": [MEMORY], "memory_versions": [{"memory_id": "m", "number": 3}]}, 2),
        ({"memories": [MEMORY], "memory_versions": [{"memory_id": "m", "number": 4}]}, 2),
        ({"memories": [MEMORY], "memory_versions": [{"memory_id": "m", "number": 0}]}, 2),
        ({"sessions": [SESSION], "turns": [{"session_id": "s", "seq": 1}, {"session_id": "s", "seq": 3}]}, 3),
        ({"sessions": [SESSION], "turns": [{"session_id": "s", "seq": 0}]}, 2),
        ({"messages": [{"turn_id": "t", "place": 0}, {"turn_id": "t", "place": 2}]}, 3),
        ({"agent_states": [STATE], "agent_state_journal": [{"session_id": "s", "seq": 3}]}, 2),
        ({"entity_aliases": [{"alias": "a", "target": "a"}]}, 2),
        ({"entity_aliases": [{"alias": a, "target": t} for a, t in ("xa", "ab", "bc", "ca")]}, 2),
        ({"entity_aliases": [{"alias": a, "target": t} for a, t in ("xy", "ab", "ba")]}, 3),
    ],
)
def test_a_counter_that_gives_out_a_number_again_is_found(tables: dict[str, list[dict[str, Any]]], number: int) -> None:
    broken = find_broken_counter(gathered(**tables))
    assert broken is not None
    assert broken.number == number
