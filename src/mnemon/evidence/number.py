"""The number gate: which figures may stand in a text, given the sources it cites.

Three tiers. A figure that somebody shared stands in the cited source, in whatever spelling. A typical one stands in no
source and says so: it is a range, or named as approximate, and its sentence hedges it as typical. Any other figure
keeps the text out.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mnemon.evidence.figure import CURRENCIES, Figure, figures, preceding


class Tier(StrEnum):
    SHARED = "shared"
    """It stands in the cited source."""
    TYPICAL = "typical"
    """A range nobody shared, hedged as typical."""
    UNSOURCED = "unsourced"
    """Nobody said it: the text stays out."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A figure and the tier it falls in."""

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


def judge(text: str, sources: Iterable[str]) -> tuple[Judged, ...]:
    """Every figure of the text with its tier, given the texts it cites."""
    claimed = figures(text)
    if not claimed:
        return ()
    shared = [figure for source in sources for figure in figures(source)]
    return tuple(Judged(figure=figure, tier=_tier(text, figure, shared)) for figure in claimed)


def unsourced(text: str, sources: Iterable[str]) -> tuple[Figure, ...]:
    """The figures that keep the text out; none when it may stand."""
    return tuple(each.figure for each in judge(text, sources) if each.tier is Tier.UNSOURCED)


def number_fault(text: str, sources: Iterable[str]) -> str | None:
    """Why the number gate keeps the text out, naming the figures; None when it may stand."""
    out = unsourced(text, sources)
    if not out:
        return None
    named = ", ".join(f"“{figure.text.strip()}”" for figure in out)
    return f"number gate: {named} does not stand in the cited source and is no hedged typical range"


def same(one: Figure, other: Figure) -> bool:
    """Whether two spellings name one figure."""
    return (one.low, one.high, one.unit) == (other.low, other.high, other.unit)


def _tier(text: str, figure: Figure, shared: Sequence[Figure]) -> Tier:
    if _stands(text, figure, shared):
        return Tier.SHARED
    sentence = _sentence(text, figure)
    if figure.is_range and _hedged(sentence):
        return Tier.TYPICAL
    if _TYPICAL.search(sentence) and _APPROXIMATELY.search(preceding(text, figure)):
        return Tier.TYPICAL
    return Tier.UNSOURCED


def _stands(text: str, figure: Figure, shared: Sequence[Figure]) -> bool:
    units = {figure.unit, *CURRENCIES} if figure.unit is None else {figure.unit}
    alike = [other for other in shared if other.unit in units]
    if any((other.low, other.high) == (figure.low, figure.high) for other in alike):
        return True
    if figure.is_range:
        single = {other.low for other in alike if not other.is_range}
        return {figure.low, figure.high} <= single
    before = preceding(text, figure)
    ranges = [other for other in alike if other.is_range]
    at_low = _LOW_END.search(before) and any(figure.low == other.low for other in ranges)
    at_high = _HIGH_END.search(before) and any(figure.low == other.high for other in ranges)
    return bool(at_low or at_high)


def _hedged(sentence: str) -> bool:
    if _TYPICAL.search(sentence):
        return True
    return bool(_BENCHMARK.search(sentence) and _SOFT.search(sentence))


def _sentence(text: str, figure: Figure) -> str:
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if end.start() > figure.start:
            return text[start : end.start()]
        start = end.end()
    return text[start:]
