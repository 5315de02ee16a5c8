"""Confidence is computed: it starts at one half and moves in log-odds with each distinct piece of evidence."""

import math
from collections.abc import Iterable
from enum import StrEnum

START = 0.5
_FARTHEST = 30.0
"""Log-odds beyond this would round to certainty; certainty is never reached."""


class Stance(StrEnum):
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"


class Strength(StrEnum):
    WEAK = "weak"
    MODERATE = "moderate"
    STRONG = "strong"


STEP = {Strength.WEAK: 0.35, Strength.MODERATE: 0.6, Strength.STRONG: 1.2}
"""How far one piece moves the log-odds."""


def confidence(pieces: Iterable[tuple[Stance, Strength]], start: float = START) -> float:
    """What the pieces together make of `start`, in (0, 1), whatever their order."""
    total = math.fsum((_log_odds(start), *(_step(stance, strength) for stance, strength in pieces)))
    return 1 / (1 + math.exp(-max(-_FARTHEST, min(_FARTHEST, total))))


def moved(before: float, stance: Stance, strength: Strength) -> float:
    """The confidence after one more piece."""
    return confidence(((stance, strength),), start=before)


def shown(value: float) -> float:
    """The confidence as the outside sees it: two decimals, never 0 or 1."""
    return min(0.99, max(0.01, round(value, 2)))


def _step(stance: Stance, strength: Strength) -> float:
    return STEP[strength] if stance is Stance.SUPPORTS else -STEP[strength]


def _log_odds(value: float) -> float:
    if value <= 0:
        return -_FARTHEST
    if value >= 1:
        return _FARTHEST
    return math.log(value / (1 - value))
