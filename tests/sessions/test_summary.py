"""The summary of a session: six fields, made of the person's own sentences when offline."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from mnemon.sessions.summary import SessionSummary, format_transcript, summarize_by_rule
from mnemon.turn import Role, TurnMessage


def said(text: str, role: Role = Role.USER) -> TurnMessage:
    return TurnMessage(message_id="msg_1", role=role, content=text, name=None, at=datetime(2026, 5, 1, tzinfo=UTC))


def test_the_schema_has_the_six_fields_and_its_title() -> None:
    schema = SessionSummary.model_json_schema()
    assert schema["title"] == "SessionSummary"
    assert list(schema["properties"]) == [
        "one_liner",
        "what_mattered",
        "open_loops",
        "commitments",
        "people",
        "tone",
    ]


def test_the_rule_finds_promises_questions_and_people() -> None:
    summary = summarize_by_rule(
        [
            said("We are redesigning the dashboard with Priya. I'll send the mockups on Monday."),
            said("Great, Acme will love it.", Role.ASSISTANT),
            said("Should we drop the sidebar?"),
        ]
    )
    assert summary.one_liner == "We are redesigning the dashboard with Priya."
    assert summary.commitments == ["I'll send the mockups on Monday."]
    assert summary.open_loops == ["Should we drop the sidebar?"]
    assert summary.people == ["Priya"]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=300).map(said), max_size=6))
def test_every_line_of_the_rule_stands_in_what_the_person_said(messages: list[TurnMessage]) -> None:
    told = " ".join(" ".join(message.content.split()) for message in messages)
    summary = summarize_by_rule(messages)
    lines = [*summary.what_mattered, *summary.open_loops, *summary.commitments, *summary.people]
    assert all(" ".join(line.split()) in told for line in lines)


def test_a_long_transcript_keeps_its_end() -> None:
    text = format_transcript([said(f"message {number}") for number in range(100)], limit=200)
    assert text.endswith("user: message 99")
    assert "message 1\n" not in text


def test_what_no_database_can_hold_is_left_out() -> None:
    summary = SessionSummary(one_liner="a\0b \ud800c", people=["\0"]).with_limits()
    assert summary.one_liner == "a b ?c"
    summary.model_dump_json().encode()


def test_towns_and_companies_are_no_people_and_a_greeting_is_no_summary() -> None:
    summary = summarize_by_rule(
        [
            said("Hi again."),
            said("I flew to Lisbon last week for Ledgerly."),
            said("We pay Ana through Revolut now. My sister Ruth lives in Rome."),
            said("We integrate with Stripe, and I called Lisbon Airport."),
        ]
    )
    assert summary.people == ["Ana", "Ruth"]
    assert summary.one_liner == "I flew to Lisbon last week for Ledgerly."
    assert summarize_by_rule([said("Hi again.")]).one_liner == "Hi again."
