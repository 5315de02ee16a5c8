"""The fold gate: a text that replaces others keeps every figure, name, date and negation of each of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.evidence.fold import distinguishing_tokens, fold_fault


@pytest.mark.parametrize(
    ("folded", "fragments"),
    [
        ("Takes 15 mg of warfarin", ["Takes 5 mg of warfarin", "Takes 15 mg of warfarin"]),
        ("Allergic to penicillin", ["Allergic to penicillin, not to amoxicillin", "Allergic to penicillin"]),
        (
            "Takes 15 mg of warfarin; takes 5 mg of aspirin",
            ["Takes 5 mg of warfarin", "Takes 15 mg of aspirin"],
        ),
        ("Likes tea", ["Likes tea", "Doesn't like coffee"]),
        (
            "Order 1001 was delivered on day 1",
            ["Order 1001 was delivered on day 1", "Order 1002 was delivered on day 2"],
        ),
        ("Met Ana in Lisbon", ["Met Ana in Lisbon", "Met Tom in Porto"]),
        ("Joined in 2021 and became treasurer in 2019", ["Joined in 2019", "Became treasurer in 2021"]),
    ],
)
def test_a_fold_that_loses_or_crosses_something_is_refused(folded: str, fragments: list[str]) -> None:
    assert fold_fault(folded, fragments) is not None


@pytest.mark.parametrize(
    ("folded", "fragments"),
    [
        ("Rex is 5 years old; Rex is a labrador", ["Rex is 5 years old", "Rex is a labrador"]),
        ("Churn was 9% in Q1 and 11.8% in Q2", ["Churn was 9% in Q1", "Churn was 11.8% in Q2"]),
        (
            "Her team deploys on Tuesdays and never on Fridays",
            ["Her team never deploys on Fridays", "Her team deploys on Tuesdays"],
        ),
    ],
)
def test_a_fold_that_keeps_everything_is_allowed(folded: str, fragments: list[str]) -> None:
    assert fold_fault(folded, fragments) is None


sentences = st.lists(
    st.sampled_from(
        [
            "Takes 5 mg of warfarin",
            "Takes 15 mg of warfarin",
            "Does not drink coffee",
            "Drinks coffee",
            "Met Ana on April 12",
            "Met Tom on May 3",
            "Never flies",
            "Used to live in Bonn",
            "Lives in Bonn",
            "Order 1004 came on 2026-02-01",
        ]
    ),
    min_size=2,
    max_size=4,
    unique=True,
)


@given(sentences, st.data())
def test_no_fold_that_is_allowed_loses_a_figure_a_date_or_a_name(fragments: list[str], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.sampled_from(fragments), unique=True))
    folded = "; ".join(kept)
    if fold_fault(folded, fragments) is None:
        whole = distinguishing_tokens(folded)
        for fragment in fragments:
            figures, codes, dates, names, _ = distinguishing_tokens(fragment)
            assert figures <= whole[0]
            assert codes <= whole[1]
            assert dates <= whole[2]
            assert names <= whole[3]
