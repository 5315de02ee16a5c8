"""Every spelling of a number that is read, with its value worked out by hand."""

from fractions import Fraction

import pytest

from mnemon.evidence.confidence import LOG_ODDS_STEPS, START_CONFIDENCE, Strength, compute_confidence, round_confidence
from mnemon.evidence.figure import Figure, find_figures, text_before
from mnemon.evidence.number_gate import Tier, is_same_figure, judge_figures
from mnemon.evidence.numeral import parse_digits, parse_words
from mnemon.evidence.privacy import is_confidential_text

THOUSAND, MILLION, BILLION, TRILLION = 10**3, 10**6, 10**9, 10**12


def only(text: str) -> Figure:
    (figure,) = find_figures(text)
    return figure


@pytest.mark.parametrize(
    ("signs", "scale"),
    [
        (["k", "K"], THOUSAND),
        (["m", "M", "mn", "MM", "mil", "mio", "mln", " M", " MM", " mn", " Mio"], MILLION),
        (["b", "B", "bn", "bln", "mrd", " B", " bn", " Bn", " Mrd"], BILLION),
        (["t", "tn", "trn", " T"], TRILLION),
        ([" hundred"], 100),
        ([" thousand", "-thousand"], THOUSAND),
        ([" million"], MILLION),
        ([" billion"], BILLION),
        ([" trillion"], TRILLION),
        ([" dozen"], 12),
        ([" lakh"], 100_000),
        ([" crore"], 10_000_000),
    ],
)
def test_what_follows_a_number_multiplies_it(signs: list[str], scale: int) -> None:
    for sign in signs:
        figure = only(f"it is $3{sign} in all")
        value = Fraction(3 * scale)
        assert (sign, figure.low, figure.high, figure.scale, figure.unit) == (sign, value, value, scale, "usd")


@pytest.mark.parametrize(
    ("sign", "value"),
    [
        ("½", "1/2"), ("⅓", "1/3"), ("⅔", "2/3"), ("¼", "1/4"), ("¾", "3/4"), ("⅕", "1/5"), ("⅖", "2/5"), ("⅗", "3/5"),
        ("⅘", "4/5"), ("⅙", "1/6"), ("⅚", "5/6"), ("⅛", "1/8"), ("⅜", "3/8"), ("⅝", "5/8"), ("⅞", "7/8"),
    ],
)  # fmt: skip
def test_a_fraction_in_one_sign_is_read(sign: str, value: str) -> None:
    assert only(f"{sign} hours").low == Fraction(value)
    assert only(f"12{sign} hours").low == 12 + Fraction(value)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("one half of it", "1/2"), ("two halves of it", "1"), ("a third of it", "1/3"), ("two thirds of it", "2/3"),
        ("a quarter of it", "1/4"), ("three quarters of it", "3/4"), ("a fourth of it", "1/4"),
        ("three fourths of it", "3/4"), ("a fifth of it", "1/5"), ("two fifths of it", "2/5"), ("a sixth of it", "1/6"),
        ("five sixths of it", "5/6"), ("an eighth of it", "1/8"), ("three eighths of it", "3/8"),
        ("a tenth of it", "1/10"), ("3 tenths of it", "3/10"), ("it fell by a third", "1/3"),
        ("it fell by a third again", "1/3"), ("by a third again", "1/3"), ("by a quarter this year", "1/4"),
        ("it took a third less time", "1/3"), ("half of it", "1/2"),
        ("3/8 of it", "3/8"), ("9 out of 10 did", "9/10"), ("2 of every 8 did", "1/4"), ("25 percent", "1/4"),
        ("25‰", "1/40"), ("five percent", "1/20"), ("five‰", "1/200"),
    ],
)  # fmt: skip
def test_a_share_is_one_figure_however_it_is_spelled(text: str, share: str) -> None:
    figure = only(text)
    assert (figure.low, figure.high, figure.unit) == (Fraction(share), Fraction(share), "share")


@pytest.mark.parametrize(
    "text", ["a third time", "a quarter past", "the last quarter", "two third parties", "we met in a quarter."]
)
def test_a_part_that_is_none_is_passed_over(text: str) -> None:
    assert find_figures(text) == () or find_figures(text)[0].unit != "share"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("zero", 0), ("nineteen", 19), ("twenty", 20), ("thirty", 30), ("forty", 40), ("fifty", 50), ("sixty", 60),
        ("seventy", 70), ("eighty", 80), ("ninety", 90), ("ninety-nine", 99), ("one hundred and one", 101),
        ("a hundred", 100), ("two thousand and five", 2005), ("three million two hundred thousand", 3_200_000),
        ("half a million", 500_000), ("half a dozen", 6), ("two and a half", Fraction(5, 2)),
        ("two and a half million", 2_500_000), ("three point one four", Fraction("3.14")), ("a dozen", 12),
    ],
)  # fmt: skip
def test_words_are_read(text: str, value: Fraction) -> None:
    assert parse_words(text) == value


