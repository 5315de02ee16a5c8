"""Every call is counted by model and purpose."""

import pytest
from prometheus_client import REGISTRY

from mnemon.errors import ModelDown
from mnemon.llm.meter import MeteredLlm
from mnemon.llm.protocol import LlmChatRequest, LlmMessage, LlmQuestion, Purpose, Usage
from mnemon.llm.scripted.model import ScriptedLlm
from mnemon.llm.scripted.script import Script, ScriptedReply


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def question() -> LlmQuestion:
    return LlmQuestion(
        title="Spine",
        schema={"title": "Spine", "type": "object"},
        system="s",
        prompt="p" * 40,
        purpose=Purpose.SPINE,
        by_rule=dict,
    )


async def test_calls_tokens_and_seconds_are_counted() -> None:
    script = Script()
    script.add_replies(ScriptedReply(pieces=("x",), usage=Usage(input_tokens=10, output_tokens=2, cached_tokens=3)))
    llm = MeteredLlm(ScriptedLlm(script, name="meter:a"))
    request = LlmChatRequest(system="", messages=(LlmMessage(role="user", content="hi"),), by_rule=str)
    [event async for event in llm.chat(request)]
    await llm.answer(question())
    about = {"model": "meter:a", "purpose": "chat"}
    assert value("mnemon_model_calls_total", outcome="ok", **about) == 1
    assert [value("mnemon_model_tokens_total", kind=k, **about) for k in ("input", "output", "cached")] == [10, 2, 3]
    assert value("mnemon_model_seconds_count", **about) == 1
    assert value("mnemon_model_calls_total", model="meter:a", purpose="spine", outcome="ok") == 1


async def test_failed_calls_are_counted_by_their_code() -> None:
    script = Script()
    script.add_fault("error", times=1)
    script.add_answers("Spine", "not json")
    llm = MeteredLlm(ScriptedLlm(script, name="meter:b"))
    for _ in range(2):
        with pytest.raises(ModelDown):
            await llm.answer(question())
    about = {"model": "meter:b", "purpose": "spine"}
    assert value("mnemon_model_calls_total", outcome="model_unavailable", **about) == 1
    assert value("mnemon_model_calls_total", outcome="model_answer_unusable", **about) == 1
