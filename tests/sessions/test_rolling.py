"""The rolling summary is due every fourth message, never too long, and drops nothing that is still open."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.sessions.rolling_summary import SUMMARY_CHARS, is_due, roll_summary, rolling_summary_by_rule
from mnemon.sessions.sentences import OpenKind, ended_topics, has_ended_topic, open_kind, truncate_text
from mnemon.turn import Role, TurnMessage

texts = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=900)


def said(text: str, role: Role = Role.USER) -> TurnMessage:
    return TurnMessage(message_id="msg_1", role=role, content=text, name=None, at=datetime(2026, 5, 1, tzinfo=UTC))


@given(st.integers(min_value=1, max_value=1000))
def test_one_message_a_turn_makes_it_due_at_multiples_of_four(count: int) -> None:
    assert is_due(count, 1) == (count % 4 == 0)


def test_a_turn_that_steps_over_a_multiple_is_due_and_one_without_a_message_never_is() -> None:
    assert is_due(5, 2)
    assert not is_due(7, 2)
    assert not is_due(8, 0)


@given(texts, texts, st.lists(texts, max_size=3), st.lists(texts, max_size=3), texts)
def test_a_summary_never_exceeds_six_hundred_characters(
    new: str, previous: str, before: list[str], todos: list[str], since: str
) -> None:
    rolled = roll_summary(new, previous=previous, carried_before=before, said=since, open_todos=todos)
    assert len(rolled.text) <= SUMMARY_CHARS
    assert all(line in rolled.text for line in rolled.carried)


@given(texts, st.integers(min_value=1, max_value=600))
def test_a_cut_text_ends_with_a_whole_word(text: str, limit: int) -> None:
    flat = " ".join(text.split())
    shown = truncate_text(text, limit)
    assert len(shown) <= limit
    assert flat.startswith(shown)
    if " " in flat[: limit + 1] and len(flat) > limit:
        assert shown == "" or flat[len(shown)] in " ,;:–-"


@pytest.mark.parametrize(
    "line",
    [
        "User promised to send Maria the budget by Friday.",
        "User asked whether the lease can be ended early.",
        "Tom is my new neighbour.",
    ],
)
def test_what_is_open_survives_a_summary_that_drops_it(line: str) -> None:
    rolled = roll_summary(
        "They talked about gardening.",
        previous=f"The weather was nice. {line}",
        carried_before=[],
        said="I like roses.",
        open_todos=[],
    )
    assert rolled.carried == (line,)
    assert "weather" not in rolled.text


def test_what_was_reported_done_is_not_carried() -> None:
    rolled = roll_summary(
        "They talked about gardening.",
        previous="User promised to send Maria the budget.",
        carried_before=[],
        said="By the way, I sent Maria the budget.",
        open_todos=[],
    )
    assert rolled.carried == ()


def test_a_carried_promise_stays_until_done_and_a_person_is_carried_once() -> None:
    promise, person = "User will call the landlord.", "Tom is my neighbour."
    rolled = roll_summary(
        "New things.",
        previous=f"Old. {promise} {person}",
        carried_before=[promise, person],
        said="Nothing else.",
        open_todos=[],
    )
    assert rolled.carried == (promise,)


def test_an_open_todo_in_the_previous_summary_is_carried_however_it_was_worded() -> None:
    rolled = roll_summary(
        "New things.",
        previous="Running a marathon in October came up.",
        carried_before=[],
        said="ok",
        open_todos=["run a marathon in October"],
    )
    assert rolled.carried == ("Running a marathon in October came up.",)


def test_what_the_new_summary_still_tells_is_not_said_twice() -> None:
    rolled = roll_summary(
        "User will call the landlord tomorrow.",
        previous="User will call the landlord.",
        carried_before=[],
        said="ok",
        open_todos=[],
    )
    assert rolled.text == "User will call the landlord tomorrow."


def test_the_rule_quotes_the_person_and_nobody_else() -> None:
    text = rolling_summary_by_rule(
        [said("I moved to Austin."), said("Noted!", Role.ASSISTANT), said("Is it hot there?")], ""
    )
    assert text == "Said: I moved to Austin. Asked: Is it hot there?"


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("I'll go for a walk tomorrow.", OpenKind.COMMITMENT),
        ("Should I take the job?", OpenKind.QUESTION),
        ("I met Dr. Alvarez today.", OpenKind.PERSON),
        ("I went for a walk.", None),
        ("I already sent the report.", None),
    ],
)
def test_sentences_are_told_apart(sentence: str, kind: OpenKind | None) -> None:
    assert open_kind(sentence) is kind


def test_an_ending_word_far_from_the_matter_closes_nothing() -> None:
    assert not has_ended_topic(ended_topics("I finished the painting."), "User promised to call the landlord.")
