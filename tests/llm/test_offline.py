"""Offline, the rules that come with the question answer it, for nothing."""

from mnemon.llm.connect import connect
from mnemon.llm.protocol import ChatRequest, Finished, Message, Purpose, Question, Text


async def test_an_answer_is_what_the_rules_say() -> None:
    llm = connect("offline")
    answer = await llm.answer(
        Question(
            title="Spine", schema={}, system="", prompt="", purpose=Purpose.SPINE, by_rule=lambda: {"PROFILE": ["ü"]}
        )
    )
    assert (answer.value, answer.text) == ({"PROFILE": ["ü"]}, '{"PROFILE": ["ü"]}')
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (0, 0)
    assert llm.offline


async def test_a_reply_is_what_the_rules_say_line_by_line() -> None:
    request = ChatRequest(system="", messages=(Message(role="user", content="hi"),), by_rule=lambda: "one\ntwo")
    *texts, last = [event async for event in connect("offline").chat(request)]
    assert texts == [Text(text="one\n"), Text(text="two")]
    assert isinstance(last, Finished)
    assert last.usage.output_tokens == 0
