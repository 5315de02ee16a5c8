"""The number gate: which figures a text may contain, given the sources it cites.

There are three tiers. A shared figure occurs in the cited source, in whatever spelling, or is the source's figure
rounded. A typical one occurs in no source and says so: it is a range, or round and called approximate, and its sentence
hedges it as typical. Any other figure is unsourced, and the gate rejects the text.

Number words of other languages, and in quoted facts also numbers that are no figures (a room, an id, a version), must
occur in the source as they are. Dates are checked by `said_dates`, where the time of the source is known.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import chain

from mnemon.evidence.figure import CURRENCIES, SHARE, Figure, find_figures, text_before
from mnemon.evidence.foreign_numbers import foreign_number_words
from mnemon.evidence.said_dates import covered_places, date_spans
from mnemon.untrusted_text import reads_outside_text


class Tier(StrEnum):
    """Where a figure comes from."""

    SHARED = "shared"
    """It occurs in the cited source."""
    TYPICAL = "typical"
    """A range that no source gives, hedged as typical."""
    UNSOURCED = "unsourced"
    """No source gives it: the text is rejected."""


@dataclass(frozen=True, kw_only=True)
class JudgedFigure:
    """A figure and its tier."""

    figure: Figure
    tier: Tier


_TYPICAL = re.compile(
    r"\b(?:typical(?:ly)?|usual(?:ly)?|general(?:ly)?|common(?:ly)?|often|normal(?:ly)?|tends?\s+to|rules?\s+of\s+thumb"
    r"|in\s+(?:many|most)\s+cases|ball-?park)\b",
    re.IGNORECASE,
)
_BENCHMARK = re.compile(
    r"\b(?:benchmarks?|industry|sector|peers|comparable|similar|compan(?:y|ies)\s+like|norms?)\b", re.IGNORECASE
)
_SOFT = re.compile(
    r"\b(?:roughly|about|around|approximately|perhaps|likely|may|might|can|could|suggests?|seems?|estimated?"
    r"|somewhere|something\s+like|on\s+the\s+order\s+of)\b",
    re.IGNORECASE,
)
_APPROXIMATELY = re.compile(
    r"(?:\b(?:around|about|roughly|approximately|circa|something\s+like)\s+|[~≈]\s?)$", re.IGNORECASE
)
_LOW_END = re.compile(
    r"\b(?:at\s+least|minimum(?:\s+of)?|no\s+less\s+than|over|more\s+than|starting\s+at|upwards\s+of)\s+$",
    re.IGNORECASE,
)
_HIGH_END = re.compile(
    r"\b(?:up\s+to|at\s+most|maximum(?:\s+of)?|as\s+(?:much|high|many)\s+as|no\s+more\s+than|under|less\s+than)\s+$",
    re.IGNORECASE,
)
_BIRTHDAY = re.compile(r"\b(\d{1,3})(?:st|nd|rd|th)\s+(?:birthday|anniversary)\b", re.IGNORECASE)
_OLD = re.compile(r"[\s-]*(?:old|of\s+age)\b", re.IGNORECASE)
_CODE = re.compile(r"(?<![\w@+#./:-])[\w@+#./:-]{0,200}\d[\w@+#./:-]{0,200}")
_ORDINAL = re.compile(r"^(\d+)(?:st|nd|rd|th|s)$")
_OWN_NUMBERS = re.compile(
    r"\b(?:session|turn|week|interview)s?\s#?\d{1,4}\b|(?m:^[^\S\n]*\(?\d{1,2}[.)]\s)|\b24/7\b|\b1:1\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")


@reads_outside_text
def judge_figures(text: str, sources: Iterable[str]) -> tuple[JudgedFigure, ...]:
    """Return every figure of the text with its tier: shared by a source it cites, typical, or unsourced."""
    claimed = find_figures(text)
    if not claimed:
        return ()
    given = tuple(sources)
    shared = _SharedFigures(figure for source in given for figure in (*find_figures(source), *_birthday_ages(source)))
    sentences = _sentences_around(text, claimed)
    return tuple(
        JudgedFigure(figure=figure, tier=_tier_of(text, figure, sentence, shared))
        for figure, sentence in zip(claimed, sentences, strict=True)
    )


def _birthday_ages(text: str) -> Iterator[Figure]:
    """Yield the age that each birthday in the text gives: whoever has their 40th birthday is 40."""
    for match in _BIRTHDAY.finditer(text):
        age = Fraction(int(match[1]))
        yield Figure(low=age, high=age, unit=None, start=match.start(), end=match.end(), text=match[0])


def unsourced_figures(text: str, sources: Iterable[str]) -> tuple[Figure, ...]:
    """Return the figures for which the number gate rejects the text; none when it passes."""
    return tuple(each.figure for each in judge_figures(text, sources) if each.tier is Tier.UNSOURCED)


def number_fault(text: str, sources: Iterable[str]) -> str | None:
    """Return why the number gate rejects the text, naming the figures; None when it passes."""
    given = tuple(sources)
    out = [figure.text.strip() for figure in unsourced_figures(text, given)]
    if out:
        named = ", ".join(f"“{one}”" for one in out)
        return f"number gate: {named} does not occur in the cited source and is not hedged as a typical range"
    strange = foreign_number_words(text)
    strange = strange and strange - {word for source in given for word in foreign_number_words(source)}
    return f"number gate: “{min(strange)}” does not occur in the cited source" if strange else None


@reads_outside_text
def code_fault(text: str, sources: Iterable[str]) -> str | None:
    """Return which number of the text that is neither a figure nor a date occurs in no source; else None.

    Numbers of sessions, turns and weeks, and of the items of a list, are the text's own. A text without quotes, such as
    what would show a hypothesis wrong, may name a quarter or a phase that nobody mentioned; a quoted fact may not.
    """
    codes = [(match.start(), match[0]) for match in _CODE.finditer(_OWN_NUMBERS.sub(_blank_out, text))]
    if not codes:
        return None
    spans = [*((one.start, one.end) for one in find_figures(text)), *date_spans(text)]
    judged = covered_places(len(text), spans)
    said = {_bare_code(code) for source in sources for code in _CODE.findall(source)}
    for start, code in codes:
        inside = any(judged[start : start + len(code)])
        if not inside and _bare_code(code) not in said:
            return f"“{code}” does not occur in the quoted sentence"
    return None


def _blank_out(match: re.Match[str]) -> str:
    """Return spaces in place of a match, as many as it has characters, to keep all positions."""
    return " " * len(match[0])


def _bare_code(code: str) -> str:
    """Return a code as codes are compared: without punctuation at its ends and without an ordinal's ending."""
    return _ORDINAL.sub(r"\1", code.strip(".,:/-+#").casefold())


