"""Parse numbers as people write them, in digits and in English words, to their exact value."""

import re
from fractions import Fraction

UNIT_WORDS = {
    word: value
    for value, word in enumerate(
        [
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
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
"""The values of "zero" to "nineteen"."""
TENS_WORDS = {
    word: value
    for value, word in zip(
        range(20, 100, 10), ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], strict=True
    )
}
"""The values of "twenty" to "ninety"."""
SCALE_WORDS = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "dozen": 12,
    "grand": 10**3,
    "lakh": 10**5,
    "crore": 10**7,
}
"""The factor of each scale word."""
SCALE_SIGNS = {
    "k": 10**3,
    "m": 10**6,
    "mn": 10**6,
    "mm": 10**6,
    "mil": 10**6,
    "mio": 10**6,
    "mln": 10**6,
    "b": 10**9,
    "bn": 10**9,
    "bln": 10**9,
    "mrd": 10**9,
    "t": 10**12,
    "tn": 10**12,
    "trn": 10**12,
}
"""The factor of each abbreviated scale, in lower case."""
VULGAR_FRACTIONS = {
    "½": Fraction(1, 2),
    "⅓": Fraction(1, 3),
    "⅔": Fraction(2, 3),
    "¼": Fraction(1, 4),
    "¾": Fraction(3, 4),
    "⅕": Fraction(1, 5),
    "⅖": Fraction(2, 5),
    "⅗": Fraction(3, 5),
    "⅘": Fraction(4, 5),
    "⅙": Fraction(1, 6),
    "⅚": Fraction(5, 6),
    "⅛": Fraction(1, 8),
    "⅜": Fraction(3, 8),
    "⅝": Fraction(5, 8),
    "⅞": Fraction(7, 8),
}
FRACTION_WORDS = {
    "half": 2,
    "halves": 2,
    "third": 3,
    "thirds": 3,
    "quarter": 4,
    "quarters": 4,
    "fourth": 4,
    "fourths": 4,
    "fifth": 5,
    "fifths": 5,
    "sixth": 6,
    "sixths": 6,
    "eighth": 8,
    "eighths": 8,
    "tenth": 10,
    "tenths": 10,
}
"""The name of a part, and into how many parts it divides the whole."""

_GROUP = r"[,'’\u00a0\u202f\u2009_ ]"
DIGITS_PATTERN = (
    rf"(?:\d{{1,3}}(?:{_GROUP}\d{{3}})+(?!\d)(?:\.\d+)?"
    r"|\d{1,3}(?:\.\d{3}){2,}(?!\d)(?:,\d+)?"
    r"|\d+(?:[.,]\d+)?(?:[eE][+-]?\d{1,2}(?!\w))?"
    r"|(?<!\d)\.\d+)"
)
_WORD = "|".join([*UNIT_WORDS, *TENS_WORDS, *SCALE_WORDS])
_SCALE = "|".join(SCALE_WORDS)
# "and" joins number words only after a scale ("two hundred and five"); elsewhere it separates two numbers.
_AFTER_SCALE = "(?:" + "|".join(f"(?<={word})" for word in SCALE_WORDS) + ")"
WORDS_PATTERN = (
    rf"(?:(?:half\s+an?|an?)\s+(?=(?:{_SCALE})\b))?(?:{_WORD})(?:\b|(?=fold\b))"
    rf"(?:(?:[\s-]+|{_AFTER_SCALE}\s+and\s+|\s+point\s+)(?:{_WORD})\b)*"
    rf"(?:\s+and\s+a\s+half\b(?:\s+(?:{_SCALE})\b)?)?"
)
_LONGEST = 60
"""The most characters of a number, or words, that are parsed. Arithmetic on a longer one takes quadratic time, and
Python refuses to parse more than 4,300 digits.
"""
_SEPARATOR = re.compile(_GROUP)
_THOUSANDS = re.compile(rf"{_GROUP}(?=\d{{3}}(?!\d))")


def parse_digits(text: str) -> Fraction:
    """Return the value of a number in digits, in English or continental notation; an overlong one is cut."""
    if len(text) > _LONGEST:
        text = _SEPARATOR.sub("", text[:_LONGEST]).rstrip("eE+-")
        text = text.replace(".", "") if text.count(".") > 1 else text
    # Two or more dots between groups of three are separators; a single one, as in 1.234, is a decimal point.
    if re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?", text):
        text = text.replace(".", "").replace(",", ".")
    text = _THOUSANDS.sub("", text)
    text = text.replace(",", ".")
    # Digits of any script become ASCII ones (decision 6).
    return Fraction("".join(str(int(sign)) if sign.isdigit() else sign for sign in text))


def parse_integer(text: str) -> int:
    """Return the value of plain digits; an overlong number is cut to 60 of them."""
    return int(text[:_LONGEST])


def parse_words(text: str) -> Fraction | None:
    """Return the value of a number in words; None for a bare scale ("several hundred"), which names no number."""
    tokens = [token for token in re.split(r"[\s-]+", text.lower()) if token][:_LONGEST]
    if tokens[0] in SCALE_WORDS:
        return None
    if tokens[0] == "half":
        return Fraction(1, 2) * SCALE_WORDS[tokens[2]]
    if tokens[0] in {"a", "an"}:
        tokens[0] = "one"
    if "half" in tokens:
        at = tokens.index("half")
        scale = SCALE_WORDS[tokens[at + 1]] if at + 1 < len(tokens) else 1
        return (_sum_words(tokens[: at - 2]) + Fraction(1, 2)) * scale
    if "point" in tokens:
        return _parse_decimal_words(tokens)
    return _sum_words(tokens)


def _parse_decimal_words(tokens: list[str]) -> Fraction:
    """Return the value of number words around "point", as in "three point five million"."""
    at = tokens.index("point")
    scale, decimals = 1, ""
    for token in tokens[at + 1 :]:
        if token in SCALE_WORDS:
            scale *= SCALE_WORDS[token]
        else:
            decimals += str(UNIT_WORDS.get(token, TENS_WORDS.get(token, 0)))
    return (_sum_words(tokens[:at]) + Fraction(f"0.{decimals or 0}")) * scale


def _sum_words(tokens: list[str]) -> Fraction:
    """Return the sum of number words: hundreds, tens and units form a group, which a larger scale closes."""
    total = group = 0
    for token in tokens:
        if token in UNIT_WORDS:
            group += UNIT_WORDS[token]
        elif token in TENS_WORDS:
            group += TENS_WORDS[token]
        elif token in {"hundred", "dozen"}:
            group = max(group, 1) * SCALE_WORDS[token]
        elif token in SCALE_WORDS:
            total += max(group, 1) * SCALE_WORDS[token]
            group = 0
    return Fraction(total + group)