@pytest.mark.parametrize("text", ["hundred", "thousand", "dozen"])
def test_a_bare_scale_is_no_number(text: str) -> None:
    assert parse_words(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234", "1234"), ("1'234'567", "1234567"), ("1 234", "1234"), ("1.234.567", "1234567"), ("1,5", "3/2"),
        ("1.234.567,5", "2469135/2"), ("1_000", "1000"), ("1e3", "1000"), (".5", "1/2"), ("12.25", "49/4"),
        ("1,234.5", "2469/2"), ("٣", "3"),
    ],
)  # fmt: skip
def test_digits_are_read_with_either_habit_of_separators(text: str, value: str) -> None:
    assert parse_digits(text) == Fraction(value)


def test_sixty_signs_of_a_number_are_read() -> None:
    assert parse_digits("9" * 60) == 10**60 - 1
    assert parse_digits("9" * 61) == 10**60 - 1


@pytest.mark.parametrize(
    ("text", "low", "high", "unit"),
    [
        ("$4-5M", 4 * MILLION, 5 * MILLION, "usd"),
        ("$4M-5M", 4 * MILLION, 5 * MILLION, "usd"),
        ("$999-1000k", 999 * THOUSAND, MILLION, "usd"),
        ("1000 to 2k users", 1000, 2000, None),
        ("999 to 2000k users", 999 * THOUSAND, 2 * MILLION, None),
        ("two to three thousand users", 2000, 3000, None),
        ("two to three hundred users", 200, 300, None),
        ("two hundred to three thousand users", 200, 3000, None),
        ("two hundred to three hundred thousand users", 200 * THOUSAND, 300 * THOUSAND, None),
        ("three hundred to two hundred thousand users", 300, 200 * THOUSAND, None),
        ("a dozen to two thousand users", 12, 2000, None),
        ("two to three dozen users", 24, 36, None),
        ("29 to 3k users", 29 * THOUSAND, 3 * THOUSAND, None),
        ("30 to 3k users", 30, 3 * THOUSAND, None),
        ("3 to 5 days", 3, 5, "day"),
        ("5% to 7", Fraction(5, 100), Fraction(7, 100), "share"),
        ("5 to 7%", Fraction(5, 100), Fraction(7, 100), "share"),
        ("between 3 and 5 weeks", 3, 5, "week"),
        ("ranging from 3 to 5 weeks", 3, 5, "week"),
        ("$3 to 5", 3, 5, "usd"),
        ("3 or 4 people", 3, 4, None),
    ],
)
def test_both_ends_of_a_range_have_one_measure(text: str, low: Fraction, high: Fraction, unit: str | None) -> None:
    figure = only(text)
    assert (figure.low, figure.high, figure.unit, figure.is_range) == (low, high, unit, True)
    assert text[figure.start : figure.end] == figure.text


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("it rose from 3 to 5 weeks", [3, 5]),
        ("it fell from $5 to 3M", [5 * MILLION, 3 * MILLION]),
        ("3 and 5 weeks", [3, 5]),
        ("3 people, 5 weeks", [3, 5]),
        ("$3 in 10 days", [3, 10]),
        ("one of 7 days", [7]),
    ],
)
def test_two_figures_that_are_no_range_stay_two(text: str, values: list[int]) -> None:
    assert [(figure.low, figure.high) for figure in find_figures(text)] == [
        (Fraction(value), Fraction(value)) for value in values
    ]


@pytest.mark.parametrize(
    ("text", "times"),
    [("twice as many", 2), ("it doubled", 2), ("thrice", 3), ("it tripled", 3), ("it quadrupled", 4), ("x7", 7),
     ("5x", 5), ("a 6-fold rise", 6), ("3 times", 3)],
)  # fmt: skip
def test_a_multiple_is_read(text: str, times: int) -> None:
    figure = only(text)
    assert (figure.low, figure.unit) == (Fraction(times), "times")


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("€3", "eur"), ("3 euros", "eur"), ("£3", "gbp"), ("¥3", "jpy"), ("CHF 3", "chf"), ("₹3", "inr"),
        ("3 yuan", "cny"), ("C$3", "cad"), ("A$3", "aud"), ("R$3", "brl"), ("3 bps", "bps"),
        ("3 percentage points", "points"), ("3 seconds", "second"), ("3 mins", "minute"), ("3 hrs", "hour"),
        ("3 months", "month"), ("3 yrs", "year"), ("3 dollars", "usd"), ("3kg", "kg"), ("3 people", None),
    ],
)  # fmt: skip
def test_a_unit_is_read_before_or_after(text: str, unit: str | None) -> None:
    assert (only(text).low, only(text).unit) == (Fraction(3), unit)


