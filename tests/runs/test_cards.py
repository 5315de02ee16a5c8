"""Card types are files; an answer fills its card or says which slots it does not fill."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.errors import Misconfigured
from mnemon.runs.card import RE_EXAMINATION, load_cards, parse_card
from mnemon.runs.card_filling import CardNotFilled, card_schema, fill_card, with_actions

CARDS = load_cards()
LONG: dict[str, Any] = {
    "symbol": "BTC-USD",
    "action": "LONG",
    "summary": "breakout",
    "entry": 100,
    "take_profit": 120,
    "stop_loss": 95,
    "confidence": 0.7,
    "watch_for": ["funding", "volume"],
}


def test_four_types_are_shipped() -> None:
    assert set(CARDS) == {"trade-decision", "research-thesis", "decision", RE_EXAMINATION}
    assert CARDS["trade-decision"].re_examinable == "until_resolved"
    assert CARDS["trade-decision"].re_examine_actions == ("HOLD", "CLOSE", "SCALE")


@pytest.mark.parametrize("card_type", sorted(CARDS))
def test_every_schema_is_titled_card_and_requires_the_required_slots(card_type: str) -> None:
    schema = card_schema(CARDS[card_type])
    assert schema["title"] == "Card"
    assert set(schema["required"]) == {slot.name for slot in CARDS[card_type].slots if slot.required}


def test_a_filled_card_keeps_its_values_and_names_itself() -> None:
    card = CARDS["trade-decision"]
    values = fill_card(card, {"symbol": "BTC-USD", "action": "WAIT", "summary": "range unresolved", "confidence": 0.6})
    assert card.format_headline(values) == "WAIT · range unresolved"
    assert card.tone_of(values) == "neutral"


BAD = [
    ({"action": None}, "`action` is missing"),
    ({"action": "BUY"}, "`action` must be one of LONG, SHORT, WAIT"),
    ({"confidence": 1.5}, "`confidence` must be at most 1"),
    ({"confidence": "high"}, "`confidence` must be a number"),
    ({"confidence": float("nan")}, "`confidence` is missing"),
    ({"confidence": True}, "`confidence` must be a number"),
    ({"entry": -3}, "`entry` must be above 0"),
    ({"summary": "two\nlines"}, "`summary` must be one line"),
    ({"symbol": "BTC to the moon"}, "`symbol` must be a market's name"),
    ({"expires_at": "next week"}, "`expires_at` must be an ISO-8601 time"),
    ({"watch_for": "volume"}, "`watch_for` must be a list of texts"),
    ({"mood": "good"}, "`mood` is not a slot of it"),
    ({"stop_loss": None}, "`stop_loss` is missing for a position"),
    ({"stop_loss": 130}, "for LONG the stop must lie on the losing side"),
    ({"action": "SHORT"}, "for SHORT the stop must lie on the losing side"),
]


@pytest.mark.parametrize(("change", "reason"), BAD, ids=[str(row[0]) for row in BAD])
def test_an_answer_that_does_not_fill_its_card_is_refused_with_the_reason(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(CardNotFilled) as caught:
        fill_card(CARDS["trade-decision"], {**LONG, **change})
    assert reason in caught.value.detail


def test_every_reason_is_given_at_once() -> None:
    with pytest.raises(CardNotFilled) as caught:
        fill_card(CARDS["trade-decision"], {"action": "BUY"})
    for name in ("symbol", "action", "summary", "confidence"):
        assert f"`{name}`" in caught.value.detail


def test_suggested_action_keeps_to_the_vocabulary() -> None:
    trade = with_actions(CARDS[RE_EXAMINATION], CARDS["trade-decision"].re_examine_actions)
    answer = {"conviction_score": 80, "notes": "Nothing changed.", "suggested_action": "HOLD"}
    assert fill_card(trade, answer) == answer
    with pytest.raises(CardNotFilled, match="HOLD, CLOSE, SCALE"):
        fill_card(trade, {**answer, "suggested_action": "SELL"})


@pytest.mark.parametrize(
    ("word", "fine"), [("SELL", True), ("CUT_HALF", True), ("sell", False), ("SELL NOW", False), ("", False)]
)
def test_without_a_vocabulary_any_short_uppercase_word_will_do(word: str, fine: bool) -> None:
    card = with_actions(CARDS[RE_EXAMINATION], ())
    answer = {"conviction_score": 80, "notes": "Nothing changed.", "suggested_action": word}
    if fine:
        assert fill_card(card, answer)["suggested_action"] == word
    else:
        with pytest.raises(CardNotFilled):
            fill_card(card, answer)


@pytest.mark.parametrize(
    ("score", "fine"), [(0, True), (100, True), (101, False), (-1, False), (50.5, False), ("80", False)]
)
def test_conviction_is_a_whole_number_from_0_to_100(score: Any, fine: bool) -> None:
    answer = {"conviction_score": score, "notes": "Nothing changed.", "suggested_action": "HOLD"}
    if fine:
        assert fill_card(CARDS[RE_EXAMINATION], answer)["conviction_score"] == score
    else:
        with pytest.raises(CardNotFilled):
            fill_card(CARDS[RE_EXAMINATION], answer)


NEW_TYPE = """
title = "Hiring call"
headline = ["call", "why"]
reExaminable = true
[[slots]]
name = "call"
type = "choice"
choices = ["HIRE", "PASS"]
[[slots]]
name = "why"
type = "sentence"
"""


def test_a_new_type_is_a_file_and_no_code(tmp_path: Path) -> None:
    (tmp_path / "hiring-call.toml").write_text(NEW_TYPE)
    card = load_cards(tmp_path)["hiring-call"]
    values = fill_card(card, {"call": "HIRE", "why": "strong references"})
    assert card.format_headline(values) == "HIRE · strong references"
    assert card.re_examinable is True


BROKEN = [
    ('title = "x"', "slots"),
    (NEW_TYPE.replace('"call", "why"', '"call", "because"'), "because"),
    (NEW_TYPE.replace('type = "sentence"', 'type = "poem"'), "poem"),
    (NEW_TYPE.replace("reExaminable = true", 'reExaminable = "sometimes"'), "reExaminable"),
    ("title =", "Invalid"),
    (NEW_TYPE + '[resolution]\nrule = "price_levels"\n', "price_levels"),
]


@pytest.mark.parametrize(("text", "named"), BROKEN, ids=[row[1] for row in BROKEN])
def test_a_broken_file_is_named_with_its_fault(text: str, named: str) -> None:
    with pytest.raises(Misconfigured, match=named) as caught:
        parse_card("hiring-call", text)
    assert "hiring-call.toml" in caught.value.detail


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from(sorted(CARDS)),
    st.dictionaries(st.sampled_from([s.name for c in CARDS.values() for s in c.slots]) | st.text(max_size=4), ANY_JSON),
)
def test_any_answer_either_fills_the_card_or_is_refused(card_type: str, answer: dict[str, Any]) -> None:
    card = CARDS[card_type]
    try:
        values = fill_card(card, answer)
    except CardNotFilled:
        return
    assert {slot.name for slot in card.slots if slot.required} <= set(values)
    assert fill_card(card, dict(values)) == values


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("The range broke. Volume agrees. So does the index.", "The range broke."),
        ("ETH fell to 3.2 after all", "ETH fell to 3.2 after all"),
        ("Dr. Hale left! Now what?", "Dr. Hale left!"),
    ],
)
def test_notes_are_one_sentence(given: str, kept: str) -> None:
    card = CARDS[RE_EXAMINATION]
    filled = fill_card(card, {"conviction_score": 40, "notes": given, "suggested_action": "HOLD"})
    assert filled["notes"] == kept


@pytest.mark.parametrize("symbol", ["btc-usd", "BTC/USD", "btc_usd", " BTC-USD "])
def test_a_market_has_one_spelling(symbol: str) -> None:
    values = {"symbol": symbol, "action": "WAIT", "summary": "range unresolved", "confidence": 0.6}
    assert fill_card(CARDS["trade-decision"], values)["symbol"] == "BTC-USD"
