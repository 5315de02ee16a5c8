"""Compute the coordinates of charts, which templates draw as SVG.

Confidence over time, convictions in order, stated confidence against outcomes, and scores as stacked bars: positive
parts to the right of zero, negative ones to the left, all bars on one scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from mnemon.engagement.document import Hypothesis
from mnemon.evidence.confidence import START_CONFIDENCE, Stance, lines_confidence, round_confidence
from mnemon.runs.calibration import Reliability

MARGIN = 8.0
MIN_LABELLED_HEIGHT = 100
"""From this height on a chart has labels at its axes."""


@dataclass(frozen=True, kw_only=True)
class ChartMark:
    """A mark on the line for something that changed the value."""

    x: float
    y: float
    up: bool
    """Whether the value rose; shown by the mark's shape as well as its colour."""
    label: str
    target: str
    """The address of the element with the details."""


@dataclass(frozen=True, kw_only=True)
class LineChart:
    """A value between 0 and 1 over time."""

    width: int
    height: int
    line: str
    """The points of the SVG polyline."""
    marks: tuple[ChartMark, ...]
    bar: float | None
    """Where the threshold line is drawn; None for no line."""
    words: str
    """The chart as a sentence, for screen readers."""
    ends: tuple[str, str] | None = None
    """The first and last day, where there is room for labels."""


@dataclass(frozen=True, kw_only=True)
class ReliabilityPoint:
    """The forecasts of one range: mean stated confidence against the share that came true."""

    x: float
    y: float
    radius: float
    label: str


def confidence_chart(
    hypothesis: Hypothesis, until: datetime, *, threshold: float, width: int = 640, height: int = 160
) -> LineChart:
    """Return the chart of a hypothesis's confidence since it was formed, a step at each piece of evidence."""
    lines = sorted(hypothesis.evidence, key=lambda line: line.at)
    start, end = hypothesis.formed_at, max([until, *(line.at for line in lines)])
    length = max((end - start).total_seconds(), 1.0)
    left = MARGIN if height < MIN_LABELLED_HEIGHT else 3 * MARGIN
    value, marks = START_CONFIDENCE, []
    points = [(left, _y_position(START_CONFIDENCE, height))]
    for place, line in enumerate(lines, start=1):
        x = left + max(0.0, (line.at - start).total_seconds()) / length * (width - left - MARGIN)
        # Of all lines so far: what a line adds depends on what its source said before.
        before, value = value, lines_confidence(lines[:place])
        # Two points at the same x draw a vertical step.
        points += [(x, _y_position(before, height)), (x, _y_position(value, height))]
        change = f"{round_confidence(before):.2f} → {round_confidence(value):.2f}"
        label = f"{line.stance}, {line.strength}: {change}. {line.line}"
        up = line.stance is Stance.SUPPORTS
        marks.append(
            ChartMark(x=round(x, 1), y=round(_y_position(value, height), 1), up=up, label=label, target=f"#{line.id}")
        )
    points.append((width - MARGIN, _y_position(value, height)))
    words = (
        f"confidence from {START_CONFIDENCE:.2f} to {round_confidence(value):.2f} over {len(lines)} pieces of evidence"
    )
    return LineChart(
        width=width,
        height=height,
        line=_polyline_points(points),
        marks=tuple(marks),
        bar=round(_y_position(threshold, height), 1),
        words=words,
        ends=(f"{start:%Y-%m-%d}", f"{end:%Y-%m-%d}") if height >= MIN_LABELLED_HEIGHT else None,
    )


def conviction_chart(scores: Sequence[tuple[str, float]], *, width: int = 320, height: int = 72) -> LineChart:
    """Return a line chart of re-examination scores, given as (label, score from 0 to 1), in this order."""
    gap = (width - 2 * MARGIN) / max(len(scores) - 1, 1)
    marks, points, before = [], [], 1.0
    for place, (label, score) in enumerate(scores):
        x, y = MARGIN + place * gap, _y_position(score, height)
        points.append((x, y))
        up = score >= before if place else True
        marks.append(ChartMark(x=round(x, 1), y=round(y, 1), up=up, label=label, target=f"#c{place + 1}"))
        before = score
    sequence = " → ".join(f"{score * 100:.0f}" for _, score in scores)
    return LineChart(
        width=width,
        height=height,
        line=_polyline_points(points),
        marks=tuple(marks),
        bar=round(_y_position(0.5, height), 1),
        words=f"conviction {sequence}",
    )


def reliability_points(found: Reliability, *, size: int = 220) -> tuple[ReliabilityPoint, ...]:
    """Return a chart point per range of stated confidence, larger for more forecasts."""
    inner = size - 2 * MARGIN
    most = max((part.count for part in found.bins), default=0) or 1
    return tuple(
        ReliabilityPoint(
            x=round(MARGIN + part.mean_stated * inner, 1),
            y=round(size - MARGIN - part.share_right * inner, 1),
            radius=round(3 + 5 * (part.count / most) ** 0.5, 1),
            label=f"{part.count} said about {part.mean_stated:.0%}; {part.share_right:.0%} came true",
        )
        for part in found.bins
        if part.mean_stated is not None and part.share_right is not None
    )


def _y_position(value: float, height: int) -> float:
    """Return the y coordinate of a value between 0 and 1 in a chart of this height."""
    return MARGIN + (1 - value) * (height - 2 * MARGIN)


def _polyline_points(points: Sequence[tuple[float, float]]) -> str:
    """Return the points as the `points` attribute of an SVG polyline."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


BAR_WIDTH = 200.0
_EPSILON = 1e-9


@dataclass(frozen=True, kw_only=True)
class ScoreSegment:
    """One part of a score."""

    part: str
    value: float
    """The part multiplied by its weight."""
    x: float
    width: float


@dataclass(frozen=True, kw_only=True)
class ScoreBar:
    """One score as a stacked bar."""

    zero: float
    """The x coordinate of zero."""
    segments: tuple[ScoreSegment, ...]


def stacked_bars(scores: Sequence[Mapping[str, float]]) -> list[ScoreBar]:
    """Return a stacked bar per score (its parts by name), all on one scale that fits the width."""
    right = max((sum(v for v in score.values() if v > 0) for score in scores), default=0.0)
    # One scale for all bars, so that they can be compared.
    left = max((-sum(v for v in score.values() if v < 0) for score in scores), default=0.0)
    scale = BAR_WIDTH / (left + right) if left + right > _EPSILON else 0.0
    return [_stack_bar(score, zero=left * scale, scale=scale) for score in scores]


def _stack_bar(score: Mapping[str, float], *, zero: float, scale: float) -> ScoreBar:
    """Return one score's bar: positive parts to the right of zero, negative ones to the left."""
    segments = []
    ahead, behind = zero, zero
    for part, value in score.items():
        width = abs(value) * scale
        if value >= 0:
            segments.append(ScoreSegment(part=part, value=value, x=round(ahead, 1), width=round(width, 1)))
            ahead += width
        else:
            behind -= width
            segments.append(ScoreSegment(part=part, value=value, x=round(behind, 1), width=round(width, 1)))
    return ScoreBar(zero=round(zero, 1), segments=tuple(segments))
