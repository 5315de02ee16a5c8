"""Objects are made from rows by the names of their columns."""

from dataclasses import dataclass
from enum import StrEnum

import pytest

from mnemon.db.rows import from_row


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, kw_only=True)
class Ball:
    id: str
    colour: Colour
    shade: Colour | None
    marks: tuple[str, ...]
    spare: tuple[str, ...] | None
    count: int = 7


ROW = {"id": "b1", "colour": "red", "shade": None, "marks": ["x", "y"], "spare": None, "count": 2, "org_id": "acme"}


def test_columns_become_fields_of_the_fields_types_and_others_are_left_out() -> None:
    made = from_row(Ball, ROW)
    assert made == Ball(id="b1", colour=Colour.RED, shade=None, marks=("x", "y"), spare=None, count=2)
    assert isinstance(made.colour, Colour)
    assert from_row(Ball, {**ROW, "shade": "red", "spare": []}) == Ball(
        id="b1", colour=Colour.RED, shade=Colour.RED, marks=("x", "y"), spare=(), count=2
    )


def test_a_value_stands_for_its_column_whether_there_is_one_or_not() -> None:
    assert from_row(Ball, ROW, id="b2", count=9) == from_row(Ball, {**ROW, "id": "b2", "count": 9})
    without = {name: value for name, value in ROW.items() if name != "count"}
    assert from_row(Ball, without, count=9).count == 9


def test_a_column_that_was_not_selected_is_noticed_even_where_the_field_has_a_default() -> None:
    with pytest.raises(KeyError, match="count"):
        from_row(Ball, {name: value for name, value in ROW.items() if name != "count"})


def test_a_word_that_is_none_of_the_enums_is_refused() -> None:
    with pytest.raises(ValueError, match="green"):
        from_row(Ball, {**ROW, "colour": "green"})
