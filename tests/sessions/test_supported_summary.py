"""A model's summary keeps the lines that the conversation says, and no others."""

from datetime import UTC, datetime

import pytest

from mnemon.sessions.summary import SessionSummary, keep_supported_lines
from mnemon.turn import Role, TurnMessage

AT = datetime(2026, 4, 12, tzinfo=UTC)
SAID = (
    TurnMessage(
        message_id="msg_1", role=Role.USER, content="My sister Maria lives in Lisbon. I do not smoke.", name=None, at=AT
    ),
    TurnMessage(message_id="msg_2", role=Role.ASSISTANT, content="Lisbon is lovely.", name=None, at=AT),
)


def checked(**lines: list[str]) -> tuple[SessionSummary, tuple[str, ...]]:
    summary = SessionSummary.model_validate({"one_liner": "Maria lives in Lisbon.", **lines})
    return keep_supported_lines(summary, SAID, "ann", AT)


@pytest.mark.parametrize("line", ["Ann told of her sister Maria in Lisbon.", "Lisbon is lovely.", "Does not smoke."])
def test_what_was_said_is_kept_and_the_person_may_be_named(line: str) -> None:
    summary, faults = checked(what_mattered=[line])
    assert (summary.what_mattered, faults) == ([line], ())


@pytest.mark.parametrize(
    "line",
    ["Maria earns $250,000.", "Bob lives in Lisbon.", "Smokes.", "Maria moved on May 3.", "Is a convicted felon."],
)
def test_a_line_with_a_name_a_figure_a_date_or_words_of_its_own_is_left_out(line: str) -> None:
    summary, faults = checked(what_mattered=[line, "Lisbon is lovely."])
    assert summary.what_mattered == ["Lisbon is lovely."]
    assert len(faults) == 1


def test_a_session_whose_sentence_is_not_supported_gets_the_rules() -> None:
    summary = SessionSummary(one_liner="Bob was convicted.", people=["Maria", "Bob"])
    kept, faults = keep_supported_lines(summary, SAID, "ann", AT)
    assert kept.one_liner == "My sister Maria lives in Lisbon."
    assert kept.people == ["Maria"]
    assert len(faults) == 2
