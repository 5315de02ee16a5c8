"""Offline, the rules that come with the question answer it, for nothing."""

from mnemon.llm.connect import connect_llm
from mnemon.llm.protocol import LlmChatRequest, LlmMessage, LlmQuestion, Purpose, ReplyFinished, TextPiece


async def test_an_answer_is_what_the_rules_say() -> None:
    llm = connect_llm("offline")
    answer = await llm.answer(
        LlmQuestion(
            title="Spine", schema={}, system="", prompt="", purpose=Purpose.SPINE, by_rule=lambda: {"PROFILE": ["ü"]}
        )
    )
    assert (answer.value, answer.text) == ({"PROFILE": ["ü"]}, '{"PROFILE": ["ü"]}')
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (0, 0)
    assert llm.offline


async def test_a_reply_is_what_the_rules_say_line_by_line() -> None:
    request = LlmChatRequest(system="", messages=(LlmMessage(role="user", content="hi"),), by_rule=lambda: "one\ntwo")
    *texts, last = [event async for event in connect_llm("offline").chat(request)]
    assert texts == [TextPiece(text="one\n"), TextPiece(text="two")]
    assert isinstance(last, ReplyFinished)
    assert last.usage.output_tokens == 0
