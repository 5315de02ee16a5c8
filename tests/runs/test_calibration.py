"""Calibration: bins, Brier score and counts, and an honest word when there are too few."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.runs.calibration import (
    Forecast,
    JudgedDecision,
    calibration_of,
    calibrations_by_group,
    judge_decisions,
    reliability_of,
)
from mnemon.runs.card import RE_EXAMINATION, load_cards
from mnemon.runs.run import Run, RunKind, RunStatus
from mnemon.runs.store import EndedDecision


def judged(
    right: bool | None, stated: float | None = None, *convictions: float, agent: str = "a", card: str = "c"
) -> JudgedDecision:
    return JudgedDecision(agent_id=agent, card_type=card, right=right, stated=stated, convictions=convictions)


def test_figures_of_a_small_known_set() -> None:
    found = reliability_of(
        [Forecast(stated=0.8, right=True), Forecast(stated=0.8, right=False), Forecast(stated=0.1, right=False)]
    )
    assert found.brier == pytest.approx((0.04 + 0.64 + 0.01) / 3)
    assert found.hit_rate == pytest.approx(1 / 3)
    assert (found.bins[8].count, found.bins[8].share_right, found.bins[1].count) == (2, 0.5, 1)
    assert [found.bins[place].mean_stated for place in (8, 1, 0)] == [pytest.approx(0.8), pytest.approx(0.1), None]
    assert [(part.start, part.end) for part in found.bins] == [(place / 10, (place + 1) / 10) for place in range(10)]
    assert not found.enough
    assert found.note is not None
    assert "3 of the 10" in found.note


def test_nothing_known_says_so_without_a_figure() -> None:
    found = reliability_of([])
    assert (found.count, found.brier, found.hit_rate) == (0, None, None)
    assert found.note is not None


def test_ten_forecasts_are_enough() -> None:
    assert reliability_of([Forecast(stated=0.7, right=True)] * 10).note is None


def test_certainty_falls_into_the_last_bin() -> None:
    assert reliability_of([Forecast(stated=1.0, right=True)]).bins[9].count == 1


def test_what_proves_neither_is_counted_but_not_judged() -> None:
    found = calibration_of([judged(True, 0.9, 0.8, 0.6), judged(None, 0.9, 0.1), judged(False, None, 0.2)])
    assert (found.resolved, found.judged) == (3, 2)
    assert found.stated.count == 1
    assert found.convictions.count == 3


def test_agents_and_card_types_stand_apart() -> None:
    found = calibrations_by_group([judged(True, 0.9), judged(True, 0.8, agent="b"), judged(False, 0.7, card="d")])
    assert [(c.agent_id, c.card_type, c.resolved) for c in found] == [("a", "c", 1), ("a", "d", 1), ("b", "c", 1)]


@given(st.lists(st.builds(Forecast, stated=st.floats(min_value=0, max_value=1), right=st.booleans())))
def test_bins_hold_every_forecast_once_and_brier_is_bounded(forecasts: list[Forecast]) -> None:
    found = reliability_of(forecasts)
    assert sum(part.count for part in found.bins) == len(forecasts)
    assert found.brier is None or 0 <= found.brier <= 1
    for part in found.bins:
        if part.mean_stated is not None:
            assert part.start - 1e-9 <= part.mean_stated <= part.end + 1e-9


def looked_again(score: Any, status: RunStatus = RunStatus.SUCCEEDED) -> Run:
    return Run(
        id="run_2", agent_id="a", kind=RunKind.RE_EXAMINATION, status=status, prompt="Again.", parent_run_id="run_1",
        card_type=RE_EXAMINATION, result={"conviction_score": score}, created_at=datetime(2026, 3, 3, tzinfo=UTC),
    )  # fmt: skip


def ended(card: str, confidence: Any) -> EndedDecision:
    result = {"confidence": confidence}
    return EndedDecision(id="run_1", agent_id="a", card_type=card, outcome="hit_take_profit", result=result)


def test_a_decision_is_judged_by_what_it_stated_and_by_later_looks_that_came_to_an_end() -> None:
    looks = [looked_again(66), looked_again(10, RunStatus.FAILED), looked_again(None)]
    [found] = judge_decisions(
        [ended("trade-decision", 0.7)], {"run_1": looks, "run_9": [looked_again(1)]}, load_cards()
    )
    assert (found.stated, found.convictions) == (0.7, (0.66,))


def test_a_confidence_that_is_no_number_counts_as_none() -> None:
    [found] = judge_decisions([ended("trade-decision", "high")], {}, load_cards())
    assert (found.stated, found.convictions) == (None, ())


def test_a_decision_on_a_card_that_is_no_longer_known_is_left_out() -> None:
    assert judge_decisions([ended("gone", 0.7)], {}, load_cards()) == []
