from dataclasses import replace
from datetime import UTC, datetime

from mnemon.evidence.confidence import EvidenceLine, Stance, Strength

LINE = EvidenceLine(
    id="evd_1",
    line="User cited a gap.",
    quote="there is a gap",
    source="Diane Ortiz",
    stance=Stance.SUPPORTS,
    strength=Strength.WEAK,
    who="dana",
    at=datetime(2026, 4, 12, tzinfo=UTC),
    turn_id="trn_1",
    message_id="msg_1",
    start=10,
    end=24,
)


def test_same_source_and_quote_is_the_same_piece_in_whatever_message() -> None:
    assert LINE.is_repeat_of(
        replace(LINE, source="diane ortiz", quote="there is  a gap", message_id="msg_9", start=0, end=14)
    )


def test_overlapping_words_of_one_message_are_the_same_piece_under_whatever_name() -> None:
    assert LINE.is_repeat_of(replace(LINE, quote="a gap in", start=19, end=27))
    assert LINE.is_repeat_of(replace(LINE, source="Tom"))


def test_other_words_or_another_source_are_another_piece() -> None:
    assert not LINE.is_repeat_of(replace(LINE, quote="and delay", start=30, end=39))
    assert not LINE.is_repeat_of(replace(LINE, source="Tom", message_id="msg_2"))
    assert not LINE.is_repeat_of(replace(LINE, quote="a gap in", start=19, end=27, message_id="msg_2"))
