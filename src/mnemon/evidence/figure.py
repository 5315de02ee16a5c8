"""Find figures in a text: amounts, shares, multiples, counts and ranges, each with its exact value and unit.

Patterns find candidates, the longest at each position wins, and neighbours that form a range or a share are joined.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from mnemon.evidence import numeral
from mnemon.evidence.reference import mask_references
from mnemon.untrusted_text import reads_outside_text, text_blocks

SHARE = "share"
"""The unit of percentages and fractions: 25% and a quarter are the same figure."""
TIMES = "times"
"""The unit of multiples: "twice", "3x", "tenfold"."""

CURRENCIES = {
    "usd": r"us\$|\$|usd|us dollars?|dollars?|bucks",
    "eur": r"€|eur|euros?",
    "gbp": r"£|gbp|pounds?",
    "jpy": r"¥|jpy|yen",
    "chf": r"chf|(?:swiss )?francs?",
    "inr": r"₹|inr|rs\.?|rupees?",
    "cny": r"cny|rmb|yuan",
    "cad": r"c\$|cad",
    "aud": r"a\$|aud",
    "brl": r"r\$|brl",
    "sek": r"sek",
    "nok": r"nok",
    "dkk": r"dkk",
    "pln": r"pln",
    "mxn": r"mxn",
    "sgd": r"sgd",
    "hkd": r"hkd",
    "zar": r"zar",
}
"""The pattern of each currency, by its code."""
MEASURES = {
    "points": r"percentage[ -]points?|percent[ -]points?|pp",
    "percent": r"%|per\s?cent|pct",
    "permille": r"‰",
    "bps": r"basis[ -]points?|bps",
    TIMES: r"-?fold|times|x(?!\w)|×",
    "second": r"seconds?|secs?",
    "minute": r"minutes?|mins?",
    "hour": r"hours?|hrs?|h(?!\w)",
    "day": r"days?",
    "week": r"weeks?|wks?",
    "month": r"months?",
    "year": r"years?|yrs?",
}
"""The pattern of each other unit, by its name."""
_UNITS = {**MEASURES, **CURRENCIES}
_CODES = "|".join(f"(?P<before_{name}>{pattern})" for name, pattern in CURRENCIES.items())
_AFTER = "|".join(f"(?P<after_{name}>{pattern})" for name, pattern in _UNITS.items())
# "5 mm" is a length: only the upper-case MM counts as millions.
_SIGNS = "|".join(sorted(numeral.SCALE_SIGNS.keys() - {"mm"}, key=len, reverse=True)) + "|(?-i:MM)"
_SCALES = "|".join(numeral.SCALE_WORDS)
_VULGAR = "".join(numeral.VULGAR_FRACTIONS)
_PARTS = "|".join(sorted(numeral.FRACTION_WORDS, key=len, reverse=True))

_QUANTITY = re.compile(
    rf"(?:(?<![\w])(?:{_CODES})\s?)?"
    rf"(?:(?P<vulgar>(?:(?<!\d)\d+)?[{_VULGAR}])|(?<![\w.])(?P<over>\d+/\d+)(?![\w/])|(?<![\w])(?P<digits>{numeral.DIGITS_PATTERN})"
    rf"|\b(?P<words>{numeral.WORDS_PATTERN}))"
    rf"(?:(?P<sign>{_SIGNS}|\s(?-i:[KMBT]|MM|[Bb]n|[Mm]n|Mio|Mrd))(?![a-z])|[\s-]?(?P<scale>{_SCALES})\b)?"
    rf"(?:[\s-]?(?:{_AFTER})(?!\w)|(?P<suffix>[a-z]+))?",
    re.IGNORECASE,
)
_PART = re.compile(
    rf"\b(?P<count>an?|\d+|{'|'.join(numeral.UNIT_WORDS)})[\s-]+(?P<part>{_PARTS})\b(?!-)", re.IGNORECASE
)
_A_PART_GOES_ON = re.compile(
    r"\s*(?:$|[.,;:!?)]|(?:of|the|less|more|lower|higher|fewer|cheaper|faster|slower|are|is|were|was|have|has)\b)",
    re.IGNORECASE,
)
_BY = re.compile(r"\bby\s+$", re.IGNORECASE)
_OF = re.compile(r"\s+of\b", re.IGNORECASE)
_HALF = re.compile(
    r"(?<!-)(?<!\bfirst )(?<!\bsecond )(?<!\bother )(?<!\blatter )(?<!\bformer )(?<!\bthis )(?<!\bnext )(?<!\blast )"
    r"(?<!\bbetter )(?<!\btop )(?<!\bbottom )(?<!\band a )\bhal(?:f|ved|ving)\b(?!-|\s+(?:an?\s+)?(?:hundred|thousand"
    r"|million|billion|trillion|dozen|way)\b)",
    re.IGNORECASE,
)
_MULTIPLES = (
    (2, re.compile(r"\b(?:twice|doubl(?:ed|ing|es)|double\s+(?=the|its|their|our|what|that|as))\b", re.IGNORECASE)),
    (3, re.compile(r"\b(?:thrice|tripl(?:ed|ing|es)|triple\s+(?=the|its|their|our|what|that))\b", re.IGNORECASE)),
    (4, re.compile(r"\b(?:quadrupl(?:ed|ing|es?))\b", re.IGNORECASE)),
)
# The look-ahead is bounded: unbounded, a long chain of digits would take quadratic time.
_TIMES_BEFORE = re.compile(r"(?<!\w)[x×](?P<times>\d{1,6})(?![\w.,]{0,64}\d)", re.IGNORECASE)
_OUT_OF = re.compile(r"\s+(?:out\s+of|in|of\s+every)\s+(?:every\s+)?", re.IGNORECASE)
_TO = re.compile(r"\s*(?:-|–|—|\bto\b|\bor\b)\s*", re.IGNORECASE)
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\s+$", re.IGNORECASE)
# "ranging from 3 to 5" names a range; any other "from 3 to 5" a change, whose figures stay apart.
_CHANGE = re.compile(r"(?<!\branges )(?<!\branging )(?<!\brange )(?<!\branged )(?<!where )\bfrom\s+$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number that a text claims, or the two ends of a range."""

    low: Fraction
    """The value; for a range its first end."""
    high: Fraction
    """The same value; for a range its other end."""
    unit: str | None
    """`share`, `times`, `points`, `bps`, a span of time, a currency's code, or as spelled; None for a bare count."""
    start: int
    end: int
    text: str
    """The figure as spelled."""
    scale: int = 1
    """The factor given by a word or letter after the number; a range's first end takes it from the second."""

    @property
    def is_range(self) -> bool:
        """Say whether the figure is a range: its two ends differ."""
        return self.low != self.high