@reads_outside_text
def restore_figures(text: str, sources: Iterable[str]) -> str:
    """Return the text with each rounded figure replaced by the figure of the source that it rounds."""
    claimed = find_figures(text)
    if not claimed:
        return text
    given = [figure for source in sources for figure in find_figures(source)]
    shared = _SharedFigures(given)
    for figure in reversed(claimed):
        if _is_exact(text, figure, shared):
            continue
        own = next((one for one in given if is_rounded(figure, one)), None)
        if own is not None:
            text = text[: figure.start] + own.text.strip() + text[figure.end :]
    return text


def is_same_figure(one: Figure, other: Figure) -> bool:
    """Say whether two figures have the same value or range and unit, however they are spelled."""
    return (one.low, one.high, one.unit) == (other.low, other.high, other.unit)


_Units = defaultdict[Fraction | tuple[Fraction, Fraction], set[str | None]]
"""The units by the value, or both ends of a range, that was shared in them."""
_NO_UNITS: frozenset[str | None] = frozenset()
_BARE_UNITS: frozenset[str | None] = frozenset({None, *CURRENCIES})
"""The units a count without a unit may stand for: none, or any currency."""


class _SharedFigures:
    """The figures of the sources, indexed by what a claim is compared with, so that a lookup takes one step."""

    def __init__(self, found: Iterable[Figure]) -> None:
        """Index the figures of the sources by both ends, single value, low end and high end."""
        self.exact: _Units = defaultdict(set)
        self.single: _Units = defaultdict(set)
        self.low_ends: _Units = defaultdict(set)
        self.high_ends: _Units = defaultdict(set)
        self.found: list[Figure] = []
        for figure in found:
            if len(self.found) < _MOST_COMPARED:
                self.found.append(figure)
            self.exact[figure.low, figure.high].add(figure.unit)
            if figure.is_range:
                self.low_ends[figure.low].add(figure.unit)
                self.high_ends[figure.high].add(figure.unit)
            else:
                self.single[figure.low].add(figure.unit)


@dataclass(frozen=True, kw_only=True)
class _SentenceHedge:
    """How the sentence around a figure qualifies its figures."""

    typical: bool
    hedged: bool


def _tier_of(text: str, figure: Figure, sentence: _SentenceHedge, shared: _SharedFigures) -> Tier:
    """Return the tier of one figure: shared by a source, typical and hedged as such, or unsourced."""
    if _is_shared(text, figure, shared):
        return Tier.SHARED
    if figure.is_range and sentence.hedged:
        return Tier.TYPICAL
    # Two signs are needed: "roughly 4%" alone is a guess with a softener (decision 6); and "about 37.2%" is no rule of
    # thumb, whatever its sentence says.
    if sentence.typical and _APPROXIMATELY.search(text_before(text, figure)) and _is_round(figure):
        return Tier.TYPICAL
    return Tier.UNSOURCED


