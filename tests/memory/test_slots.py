"""Of whose attribute a statement is a value, at the edges of what is read of it."""

from mnemon.memory.plain_statement import LONGEST_READ
from mnemon.memory.slots import read_slot

HEAD = "The courier brought " + "a box of paper and " * 20


def test_entries_of_a_log_are_told_apart_by_all_their_words() -> None:
    assert len(HEAD) > LONGEST_READ
    first = read_slot(HEAD + "three lamps", None, "event")
    second = read_slot(HEAD + "four lamps", None, "event")
    assert first.slot != second.slot
    assert first.slot == read_slot(HEAD + "three lamps", None, "event").slot


def test_short_entries_of_a_log_are_one_whatever_the_order_of_their_words() -> None:
    first = read_slot("Three lamps arrived on Monday", None, "event")
    assert first.slot == read_slot("On Monday three lamps arrived", None, "event").slot
    assert first.slot != read_slot("Four lamps arrived on Monday", None, "event").slot


def test_a_long_statement_of_no_named_attribute_is_a_value_of_nothing() -> None:
    assert read_slot("I live in Austin. " * 30, None, None).slot == ""