@reads_outside_text
# Every sentence of a proposal is checked against the same few sources.
@lru_cache(maxsize=4)
def find_figures(text: str) -> tuple[Figure, ...]:
    """Return every figure in the text, in order; dates, times, ordinals and references are not figures."""
    found: list[Figure] = []
    at = 0
    for block in text_blocks(text):
        found += (replace(one, start=one.start + at, end=one.end + at) if at else one for one in _block_figures(block))
        at += len(block)
    return tuple(found)


def _block_figures(text: str) -> Iterator[Figure]:
    """Yield the figures of one block of text, in order; the longest candidate at a position wins."""
    masked = mask_references(text)
    found: list[Figure] = []
    # Of candidates that begin at one place the longest comes first, and the others overlap it.
    for figure in sorted(_figure_candidates(masked), key=lambda each: (each.start, -each.end)):
        if not found or figure.start >= found[-1].end:
            found.append(figure)
    named = (replace(each, text=text[each.start : each.end]) for each in _join_neighbours(found, masked))
    yield from (each for each in named if each.text.lower() != "one")  # alone it is a pronoun more often than a count


def text_before(text: str, figure: Figure) -> str:
    """Return the 40 characters before the figure: enough to see what words like "about" or "up to" say of it."""
    return text[max(0, figure.start - 40) : figure.start]


def _figure_candidates(text: str) -> Iterator[Figure]:
    """Yield everything in the text that may be a figure, in no order and overlapping."""
    for match in _PART.finditer(text):
        if (share := _share_value(match, text)) is not None:
            yield _build_figure(match, share, SHARE)
    for match in _HALF.finditer(text):
        yield _build_figure(match, Fraction(1, 2), SHARE)
    for times, pattern in _MULTIPLES:
        for match in pattern.finditer(text):
            yield _build_figure(match, Fraction(times), TIMES)
    for match in _TIMES_BEFORE.finditer(text):
        yield _build_figure(match, Fraction(int(match["times"])), TIMES)
    for match in _QUANTITY.finditer(text):
        if (figure := _parse_quantity(match)) is not None:
            yield figure


def _share_value(match: re.Match[str], text: str) -> Fraction | None:
    """Return the fraction that a match like "two thirds" or "by a third" names.

    None where "a third" is an ordinal or "a quarter" a span of time.
    """
    count, part = match["count"].lower(), match["part"].lower()
    # `_HALF` finds these.
    if part in {"half", "halves"} and count in {"a", "an"}:
        return None
    if count in {"a", "an"}:
        by = _BY.search(text, max(0, match.start() - 8), match.start())
        goes_on = (_OF if part == "quarter" else _A_PART_GOES_ON).match(text, match.end())
        if not by and not goes_on:
            return None
        return Fraction(1, numeral.FRACTION_WORDS[part])
    value = Fraction(numeral.parse_integer(count)) if count.isdigit() else Fraction(numeral.UNIT_WORDS[count])
    if part.endswith("s") or value == 1:
        return value / numeral.FRACTION_WORDS[part]
    return None


