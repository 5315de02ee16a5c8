import pytest

from mnemon.evidence.privacy import is_confidential_text


@pytest.mark.parametrize(
    "text",
    [
        "Just between us, Tom is leaving.",
        "Tom is leaving, but that's just between us.",
        "This stays between you and me: Tom is leaving.",
        "Between us: I do not trust the numbers.",
        "Keep this between us please",
        "Please keep that to yourself.",
        "Don't tell anyone, but the plant closes.",
        "Do not share this with anyone.",
        "Off the record, the plant closes.",
        "JUST BETWEEN YOU AND ME the plant closes",
        "this is confidential",
        "For your ears only: the plant closes.",
        "The plant closes. Please don't share this.",
        "What I told you stays in this room.",
        "Please keep it quiet, the plant closes.",
        "JUST  BETWEEN\nUS: the plant closes",
    ],
)
def test_said_in_confidence(text: str) -> None:
    assert is_confidential_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "There is a gap between us and the competition.",
        "The handoff between you and me takes a day.",
        "It is not just between us, tell the others.",
        "The distance between the two of us is a mile.",
        "Our confidence in the plan is high.",
        "The record was off by two.",
        "Please don't share this account between users, it slows things down.",
        "The contract stays here with legal.",
        "It is a secret sauce to some.",
        "",
    ],
)
def test_ordinary_talk(text: str) -> None:
    assert not is_confidential_text(text)


def test_one_word_of_confidence_in_a_long_text_is_enough() -> None:
    filler = "We talked about the weather at length. " * 2_000
    assert is_confidential_text(f"{filler}This stays just between us. {filler}")
    assert not is_confidential_text(filler)
