"""Scores as stacked bars: what helps goes to the right of zero, what hurts to the left, all bars on one scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH = 200.0
_NOTHING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One part of a score."""

    part: str
    value: float
    """As it counts: weight times part."""
    x: float
    width: float


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One score."""

    zero: float
    """Where zero lies."""
    segments: tuple[Segment, ...]


def stacked(scores: Sequence[Mapping[str, float]]) -> list[Bar]:
    """A bar per score, within the width."""
    right = max((sum(v for v in score.values() if v > 0) for score in scores), default=0.0)
    left = max((-sum(v for v in score.values() if v < 0) for score in scores), default=0.0)
    scale = WIDTH / (left + right) if left + right > _NOTHING else 0.0
    return [_bar(score, zero=left * scale, scale=scale) for score in scores]


def _bar(score: Mapping[str, float], *, zero: float, scale: float) -> Bar:
    segments = []
    ahead, behind = zero, zero
    for part, value in score.items():
        width = abs(value) * scale
        if value >= 0:
            segments.append(Segment(part=part, value=value, x=round(ahead, 1), width=round(width, 1)))
            ahead += width
        else:
            behind -= width
            segments.append(Segment(part=part, value=value, x=round(behind, 1), width=round(width, 1)))
    return Bar(zero=round(zero, 1), segments=tuple(segments))
