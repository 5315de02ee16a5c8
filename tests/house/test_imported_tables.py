"""Every table and column of an export has a rule by which an import checks it."""

import re
from pathlib import Path

import pytest

from mnemon.api.custody import IMPORTED_TABLES
from mnemon.custody.aggregates import MEMBERSHIPS
from mnemon.custody.tables import DERIVED_TABLES, OPERATION_TABLES, OWNER_COLUMNS, PERSON_TABLE
from mnemon.imported_table import JsonShape, TextBound

SCHEMA = (Path(__file__).parents[2] / "docs" / "schema.sql").read_text(encoding="utf-8")
"""Compared with the migrations in tests/db."""
_CREATE = re.compile(r"CREATE TABLE public\.(\w+) \(\n(.*?)\n\)", re.DOTALL)
_COLUMN = re.compile(r"^    (?!CONSTRAINT)\"?(\w+)\"? (.+?)(?: DEFAULT .*| NOT NULL)?,?$", re.MULTILINE)
RULES = {rule.name: rule for rule in IMPORTED_TABLES}


def tables() -> dict[str, dict[str, str]]:
    """The personal tables that an export has, each with its columns and their types."""
    every = {name: dict(_COLUMN.findall(body)) for name, body in _CREATE.findall(SCHEMA)}
    left_out = {PERSON_TABLE, *DERIVED_TABLES, *OPERATION_TABLES}
    return {
        name: columns for name, columns in every.items() if set(OWNER_COLUMNS) <= set(columns) and name not in left_out
    }


TABLES = tables()


def test_the_tables_are_found() -> None:
    assert {"memories", "sessions", "turns", "notes", "reflections"} <= set(TABLES)
    assert TABLES["turns"]["tool_results"] == "jsonb"
    assert TABLES["memories"]["entity_refs"] == "text[]"
    assert not {"users", "embeddings", "agents"} & set(TABLES)


def test_every_table_of_an_export_has_a_rule_and_a_place_in_an_aggregate() -> None:
    assert set(TABLES) == set(RULES)
    assert set(TABLES) == set(MEMBERSHIPS)
    assert len(RULES) == len(IMPORTED_TABLES)


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_text_and_every_json_of_a_table_has_a_bound(name: str) -> None:
    bounded = {column: type(bound) for column, bound in RULES[name].columns.items()}
    wanted = {
        column: JsonShape if kind in ("json", "jsonb") else TextBound
        for column, kind in TABLES[name].items()
        if column not in OWNER_COLUMNS and re.fullmatch(r"text(\[\])?|jsonb?|.*vec(tor)?", kind)
    }
    assert bounded == wanted


@pytest.mark.parametrize("name", sorted(TABLES))
def test_the_key_of_a_row_is_made_of_its_columns(name: str) -> None:
    membership = MEMBERSHIPS[name]
    used = {*membership.key, *(column for parent in membership.parents for column in parent.columns)}
    assert used <= set(TABLES[name])
    assert {parent.table for parent in membership.parents} <= set(TABLES)
