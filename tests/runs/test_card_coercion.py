"""A card's answer is brought into form where that changes nothing of what it says, and only there."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.runs.card import load_cards
from mnemon.runs.card_coercion import coerce_answer
from mnemon.runs.card_filling import CardNotFilled, card_fault, fill_card

CARDS = load_cards()
TRADE = CARDS["trade-decision"]
WAIT = {"symbol": "BTC-USD", "action": "WAIT", "summary": "range unresolved", "confidence": 0.6}
MENDED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"confidence": "0.6"}, {"confidence": 0.6}),
    ({"confidence": " 1 "}, {"confidence": 1}),
    ({"action": "wait"}, {"action": "WAIT"}),
    ({"Confidence": 0.6}, {"confidence": 0.6}),
    ({"stopLoss": "12.5"}, {"stop_loss": 12.5}),
    ({"Stop Loss": 12}, {"stop_loss": 12}),
]
LEFT: list[dict[str, Any]] = [
    {"confidence": "60 %"},
    {"confidence": "high"},
    {"confidence": "1e3"},
    {"confidence": "9" * 40},
    {"confidence": True},
    {"action": "BUY"},
    {"summary": "0.6"},
    {"mood": "good"},
    {"confidence": 0.6, "Confidence": 0.9},
    {"watch_for": "volume"},
]


@pytest.mark.parametrize(("answer", "expected"), MENDED, ids=[str(row[0]) for row in MENDED])
def test_a_form_that_can_only_mean_one_thing_is_mended(answer: dict[str, Any], expected: dict[str, Any]) -> None:
    assert coerce_answer(TRADE, answer) == expected


@pytest.mark.parametrize("answer", LEFT, ids=str)
def test_whatever_could_mean_something_else_stays(answer: dict[str, Any]) -> None:
    assert coerce_answer(TRADE, answer) == answer


def test_the_words_of_a_re_examination_are_put_in_upper_case() -> None:
    answer = {"conviction_score": "80", "notes": "Nothing changed.", "suggested_action": "hold"}
    mended = coerce_answer(CARDS["re-examination"], answer)
    assert mended == {"conviction_score": 80, "notes": "Nothing changed.", "suggested_action": "HOLD"}


def test_a_fault_is_named_and_a_filled_card_has_none() -> None:
    assert card_fault(TRADE, {**WAIT, "confidence": "0.6", "action": "wait"}) is None
    assert "`mood` is not a slot" in (card_fault(TRADE, {**WAIT, "mood": "good"}) or "")


@given(st.dictionaries(st.sampled_from([*WAIT, "Symbol", "stopLoss"]), st.text(max_size=8) | st.floats() | st.none()))
def test_what_fills_a_card_already_fills_it_alike_afterwards(answer: dict[str, Any]) -> None:
    given_answer = {**WAIT, **answer}
    try:
        values = fill_card(TRADE, given_answer)
    except CardNotFilled:
        return
    assert fill_card(TRADE, coerce_answer(TRADE, given_answer)) == values
