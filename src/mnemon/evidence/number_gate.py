"""The number gate: which figures a text may contain, given the sources it cites.

There are three tiers. A shared figure occurs in the cited source, in whatever spelling. A typical one occurs in no
source and says so: it is a range, or called approximate, and its sentence hedges it as typical. Any other figure is
unsourced, and the gate rejects the text.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import chain

from mnemon.evidence.figure import CURRENCIES, Figure, find_figures, text_before
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
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")


@reads_outside_text
def judge_figures(text: str, sources: Iterable[str]) -> tuple[JudgedFigure, ...]:
    """Return every figure of the text with its tier: shared by a source it cites, typical, or unsourced."""
    claimed = find_figures(text)
    if not claimed:
        return ()
    shared = _SharedFigures(figure for source in sources for figure in find_figures(source))
    sentences = _sentences_around(text, claimed)
    return tuple(
        JudgedFigure(figure=figure, tier=_tier_of(text, figure, sentence, shared))
        for figure, sentence in zip(claimed, sentences, strict=True)
    )


def unsourced_figures(text: str, sources: Iterable[str]) -> tuple[Figure, ...]:
    """Return the figures for which the number gate rejects the text; none when it passes."""
    return tuple(each.figure for each in judge_figures(text, sources) if each.tier is Tier.UNSOURCED)


def number_fault(text: str, sources: Iterable[str]) -> str | None:
    """Return why the number gate rejects the text, naming the figures; None when it passes."""
    out = unsourced_figures(text, sources)
    if not out:
        return None
    named = ", ".join(f"“{figure.text.strip()}”" for figure in out)
    return f"number gate: {named} does not occur in the cited source and is not hedged as a typical range"


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
        for figure in found:
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
    # Two signs are needed: "roughly 4%" alone is a guess with a softener (decision 6).
    if sentence.typical and _APPROXIMATELY.search(text_before(text, figure)):
        return Tier.TYPICAL
    return Tier.UNSOURCED


def _is_shared(text: str, figure: Figure, shared: _SharedFigures) -> bool:
    """Say whether a source that the text cites gives the figure.

    It gives it exactly, or as one of the ends of a range: both ends of a claimed range as single figures, or a claimed
    "at least" or "up to" as the end of a range of its own.
    """
    # A currency may be left out, never added (decision 6).
    units = _BARE_UNITS if figure.unit is None else {figure.unit}
    # Exact and by value: a rounded figure is another figure (decision 6).
    if units & shared.exact.get((figure.low, figure.high), _NO_UNITS):
        return True
    if figure.is_range:
        # Whoever was told 3 and 5 may say "3 to 5".
        return all(units & shared.single.get(end, _NO_UNITS) for end in (figure.low, figure.high))
    # One end of a shared range may be named, but only as what it is: "at least" or "up to".
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
