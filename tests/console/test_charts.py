"""Drawings tell what the numbers tell."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from mnemon.console.charts import MARGIN, confidence_chart, conviction_chart, reliability_points
from mnemon.console.results import plural_name
from mnemon.engagement.document import Hypothesis
from mnemon.evidence.confidence import EvidenceLine, Stance, Strength
from mnemon.runs.calibration import Forecast, reliability_of

START = datetime(2026, 4, 12, tzinfo=UTC)
PIECES = st.lists(
    st.tuples(st.sampled_from(Stance), st.sampled_from(Strength), st.integers(min_value=0, max_value=40)), max_size=12
)


def hypothesis_of(pieces: list[tuple[Stance, Strength, int]]) -> Hypothesis:
    lines = tuple(
        EvidenceLine(
            id=f"evd_{place}",
            line="line",
            quote="quote",
            source="source",
            stance=stance,
            strength=strength,
            who="who",
            at=START + timedelta(days=days),
            turn_id="trn",
            message_id="msg",
            start=0,
            end=5,
        )
        for place, (stance, strength, days) in enumerate(pieces)
    )
    return Hypothesis(id="hyp", statement="s", falsified_by="f", formed_at=START, formed_in="trn", evidence=lines)


@given(PIECES)
def test_every_piece_of_evidence_is_a_mark_inside_the_drawing_that_points_where_it_moved(
    pieces: list[tuple[Stance, Strength, int]],
) -> None:
    course = confidence_chart(hypothesis_of(pieces), START + timedelta(days=41), threshold=0.85)
    assert len(course.marks) == len(pieces)
    assert [mark.x for mark in course.marks] == sorted(mark.x for mark in course.marks)
    assert sum(mark.up for mark in course.marks) == sum(stance is Stance.SUPPORTS for stance, _, _ in pieces)
    for mark in course.marks:
        assert 0 <= mark.x <= course.width
        assert MARGIN <= mark.y <= course.height - MARGIN


@given(st.lists(st.integers(min_value=0, max_value=100), min_size=1, max_size=20))
def test_a_higher_conviction_is_drawn_higher(scores: list[int]) -> None:
    course = conviction_chart([(str(score), score / 100) for score in scores])
    for (one, first), (other, second) in zip(
        zip(scores, course.marks, strict=True), list(zip(scores, course.marks, strict=True))[1:], strict=False
    ):
        assert (one > other) <= (first.y < second.y)


@given(st.lists(st.tuples(st.floats(min_value=0, max_value=1), st.booleans()), max_size=40))
def test_every_range_with_forecasts_is_one_spot_in_the_square(forecasts: list[tuple[float, bool]]) -> None:
    found = reliability_of([Forecast(stated=stated, right=right) for stated, right in forecasts])
    spots = reliability_points(found)
    assert len(spots) == sum(part.count > 0 for part in found.bins)
    assert all(MARGIN <= spot.x <= 220 - MARGIN and MARGIN <= spot.y <= 220 - MARGIN for spot in spots)


def test_a_results_page_is_named_by_the_plural_of_its_card_type() -> None:
    named = {
        "trade-decision": "trade-decisions",
        "research-thesis": "research-theses",
        "story": "stories",
        "box": "boxes",
    }
    assert {name: plural_name(name) for name in named} == named
