import pytest

from mnemon.engagement.reflect import read_unknowns
from support.engaged import turn


def test_a_stated_unknown_with_its_reason_is_taken_in_the_persons_words() -> None:
    proposal = read_unknowns(
        turn("We don't know whether the slowdown is cultural, and it matters because it decides the fix.")
    )
    (unknown,) = proposal.unknowns
    assert unknown.question == "Whether the slowdown is cultural?"
    assert unknown.why_it_matters == "It decides the fix."


@pytest.mark.parametrize(
    "text",
    [
        "We don't know whether the slowdown is cultural.",
        "We know whether the slowdown is cultural, and it matters because it decides the fix.",
        "Do you know why it matters?",
        "Tom said we don't know why, and it matters because reasons are needed here.",
        "If we don't know whether it is cultural, and it matters because of the fix, we ask.",
        "Is it that we don't know whether it is cultural, and it matters because it decides the fix?",
        "Hello!",
    ],
)
def test_anything_less_yields_nothing(text: str) -> None:
    proposal = read_unknowns(turn(text))
    assert proposal.unknowns == []
    assert (proposal.form, proposal.evidence, proposal.week) == ([], [], None)
