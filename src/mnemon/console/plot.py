"""Drawings as numbers: confidence over time with what moved it, conviction by conviction, stated against happened."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from mnemon.engagement.document import Hypothesis
from mnemon.evidence.confidence import START, Stance, moved, shown
from mnemon.runs.calibration import Reliability

EDGE = 8.0
TALL = 100
"""From this height on there is room for figures at the left."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One thing that moved the line."""

    x: float
    y: float
    up: bool
    """Whether it moved it up; told by the mark's shape too."""
    label: str
    target: str
    """The element that tells more."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """A value between 0 and 1 over time."""

    width: int
    height: int
    line: str
    """The points of a polyline."""
    marks: tuple[Mark, ...]
    bar: float | None
    """How high the value must come, where something depends on it."""
    words: str
    """The same told in a sentence."""
    ends: tuple[str, str] | None = None
    """The days it begins and ends with, where there is room to write them."""


@dataclass(frozen=True, kw_only=True)
class Spot:
    """The forecasts of one range: how sure they were against how often they came true."""

    x: float
    y: float
    radius: float
    label: str


def confidence_course(
    hypothesis: Hypothesis, until: datetime, *, threshold: float, width: int = 640, height: int = 160
) -> Course:
    """The hypothesis's confidence from its forming until now, a step at each piece of evidence."""
    lines = sorted(hypothesis.evidence, key=lambda line: line.at)
    start, end = hypothesis.formed_at, max([until, *(line.at for line in lines)])
    length = max((end - start).total_seconds(), 1.0)
    left = EDGE if height < TALL else 3 * EDGE
    value, marks = START, []
    points = [(left, _height(START, height))]
    for line in lines:
        x = left + max(0.0, (line.at - start).total_seconds()) / length * (width - left - EDGE)
        before, value = value, moved(value, line.stance, line.strength)
        points += [(x, _height(before, height)), (x, _height(value, height))]
        label = f"{line.stance}, {line.strength}: {shown(before):.2f} → {shown(value):.2f}. {line.line}"
        up = line.stance is Stance.SUPPORTS
        marks.append(Mark(x=round(x, 1), y=round(_height(value, height), 1), up=up, label=label, target=f"#{line.id}"))
    points.append((width - EDGE, _height(value, height)))
    words = f"confidence from {START:.2f} to {shown(value):.2f} over {len(lines)} pieces of evidence"
    return Course(
        width=width,
        height=height,
        line=_polyline(points),
        marks=tuple(marks),
        bar=round(_height(threshold, height), 1),
        words=words,
        ends=(f"{start:%Y-%m-%d}", f"{end:%Y-%m-%d}") if height >= TALL else None,
    )


def conviction_course(scores: Sequence[tuple[str, float]], *, width: int = 320, height: int = 72) -> Course:
    """Convictions from 0 to 1 in their order, each with what it says."""
    gap = (width - 2 * EDGE) / max(len(scores) - 1, 1)
    marks, points, before = [], [], 1.0
    for place, (label, score) in enumerate(scores):
        x, y = EDGE + place * gap, _height(score, height)
        points.append((x, y))
        up = score >= before if place else True
        marks.append(Mark(x=round(x, 1), y=round(y, 1), up=up, label=label, target=f"#c{place + 1}"))
        before = score
    told = " → ".join(f"{score * 100:.0f}" for _, score in scores)
    return Course(
        width=width,
        height=height,
        line=_polyline(points),
        marks=tuple(marks),
        bar=round(_height(0.5, height), 1),
        words=f"conviction {told}",
    )


def reliability_spots(found: Reliability, *, size: int = 220) -> tuple[Spot, ...]:
    """A spot per range of stated confidence, the larger the more forecasts it stands for."""
    inner = size - 2 * EDGE
    most = max((part.count for part in found.bins), default=0) or 1
    return tuple(
        Spot(
            x=round(EDGE + part.mean_stated * inner, 1),
            y=round(size - EDGE - part.share_right * inner, 1),
            radius=round(3 + 5 * (part.count / most) ** 0.5, 1),
            label=f"{part.count} said about {part.mean_stated:.0%}; {part.share_right:.0%} came true",
        )
        for part in found.bins
        if part.mean_stated is not None and part.share_right is not None
    )


def _height(value: float, height: int) -> float:
    return EDGE + (1 - value) * (height - 2 * EDGE)


def _polyline(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
