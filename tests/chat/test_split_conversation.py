"""Of a conversation that is sent again and again, only what follows the last reply is new."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.chat.request import split_conversation
from mnemon.errors import Invalid
from mnemon.llm.protocol import LlmMessage, ToolRequest
from mnemon.turn import Role


def user(text: str) -> LlmMessage:
    return LlmMessage(role="user", content=text)


def assistant(text: str, *calls: ToolRequest) -> LlmMessage:
    return LlmMessage(role="assistant", content=text, tool_requests=calls)


def test_the_first_message_is_new_and_the_system_prompt_is_an_instruction() -> None:
    told = split_conversation([LlmMessage(role="system", content="Be brief."), user("Hi")])
    assert told.instructions == "Be brief."
    assert [one.content for one in told.new] == ["Hi"]
    assert not told.tells_history


@given(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), max_size=5), st.text(min_size=1))
def test_growing_a_conversation_makes_each_message_new_exactly_once(rounds: list[tuple[str, str]], last: str) -> None:
    heard: list[str] = []
    sent: list[LlmMessage] = []
    for said, answered in [*rounds, (last, "")]:
        sent.append(user(said))
        heard += [one.content for one in split_conversation(sent).new]
        sent.append(assistant(answered))
    assert heard == [said for said, _ in rounds] + [last]


def test_tool_results_know_which_tool_they_came_from() -> None:
    call = ToolRequest(id="c1", name="search", arguments={})
    told = split_conversation(
        [
            user("Find it"),
            assistant("", call),
            LlmMessage(role="tool", content='{"ids": ["a"], "count": 1}', tool_id="c1"),
        ]
    )
    assert [(one.role, one.name, one.tool_id) for one in told.new] == [(Role.TOOL, "search", "c1")]


def test_a_conversation_that_ends_with_a_reply_asks_nothing() -> None:
    with pytest.raises(Invalid):
        split_conversation([user("Hi"), assistant("Hello")])