def _is_shared(text: str, figure: Figure, shared: _SharedFigures) -> bool:
    """Say whether a source gives the figure, exactly or with more digits."""
    return _is_exact(text, figure, shared) or any(is_rounded(figure, one) for one in shared.found)


_DIGITS = re.compile(r"\d[\d,'’.\u00a0\u202f\u2009_ ]*")
_MOST_ROUNDING = Fraction(1, 20)
"""The largest difference from the source, as a share of it, that counts as rounding."""
_MOST_COMPARED = 200
"""The most figures of the sources that a claimed one is compared with as a rounding of them."""


def is_rounded(claimed: Figure, given: Figure) -> bool:
    """Say whether the claimed figure is the given one with fewer digits: $4.1M for $4,123,456."""
    if claimed.is_range or given.is_range or claimed.unit != given.unit or not given.low:
        return False
    step = _last_place(claimed)
    # Small counts are never rounded: 3 children are not 3.2.
    if step is None or abs(given.low) < 10 or (given.unit is None and given.low < 1000):
        return False
    apart = abs(given.low - claimed.low)
    finer = _last_place(given)
    return finer is not None and finer < step and apart <= step / 2 and apart <= _MOST_ROUNDING * abs(given.low)


def _last_place(figure: Figure) -> Fraction | None:
    """Return the place value of a figure's last written digit: 100,000 for $4.1M; None for a figure in words."""
    found = _DIGITS.search(figure.text)
    if not found:
        return None
    digits = found[0].strip(" .,'’_")
    whole, point, decimals = digits.rpartition(".") if digits.count(".") == 1 else (digits, "", "")
    scale = Fraction(figure.scale) * (Fraction(1, 100) if figure.unit == SHARE else 1)
    if point:
        return scale * Fraction(1, 10) ** min(len(decimals), 20)
    bare = re.sub(r"\D", "", whole)
    return scale * Fraction(10) ** min(20, len(bare) - len(bare.rstrip("0")))


def _is_round(figure: Figure) -> bool:
    """Say whether the figure is round: one digit that is not zero, or two with a five as the second."""
    value = figure.low * (100 if figure.unit == SHARE else 1)
    if value <= 0:
        return False
    while value.denominator != 1 and value < 10:
        value *= 10
    while value >= 100 and value % 10 == 0:
        value /= 10
    return value.denominator == 1 and (value < 10 or (value < 100 and value % 5 == 0))


def _is_exact(text: str, figure: Figure, shared: _SharedFigures) -> bool:
    """Say whether a source gives exactly this figure, alone or as an end of a range.

    It gives it exactly, or as one of the ends of a range: both ends of a claimed range as single figures, or a claimed
    "at least" or "up to" as the end of a range of its own.
    """
    units: frozenset[str | None] = _BARE_UNITS if figure.unit is None else frozenset({figure.unit})
    if figure.unit == "year" and _OLD.match(text, figure.end):
        units = frozenset({None, "year"})  # "I'm 34" says that somebody is 34 years old
    if units & shared.exact.get((figure.low, figure.high), _NO_UNITS):
        return True
    if figure.is_range:
        # Whoever was told 3 and 5 may say "3 to 5".
        return all(units & shared.single.get(end, _NO_UNITS) for end in (figure.low, figure.high))
    if figure.unit == SHARE and None in shared.exact.get((figure.low, figure.high), _NO_UNITS):
        return figure.low < 1  # a program writes 0.07 for 7%
    before = text_before(text, figure)
    at_low = _LOW_END.search(before) and units & shared.low_ends.get(figure.low, _NO_UNITS)
    at_high = _HIGH_END.search(before) and units & shared.high_ends.get(figure.low, _NO_UNITS)
    return bool(at_low or at_high)


def _assess_sentence(sentence: str) -> _SentenceHedge:
    """Return whether a sentence calls its figures typical, and whether it hedges them at all."""
    # A benchmark ("in the industry") hedges a range only together with a softener ("roughly").
    typical = _TYPICAL.search(sentence) is not None
    hedged = typical or bool(_BENCHMARK.search(sentence) and _SOFT.search(sentence))
    return _SentenceHedge(typical=typical, hedged=hedged)


def _sentences_around(text: str, claimed: Sequence[Figure]) -> Iterator[_SentenceHedge]:
    """Yield, for each figure, how the sentence around it hedges its figures.

    The figures come in order, so that the text is scanned once.
    """
    ends = chain(((end.start(), end.end()) for end in _SENTENCE_END.finditer(text)), [(len(text) + 1, len(text) + 1)])
    until, after, sentence = -1, 0, _assess_sentence("")
    for figure in claimed:
        if until <= figure.start:
            start = after
            while until <= figure.start:
                start = after
                until, after = next(ends)
            sentence = _assess_sentence(text[start:until])
        yield sentence