def test_what_stands_before_a_figure_is_forty_characters() -> None:
    text = "x" * 50 + " $5"
    assert text_before(text, only(text)) == ("x" * 50 + " ")[-40:]
    assert text_before("of $5", only("of $5")) == "of "


SOURCE = ["between $3M and $5M, 7 people and 9 people"]


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("at least $3M", Tier.SHARED), ("up to $5M", Tier.SHARED), ("at least $5M", Tier.UNSOURCED),
        ("up to $3M", Tier.UNSOURCED), ("exactly $3M", Tier.UNSOURCED), ("$3M to $5M", Tier.SHARED),
        ("$3M to $6M", Tier.UNSOURCED), ("7 to 9 people", Tier.SHARED), ("7 to 8 people", Tier.UNSOURCED),
        ("7 people", Tier.SHARED), ("7 days", Tier.UNSOURCED), ("$7", Tier.UNSOURCED),
        ("3,000,000 to 5,000,000", Tier.SHARED),
        ("typically about 30 days", Tier.TYPICAL), ("typically 30 days", Tier.UNSOURCED),
        ("about 30 days", Tier.UNSOURCED), ("peers may lose 30 to 40 days", Tier.TYPICAL),
        ("peers lose 30 to 40 days", Tier.UNSOURCED), ("it may take 30 to 40 days", Tier.UNSOURCED),
        ("Typically so. It takes 30 to 40 days.", Tier.UNSOURCED),
        ("It takes 30 to 40 days, typically. Yes.", Tier.TYPICAL),
        ("It takes 30 to 40 days. Typically so.", Tier.UNSOURCED),
    ],
)  # fmt: skip
def test_a_figure_falls_in_its_tier(text: str, tier: Tier) -> None:
    assert [each.tier for each in judge_figures(text, SOURCE)] == [tier]


def test_a_scale_that_both_ends_spell_out_counts_once() -> None:
    figure = only("1 dozen to 20 dozen eggs")
    assert (figure.low, figure.high) == (Fraction(12), Fraction(240))


def test_the_ends_of_two_ranges_make_no_third() -> None:
    assert [each.tier for each in judge_figures("$3M to $8M", ["$3M to $5M, then $8M to $9M"])] == [Tier.UNSOURCED]
    assert [each.tier for each in judge_figures("$3M to $8M", ["$3M, then $8M"])] == [Tier.SHARED]


def test_two_spellings_of_one_figure_are_the_same() -> None:
    assert is_same_figure(only("25%"), only("a quarter of it"))
    assert not is_same_figure(only("$5"), only("€5"))
    assert not is_same_figure(only("$5"), only("$6"))
    assert not is_same_figure(only("$5-6"), only("$5-7"))


def test_confidence_moves_in_log_odds_and_is_never_shown_as_certain() -> None:
    assert (START_CONFIDENCE, LOG_ODDS_STEPS) == (
        0.5,
        {Strength.WEAK: 0.35, Strength.MODERATE: 0.6, Strength.STRONG: 1.2},
    )
    assert [round_confidence(value) for value in (0.0, 0.014, 0.015, 0.5, 0.994, 1.0)] == [
        0.01,
        0.01,
        0.01,
        0.5,
        0.99,
        0.99,
    ]
    assert compute_confidence((), start=0.8) == pytest.approx(0.8)
    assert 1 - compute_confidence((), start=1.0) == pytest.approx(9.36e-14, rel=1e-2)
    assert compute_confidence((), start=0.0) == pytest.approx(9.36e-14, rel=1e-2)


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("this is just between us", True),
        ("it is not just between us", False),
        ("it isn't really just between us", False),
        ("It is not far. Let us talk at length: just between us, he left", True),
        ("not that it matters to anyone, just between us", True),
    ],
)
def test_a_denial_counts_only_right_before_the_phrase(text: str, private: bool) -> None:
    assert is_confidential_text(text) is private
