"""What bears on a claim, what says the same, and which turns say anything."""

import pytest

from mnemon.engagement.relevance import bears_on, carries_content, say_the_same, stance_fault, unheard_names
from mnemon.evidence.confidence import Stance


@pytest.mark.parametrize("text", ["We make valves.", "Orders take long.", "Approvals wait for finance", "订单总是迟到"])
def test_a_turn_that_says_something_counts(text: str) -> None:
    assert carries_content(text)


@pytest.mark.parametrize(
    "text",
    ["Hello", "Hi there!", "good morning everyone, nice weather", "How are you today?", "ok thanks", "Go on.", "👋"],
)
def test_small_talk_does_not(text: str) -> None:
    assert not carries_content(text)


def test_evidence_bears_on_a_claim_by_a_word_in_any_form() -> None:
    assert bears_on("Approval is the bottleneck", "They said so.", "approvals wait nine days")
    assert bears_on("Late deliveries annoy customers", "Tilburg is hardly ever late")
    assert not bears_on("Approval is the bottleneck", "I met the team today", "They want it all")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Approvals are slow", "The approvals are slow.", True),
        ("Approvals are slow", "Slow are the approvals", True),
        ("Approvals are slow", "Approvals are not slow", False),
        ("Approvals take 9 days", "Approvals take 3 days", False),
        ("Sales blames Finance", "Finance blames Sales", False),
        ("Approvals come before shipping", "Approvals come after shipping", False),
        ("It is so", "It was so", False),
    ],
)
def test_two_statements_claim_the_same_or_not(one: str, other: str, same: bool) -> None:
    assert say_the_same(one, other) is same
    assert say_the_same(other, one) is same


@pytest.mark.parametrize(
    ("quote", "stance", "right"),
    [
        ("approvals in the plant are slow", "supports", True),
        ("approvals in the plant are slow", "contradicts", False),
        ("approvals in the plant are not slow", "supports", False),
        ("approvals in the plant are not slow", "contradicts", True),
        ("approvals in the plant are no longer slow", "supports", False),
        ("the plant waits", "supports", True),
        ("the plant waits", "contradicts", True),
    ],
)
def test_a_stance_cannot_be_the_opposite_of_what_is_said(quote: str, stance: str, right: bool) -> None:
    assert (stance_fault("Approvals are slow in the plant", quote, Stance(stance)) is None) is right


def test_a_negation_in_another_place_is_no_denial() -> None:
    assert stance_fault("Nobody briefs the line floor", "the line floor is briefed by nobody", Stance.SUPPORTS) is None


def test_names_must_have_been_heard_and_departments_may_be_shortened() -> None:
    assert unheard_names("The CFO is committing fraud", ["I met the team"]) == ["cfo"]
    assert unheard_names("The CFO is committing fraud", ["I met the team"], ["the CFO came"]) == []
    assert unheard_names("It is lost between Sales and Ops", ["from sales to operations"]) == []
    assert unheard_names("Approvals are slow", ["I met the team"]) == []
