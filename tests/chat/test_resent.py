"""Of a conversation that is sent again and again, only what follows the last reply is new."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.chat.resent import outcomes_of, taken_apart
from mnemon.errors import Invalid
from mnemon.llm.protocol import Message, ToolRequest
from mnemon.turn import Role


def user(text: str) -> Message:
    return Message(role="user", content=text)


def assistant(text: str, *calls: ToolRequest) -> Message:
    return Message(role="assistant", content=text, tool_requests=calls)


def test_the_first_message_is_new_and_the_system_prompt_is_an_instruction() -> None:
    told = taken_apart([Message(role="system", content="Be brief."), user("Hi")])
    assert told.instructions == "Be brief."
    assert [one.content for one in told.new] == ["Hi"]
    assert not told.tells_history


@given(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), max_size=5), st.text(min_size=1))
def test_growing_a_conversation_makes_each_message_new_exactly_once(rounds: list[tuple[str, str]], last: str) -> None:
    heard: list[str] = []
    sent: list[Message] = []
    for said, answered in [*rounds, (last, "")]:
        sent.append(user(said))
        heard += [one.content for one in taken_apart(sent).new]
        sent.append(assistant(answered))
    assert heard == [said for said, _ in rounds] + [last]


def test_tool_results_know_which_tool_they_came_from() -> None:
    call = ToolRequest(id="c1", name="search", arguments={})
    told = taken_apart(
        [user("Find it"), assistant("", call), Message(role="tool", content='{"ids": ["a"], "count": 1}', tool_id="c1")]
    )
    assert [(one.role, one.name, one.tool_id) for one in told.new] == [(Role.TOOL, "search", "c1")]
    [outcome] = outcomes_of(told.new)
    assert (outcome.action, outcome.ids, outcome.types, outcome.count) == ("search", ("a",), None, 1)


@given(st.text())
def test_any_text_of_a_tool_is_an_outcome(text: str) -> None:
    [new] = taken_apart([user("x"), assistant("y"), Message(role="tool", content=text, tool_id="c1")]).new
    assert outcomes_of([new])[0].id == "c1"


def test_a_conversation_that_ends_with_a_reply_asks_nothing() -> None:
    with pytest.raises(Invalid):
        taken_apart([user("Hi"), assistant("Hello")])
