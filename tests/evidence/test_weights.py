"""What a source says again counts less, in whatever order it is read."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.evidence.confidence import (
    EvidenceLine,
    Stance,
    Strength,
    line_weights,
    lines_confidence,
    round_confidence,
)

START = datetime(2026, 4, 12, tzinfo=UTC)


def line(number: int, strength: str = "strong", *, by: str = "dana", message: int | None = None) -> EvidenceLine:
    return EvidenceLine(
        id=f"evd_{number:03}",
        line="Approvals are slow.",
        quote=f"remark {number}",
        source=by,
        stance=Stance.SUPPORTS,
        strength=Strength(strength),
        who=by,
        at=START + timedelta(hours=number),
        turn_id=f"trn_{number}",
        message_id=f"msg_{number if message is None else message}",
        start=0,
        end=8,
        source_key=f"speaker:{by}",
        teller=f"speaker:{by}",
    )


@pytest.mark.parametrize(
    ("lines", "weights", "confidence"),
    [
        ([line(1, "moderate"), line(2, "weak", by="diane")], [1, 1], 0.72),
        ([line(1, message=1), line(2, message=1), line(3, message=1)], [1, 0, 0], 0.77),
        ([line(1), line(2), line(3)], [1, 0.5, 0], 0.86),
        ([line(1, "weak"), line(2, "strong"), line(3, "moderate")], [0, 1, 0.5], 0.82),
        ([line(1, "weak", message=1), line(2, "strong", message=1), line(3, "weak")], [0, 1, 0.5], 0.8),
        ([line(1), replace(line(2), stance=Stance.CONTRADICTS)], [1, 1], 0.5),
        ([line(1), replace(line(2), source_key=None, source="Dana (user)"), line(3, by="tom")], [1, 0.5, 1], 0.95),
        ([], [], 0.5),
    ],
)
def test_the_strongest_counts_the_second_half_the_rest_nothing(
    lines: list[EvidenceLine], weights: list[float], confidence: float
) -> None:
    found = line_weights(lines)
    assert [found[one.id] for one in lines] == weights
    assert round_confidence(lines_confidence(lines)) == confidence


many = st.lists(
    st.builds(
        lambda number, strength, by, message: line(number, strength, by=by, message=message),
        st.integers(0, 99),
        st.sampled_from(["weak", "moderate", "strong"]),
        st.sampled_from(["dana", "tom"]),
        st.integers(0, 5),
    ),
    unique_by=lambda one: one.id,
    max_size=12,
)


@given(many, st.randoms())
def test_the_order_of_lines_does_not_matter(lines: list[EvidenceLine], random: Random) -> None:
    shuffled = list(lines)
    random.shuffle(shuffled)
    assert line_weights(lines) == line_weights(shuffled)
    assert lines_confidence(lines) == lines_confidence(shuffled)


@given(many)
def test_two_people_move_a_claim_by_three_strong_pieces_at_most(lines: list[EvidenceLine]) -> None:
    assert lines_confidence(lines) <= lines_confidence([line(1), line(2), line(1001, by="tom"), line(1002, by="tom")])
