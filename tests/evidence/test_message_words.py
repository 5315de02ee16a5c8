"""What a text has to do with the message that is answered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.evidence.message_words import MessageWords


@given(st.text(), st.text())
def test_relevance_is_a_share_and_the_same_both_ways(one: str, other: str) -> None:
    value = MessageWords(one).relevance(other)
    assert 0.0 <= value <= 1.0 + 1e-9
    assert value == pytest.approx(MessageWords(other).relevance(one))


@pytest.mark.parametrize(
    ("message", "text", "touches"),
    [
        ("Who approves the deals in Berlin?", "Deals wait for approval in Berlin", True),
        ("Who approves the deals in Berlin?", "Berlin is cold", False),
        ("And pricing?", "Pricing was never tested", True),
        ("How is it going with you?", "It is going well", False),
        ("deploy v2 failed?", "FAILED expectation of deploy: v2 is live", True),
        ("承認は誰がしますか", "承認は九日かかる", True),
    ],
)
def test_it_takes_two_words_or_all_of_a_short_message(message: str, text: str, touches: bool) -> None:
    assert MessageWords(message).touches(text) is touches


def test_what_shares_more_ranks_higher() -> None:
    words = MessageWords("Why do deal approvals take nine days?")
    ranked = sorted(("Lunch is at noon", "Approvals exist", "Deal approvals take nine days"), key=words.relevance)
    assert ranked == ["Lunch is at noon", "Approvals exist", "Deal approvals take nine days"]
