import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.evidence.confidence import Stance, Strength, compute_confidence, round_confidence, update_confidence

Lines = list[tuple[Stance, Strength]]

pieces = st.lists(st.tuples(st.sampled_from(Stance), st.sampled_from(Strength)), max_size=400)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], 0.5),
        ([("supports", "moderate"), ("supports", "weak")], 0.72),
        ([("supports", "weak")], 0.59),
        ([("supports", "strong")], 0.77),
        ([("supports", "strong"), ("supports", "moderate")], 0.86),
        ([("contradicts", "strong")], 0.23),
        ([("supports", "strong"), ("contradicts", "strong")], 0.5),
        ([("supports", "strong")] * 9, 0.99),
    ],
)
def test_confidence_by_hand(lines: list[tuple[str, str]], expected: float) -> None:
    assert (
        round_confidence(compute_confidence((Stance(stance), Strength(strength)) for stance, strength in lines))
        == expected
    )


@given(pieces)
def test_confidence_is_never_certain(lines: Lines) -> None:
    assert 0 < compute_confidence(lines) < 1
    assert 0 < round_confidence(compute_confidence(lines)) < 1


@given(pieces, st.randoms())
def test_the_order_of_evidence_does_not_matter(lines: Lines, random: Random) -> None:
    shuffled = list(lines)
    random.shuffle(shuffled)
    assert compute_confidence(lines) == compute_confidence(shuffled)


@given(pieces, st.sampled_from(Strength))
def test_support_raises_and_contradiction_lowers(lines: Lines, strength: Strength) -> None:
    before = compute_confidence(lines[:20])
    assert compute_confidence([*lines[:20], (Stance.SUPPORTS, strength)]) > before
    assert compute_confidence([*lines[:20], (Stance.CONTRADICTS, strength)]) < before


@given(pieces.map(lambda lines: lines[:12]))
def test_revising_piece_by_piece_equals_weighing_all_at_once(lines: Lines) -> None:
    value = 0.5
    for stance, strength in lines:
        value = update_confidence(value, stance, strength)
    assert math.isclose(value, compute_confidence(lines), abs_tol=1e-9)


@given(st.floats(0, 1), st.sampled_from(Stance), st.sampled_from(Strength))
def test_any_start_can_be_moved(start: float, stance: Stance, strength: Strength) -> None:
    assert 0 < update_confidence(start, stance, strength) < 1