def _parse_quantity(match: re.Match[str]) -> Figure | None:
    """Return the figure of a matched number with its scale and unit; None when its words name no number."""
    value = _number_value(match)
    if value is None:
        return None
    unit = _unit_of(match)
    if match["over"] and unit is None:
        return _build_figure(match, value, SHARE)
    scale = _scale_of(match)
    if match["words"] and not match["scale"] and not match["sign"]:
        return _worded_figure(match, value, unit, scale)
    if unit in {"percent", "permille"}:
        return _build_figure(match, value * scale / (100 if unit == "percent" else 1000), SHARE)
    return replace(_build_figure(match, value * scale, unit), scale=scale)


def _worded_figure(match: re.Match[str], value: Fraction, unit: str | None, scale: int) -> Figure:
    """Return the figure of a number written in words, whose value includes its scale already."""
    if unit in {"percent", "permille"}:
        return _build_figure(match, value / (100 if unit == "percent" else 1000), SHARE)
    return replace(_build_figure(match, value, unit), scale=scale)


def _scale_of(match: re.Match[str]) -> int:
    """Return the factor of a matched number's scale ("k", "million", the last of its words); 1 without one."""
    if match["sign"]:
        return numeral.SCALE_SIGNS[match["sign"].strip().lower()]
    if match["scale"]:
        return numeral.SCALE_WORDS[match["scale"].lower()]
    last = (match["words"] or "").lower().split(" ")[-1]
    return numeral.SCALE_WORDS.get(last, 1)


def _number_value(match: re.Match[str]) -> Fraction | None:
    """Return the matched number's value before its scale; None for a division by zero or a bare scale word."""
    if match["vulgar"]:
        whole = match["vulgar"][:-1]
        return Fraction(numeral.parse_integer(whole) if whole else 0) + numeral.VULGAR_FRACTIONS[match["vulgar"][-1]]
    if match["over"]:
        top, bottom = match["over"].split("/")
        parts = numeral.parse_integer(bottom)
        return Fraction(numeral.parse_integer(top), parts) if parts else None
    if match["digits"]:
        return numeral.parse_digits(match["digits"])
    return numeral.parse_words(match["words"])


def _unit_of(match: re.Match[str]) -> str | None:
    """Return what the matched number counts: the currency before it, or else the unit after it; None for neither."""
    number = next(group for group in ("digits", "words", "vulgar", "over") if match[group])
    if match.start(number) > match.start():
        return next(name for name in CURRENCIES if match[f"before_{name}"])
    last = match.lastgroup or ""  # looking at some fifty groups one by one would be slow
    if last.startswith("after_"):
        return last.removeprefix("after_")
    return match["suffix"].lower() if match["suffix"] else None


def _build_figure(match: re.Match[str], value: Fraction, unit: str | None) -> Figure:
    """Return the figure of one value at the place of the match; its text is filled in later."""
    return Figure(low=value, high=value, unit=unit, start=match.start(), end=match.end(), text="")


def _join_neighbours(found: list[Figure], text: str) -> Iterator[Figure]:
    """Yield the figures, with neighbours that together name a range or a share ("9 in 10") joined into one."""
    at = 0
    while at < len(found):
        first, second = found[at], found[at + 1] if at + 1 < len(found) else None
        pair = _join_pair(first, second, text) if second else ()
        yield from pair or (first,)
        at += 2 if pair else 1


def _join_pair(first: Figure, second: Figure, text: str) -> tuple[Figure, ...]:
    """Return the range or share that two neighbouring figures name together; empty when they are independent."""
    gap, before = text[first.end : second.start], text_before(text, first)
    if _OUT_OF.fullmatch(gap) and first.unit is None and second.unit is None and second.low:
        share = first.low / second.low
        return (replace(first, low=share, high=share, unit=SHARE, end=second.end),)
    between = _BETWEEN.search(before)
    if not _TO.fullmatch(gap) and not (between and _AND.fullmatch(gap)):
        return ()
    first, second = _same_measure(first, second)
    # "from 5 to 3 million" reports a change between two figures, not a range.
    if not between and _CHANGE.search(before):
        return (first, second)
    return (replace(first, high=second.high, end=second.end),)


def _is_scale_shared(first: Figure, second: Figure) -> bool:
    """Say whether the first end of a range takes the second's scale: in "4 to 5 million", not "200 to 3 thousand"."""
    unscaled = second.low / second.scale
    if first.scale >= second.scale or first.low >= 1000:
        return False
    return first.low <= unscaled or (first.scale == 1 and first.low < 10 * unscaled)


def _same_measure(first: Figure, second: Figure) -> tuple[Figure, Figure]:
    """Return both ends of a range in the scale and the unit that only one of them spells out."""
    if _is_scale_shared(first, second):
        value = first.low * second.scale
        first = replace(first, low=value, high=value, scale=second.scale)
    if first.unit is None and second.unit is not None:
        factor = Fraction(1, 100) if second.unit == SHARE else Fraction(1)
        value = first.low * factor
        first = replace(first, low=value, high=value, unit=second.unit)
    elif second.unit is None and first.unit is not None:
        factor = Fraction(1, 100) if first.unit == SHARE else Fraction(1)
        value = second.low * factor
        second = replace(second, low=value, high=value, unit=first.unit)
    return first, second
