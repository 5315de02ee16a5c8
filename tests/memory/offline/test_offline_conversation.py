"""Offline extraction on ordinary conversation: precision and recall on the half that the rules were not tuned on.

Whoever adds rules looks at the tuning half alone; the other half is only counted.
"""

from pathlib import Path

import pytest

from memory.offline.conversations import score_turns, told_turns

TURNS = told_turns(Path(__file__).parent / "conversation.txt")
HALVES = {half: [turn for turn in TURNS if turn.half == half] for half in ("tuning", "held-out")}
BOUNDS = {"tuning": (0.97, 0.80), "held-out": (0.95, 0.70)}
"""The least precision and recall of each half."""


def test_the_turns_are_ten_peoples_and_both_halves_are_large() -> None:
    assert len({turn.text for turn in TURNS}) == len(TURNS) >= 300
    assert len({turn.who for turn in TURNS}) == 10
    assert min(len(turns) for turns in HALVES.values()) >= 140
    assert sum(not turn.facts for turn in TURNS) >= 70


@pytest.mark.parametrize("half", sorted(HALVES))
def test_most_of_what_people_tell_is_found_and_nothing_else(half: str, capsys: pytest.CaptureFixture[str]) -> None:
    score, (precision, recall) = score_turns(HALVES[half]), BOUNDS[half]
    with capsys.disabled():
        print(f"\nconversation, {half} half: {score}")  # noqa: T201 the figures are the point
    # The held-out half is not shown: whoever reads it can no longer report on it.
    assert score.precision >= precision, score.wrong if half == "tuning" else score
    assert score.recall >= recall, score.missed if half == "tuning" else score
