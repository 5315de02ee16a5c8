from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.evidence.figure import find_figures
from mnemon.evidence.number_gate import Tier, judge_figures, number_fault, unsourced_figures

WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
]
TENS = {20: "twenty", 30: "thirty", 40: "forty", 50: "fifty", 60: "sixty", 70: "seventy", 80: "eighty", 90: "ninety"}


def spelled(number: int) -> str:
    if number < 17:
        return WORDS[number]
    if number < 20:
        return {17: "seventeen", 18: "eighteen", 19: "nineteen"}[number]
    if number < 100:
        ten, rest = number - number % 10, number % 10
        return TENS[ten] + (f"-{WORDS[rest]}" if rest else "")
    if number < 1000:
        rest = number % 100
        return f"{WORDS[number // 100]} hundred" + (f" and {spelled(rest)}" if rest else "")
    rest = number % 1000
    return f"{spelled(number // 1000)} thousand" + (f" {spelled(rest)}" if rest else "")


@given(st.integers(2, 999_999))
def test_digits_and_words_name_the_same_figure(number: int) -> None:
    assert number_fault(f"They counted {number:,} orders", [f"we counted {spelled(number)} orders"]) is None
    assert number_fault(f"They counted {spelled(number)} orders", [f"we counted {number} orders in all"]) is None


@given(st.integers(2, 999), st.integers(2, 999))
def test_another_figure_than_the_shared_one_stays_out(claimed: int, shared: int) -> None:
    fault = number_fault(f"It costs ${claimed}k", [f"it costs ${shared}k"])
    assert (fault is None) == (claimed == shared)


@given(st.integers(1, 500))
def test_a_scale_can_be_written_out(number: int) -> None:
    assert find_figures(f"${number}M")[0].low == number * 10**6
    assert number_fault(f"${number}M", [f"{number} million dollars"]) is None
    assert number_fault(f"${number}M", [f"${number},000,000"]) is None


@given(st.text(max_size=200), st.text(max_size=80))
def test_any_text_can_be_judged_and_its_own_words_are_always_a_source(text: str, other: str) -> None:
    assert unsourced_figures(text, [text, other]) == ()
    for figure in find_figures(text):
        assert text[figure.start : figure.end] == figure.text


@pytest.mark.parametrize(
    ("text", "low", "high", "unit"),
    [
        ("$4–5M", 4_000_000, 5_000_000, "usd"),
        ("between one and three percent", Fraction(1, 100), Fraction(3, 100), "share"),
        ("1.234.567,89 EUR", Fraction("1234567.89"), Fraction("1234567.89"), "eur"),
        ("two and a half weeks", Fraction(5, 2), Fraction(5, 2), "week"),
        ("tenfold", 10, 10, "times"),
        ("x3", 3, 3, "times"),
        ("9 in 10", Fraction(9, 10), Fraction(9, 10), "share"),
    ],
)
def test_a_figure_is_read_exactly(text: str, low: int | Fraction, high: int | Fraction, unit: str) -> None:
    (figure,) = find_figures(text)
    assert (figure.low, figure.high, figure.unit) == (low, high, unit)


@pytest.mark.parametrize("text", ["9" * 5000, "1e999999999", "3/0", "0 in 0", "half a", "1,111," * 200])
def test_outlandish_numbers_do_no_harm(text: str) -> None:
    """They stand in their source, so they are let in like any other figure; and nowhere else."""
    assert number_fault(text, [text]) is None
    read = find_figures(text)
    assert all(text[figure.start : figure.end] == figure.text for figure in read)
    assert (number_fault(text, []) is None) == (not read)


def test_each_figure_has_its_tier() -> None:
    judged = judge_figures("You said $4.1M; peers usually lose 2–4%; I guess 7%.", ["we lose $4.1M"])
    assert [each.tier for each in judged] == [Tier.SHARED, Tier.TYPICAL, Tier.UNSOURCED]


def test_the_fault_names_the_figure() -> None:
    assert "“7%”" in (number_fault("It is 7%", []) or "")


def test_a_figure_far_into_a_text_is_found_where_it_stands() -> None:
    filler = "We talked about the weather at length. " * 2_000
    text = f"{filler}It costs 45 euros. {filler}Or 46 euros."
    assert [text[one.start : one.end] for one in find_figures(text)] == ["45 euros", "46 euros"]
