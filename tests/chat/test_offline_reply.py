"""The reply without a model: recalled lines, and no claim without what it contradicts."""

from mnemon.chat.reply import reply_by_rule
from mnemon.layer import Layer, LayerItem


def told(*items: LayerItem) -> list[str]:
    layers = [Layer(name="L5", title="Relevant", items=items)]
    return [line.removeprefix("- ") for line in reply_by_rule("What is my bank account?", layers).splitlines()[1:]]


def fact(number: int, text: str = "Bank account") -> LayerItem:
    return LayerItem(text=f"{text} {number}", sources=(f"mem_{number}",))


def claim(number: int) -> LayerItem:
    return LayerItem(text=f"Bank account claimed {number}", sources=(f"claim_{number}",), needs=f"mem_{number}")


def test_a_claim_has_only_a_place_that_facts_leave() -> None:
    pairs = [item for number in range(4) for item in (fact(number), claim(number))]
    assert told(*pairs) == ["Bank account 0", "Bank account claimed 0", *(f"Bank account {n}" for n in (1, 2, 3))]
    five = [item for number in range(6) for item in (fact(number), claim(number))]
    assert told(*five) == [f"Bank account {number}" for number in range(5)]


def test_a_claim_about_a_fact_that_is_not_told_is_not_told() -> None:
    assert told(fact(1, "Pays in"), claim(1), fact(2)) == ["Bank account 2"]


def test_a_line_that_stands_in_two_layers_is_told_once() -> None:
    assert told(fact(1), fact(2), fact(1), claim(1)) == ["Bank account 1", "Bank account 2", "Bank account claimed 1"]
