"""Which values nobody may import: what a column could hold and Mnemon never writes."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from mnemon.api.custody import IMPORTED_TABLES
from mnemon.custody.import_values import find_reader_fault, find_unusable_value
from mnemon.custody.tables import OwnedTable
from mnemon.imported_table import ImportedTable, JsonShape, TextBound
from mnemon.section import Rejection

RULE = ImportedTable(
    name="things",
    read=lambda row: [Rejection(**one) for one in row["tags"]],
    columns={
        "content": TextBound(most_chars=20),
        "words": TextBound(most_chars=400_000),
        "names": TextBound(most_chars=5, most_items=2),
        "tags": JsonShape(
            adapter=TypeAdapter(list[Rejection]), most_chars=30, most_items=3, free=frozenset({"section"})
        ),
        "open": JsonShape(is_open=True),
    },
)
TYPES = {
    "at": "timestamp with time zone", "few": "smallint", "some": "integer", "many": "bigint", "content": "text",
    "words": "text", "names": "text[]", "tags": "jsonb", "open": "jsonb", "amount": "double precision",
    "done": "boolean", "vector": "vector",
}  # fmt: skip
TABLE = OwnedTable(
    name="things", columns=tuple(TYPES), types=tuple(TYPES.values()), identities=(), key=("at",), refers_to=()
)


def tag(**values: Any) -> dict[str, Any]:
    return {"tags": [{"what": "a", "why": "b", **values}]}


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"at": "0999-12-31T00:00:00+00:00"}, "a time in at that is none between the years 1000 and 9000"),
        ({"at": "9001-01-01T00:00:00+00:00"}, "a time in at"),
        ({"at": "infinity"}, "a time in at"),
        ({"at": 7}, "a time in at"),
        ({"few": 2**15}, "a number in few that is beyond 32,767"),
        ({"few": -1}, "a number in few that is negative"),
        ({"some": 10**9 + 1}, "a number in some"),
        ({"many": 10**15 + 1}, "a number in many"),
        ({"many": "5"}, "a value in many that is not a whole number"),
        ({"many": True}, "a value in many"),
        ({"many": 1.5}, "a value in many"),
        ({"amount": "NaN"}, "a value in amount that is not a number"),
        ({"done": 1}, "a value in done that is not true or false"),
        ({"words": "x" * 400_001}, "a text in words that is longer than 400,000"),
        ({"content": "x" * 21}, "a text in content that is longer than 20 characters"),
        ({"content": 5}, "a value in content that is not a text"),
        ({"content": "a\0"}, "a text in content that has a NUL character"),
        ({"content": "\ud800"}, "a text in content that has half a surrogate pair"),
        ({"vector": [1]}, "a value in vector"),
        ({"names": "x"}, "a value in names that is not a list of texts"),
        ({"names": ["x", None]}, "a value in names"),
        ({"names": ["x" * 6]}, "a text in names that is longer than 5"),
        ({"names": ["x"] * 3}, "a list in names that has more than 2 texts"),
        ({"tags": "x"}, "JSON in tags that is never stored there"),
        (tag(why=5), "JSON in tags that is never stored there, at 0.why"),
        (tag(why=-1), "JSON in tags that has a number that is not between 0"),
        (tag(what="x" * 31), "JSON in tags that has a text of more than 30 characters"),
        ({"tags": [1] * 4}, "JSON in tags that has more than 3 items"),
        ({"words": "x", "many": 10**16}, "a number in many"),
    ],
)
def test_a_value_that_could_not_be_read_back_is_named(row: dict[str, Any], why: str) -> None:
    assert (find_unusable_value(TABLE, RULE, row) or "").startswith(f"has {why}")


@pytest.mark.parametrize(
    "row",
    [
        {"at": "1000-01-01T00:00:00+00:00"},
        {"at": "9000-12-31T00:00:00+00:00"},
        {"at": None, "few": None, "words": None, "tags": None, "names": None},
        {"few": 2**15 - 1, "some": 10**9, "many": 10**15, "amount": 5, "done": False},
        {"words": "x" * 400_000, "content": "x" * 20, "names": ["x" * 5] * 2, "vector": "[1,2]"},
        tag(what="x" * 30),
        tag(section="x" * 31),
        {"open": {"a": ["x" * 100_000, -(10**20)]}},
    ],
)
def test_a_value_at_the_border_can_be_used(row: dict[str, Any]) -> None:
    assert find_unusable_value(TABLE, RULE, row) is None


def test_only_a_repeat_has_a_negative_number() -> None:
    types = ("integer", "integer")
    versions = OwnedTable(
        name="memory_versions", columns=("number", "mentions"), types=types, identities=(), key=(), refers_to=()
    )
    assert find_unusable_value(versions, RULE, {"number": -3}) is None
    assert "negative" in (find_unusable_value(versions, RULE, {"mentions": -3}) or "")


def test_what_the_room_cannot_read_is_a_fault() -> None:
    assert find_reader_fault(RULE, tag()) is None
    assert find_reader_fault(RULE, tag(colour="red")) == "has values that things never has"
    assert find_reader_fault(RULE, {}) == "has values that things never has"


@pytest.mark.parametrize(
    ("table", "column", "most"),
    [
        ("memories", "content", 20_000),
        ("memories", "entity_label", 200),
        ("memories", "attribute", 200),
        ("memory_versions", "content", 20_000),
        ("messages", "content", 400_000),
        ("todos", "content", 20_000),
        ("note_texts", "content", 8_000_000),
    ],
)
def test_a_text_is_as_long_as_the_api_takes_it(table: str, column: str, most: int) -> None:
    rule = next(one for one in IMPORTED_TABLES if one.name == table)
    bound = rule.columns[column]
    assert isinstance(bound, TextBound)
    assert bound.most_chars == most
